"""The report of a folder of results: HTML, Markdown, CSV, Parquet and a picture, beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from fallback.compare.faults import StoreError
from fallback.compare.report.content import Content, content_of
from fallback.compare.store import passed_over, read_cases, read_records, read_runs
from fallback.profiles.replacing import replace_file

__all__ = ["Written", "write_report"]

_EXTRA = "pip install 'toolcall-fallback[report]'"


@dataclass(frozen=True, slots=True)
class Written:
    """The files that were written, and what a person should know about them."""

    paths: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def write_report(folder: Path) -> Written:
    """Write the report of a folder into it; a report that is there is replaced.

    Charts, the picture and Parquet need the extra ``report``; without it the rest is written, and a
    note says so.

    Raises:
        StoreError: there are no results, or a file cannot be read or written.
    """
    records, older = list(read_records(folder)), passed_over(folder)
    told = f"{older} results in {folder} were made by another version of fallback"
    if not records and older:
        raise StoreError(
            f"{told}, and there are no others: `fallback compare --out {folder}` makes them anew"
        )
    if not records:
        raise StoreError(f"{folder} holds no results; `fallback compare --out {folder}` makes some")
    content = content_of(records, read_cases(folder), list(read_runs(folder)))
    paths: list[Path] = []
    notes = [f"{told} and are passed over"] if older else []
    for name, make in _parts(notes):
        path = folder / name
        try:
            replace_file(path, make(content))
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}") from error
        paths.append(path)
    return Written(tuple(paths), tuple(notes))


def _parts(notes: list[str]) -> list[tuple[str, Callable[[Content], bytes]]]:
    """What can be made with the packages that are here."""
    from fallback.compare.report.html import html
    from fallback.compare.report.markdown import markdown
    from fallback.compare.report.tables import csv_table, parquet_table

    parts: list[tuple[str, Callable[[Content], bytes]]] = [
        ("report.html", html),
        ("report.md", markdown),
        ("results.csv", csv_table),
    ]
    if has_charts():
        from fallback.compare.report.charts import picture

        parts.append(("report.png", picture))
    else:
        notes.append(f"without charts, which need Altair and vl-convert: {_EXTRA}")
    if find_spec("pyarrow") is not None:
        parts.append(("results.parquet", parquet_table))
    else:
        notes.append(f"without Parquet, which needs pyarrow: {_EXTRA}")
    return parts


def has_charts() -> bool:
    """Whether charts can be drawn."""
    return find_spec("altair") is not None and find_spec("vl_convert") is not None
