"""For users' own tests: a model whose replies are written down, replies with their meaning, laws.

* :class:`ScriptedBackend`: everything but the model is real.
* :func:`cases`: replies that models really wrote, in short, and how each is to be read.
* :mod:`fallback.testing.strategies`: Hypothesis strategies for tools, calls, replies and chunks.
* :mod:`fallback.testing.laws`: what must hold for any reply, to be checked on any parser.
* :mod:`fallback.testing.writers`: calls as each dialect writes them.
* :mod:`fallback.testing.grammars`: the payloads of calls as grammars, and what their texts mean.

Only the strategies, and the fuzzer made from them, need Hypothesis
(``pip install 'toolcall-fallback[testing]'``).
"""

from __future__ import annotations

from fallback.testing.cases import Case, cases, faults
from fallback.testing.scripted import Reply, ScriptedBackend

__all__ = ["Case", "Reply", "ScriptedBackend", "cases", "faults"]
