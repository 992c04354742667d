"""Ways of calling tools, measured against each other on the same cases.

The parts, in the order of the data: :mod:`~fallback.compare.suites` reads cases,
:mod:`~fallback.compare.units` runs one of them one way with one model,
:mod:`~fallback.compare.running` runs all that are missing, :mod:`~fallback.compare.store` keeps
what came of them, :mod:`~fallback.compare.grading` judges it, :mod:`~fallback.compare.verdicts`
compares ways, and :mod:`~fallback.compare.report` shows it all.
"""
