"""The results as one table, a line for each record: CSV and Parquet."""

from __future__ import annotations

import csv
import io
from typing import Any

from fallback.compare.report.content import Content
from fallback.compare.stages import STAGES

__all__ = ["COLUMNS", "csv_table", "parquet_table", "rows_of"]

_NUMBERS = (
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "first_token_seconds",
    "seconds",
    "corrections",
    "repairs",
    "swallowed",
)
# What a formula begins with, behind whatever white space; full-width too, as Excel reads it.
_FORMULAS = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
COLUMNS = (
    "model", "digest", "way", "suite", "case", "kind", "repeat", "stop",
    *(stage.name for stage in STAGES), *_NUMBERS, "faults", "at", "version",
)  # fmt: skip


def rows_of(content: Content) -> list[dict[str, Any]]:
    """A flat dict for each record; a stage that the turn cannot show is ``None``."""
    rows = []
    for result in content.results:
        record, judgement = result.record, result.judgement
        row = {name: record.get(name) for name in COLUMNS}
        row |= {stage.name: _number(judgement.stages[stage.name]) for stage in STAGES}
        row |= {name: judgement.numbers[name] for name in _NUMBERS}
        row["faults"] = "; ".join(judgement.faults)
        rows.append(row)
    return rows


def _number(value: bool | float | None) -> float | None:
    return None if value is None else float(value)


def csv_table(content: Content) -> bytes:
    """CSV with a head. Text that a spreadsheet would run as a formula is quoted with ``'``."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    for row in rows_of(content):
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return out.getvalue().encode()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    formula = value.startswith(("\t", "\r", "\n")) or value.lstrip()[:1] in _FORMULAS
    return "'" + value if formula else value


def parquet_table(content: Content) -> bytes:
    """Parquet; needs pyarrow."""
    import pyarrow
    import pyarrow.parquet

    rows = rows_of(content)
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()
