"""What the folders of ``examples/results/`` say, as tables.

    python -m benchmarks.published          # prints them
    python -m benchmarks.published --write  # puts them into examples/results/README.md

The first also prints the rows of the table in the project's README, the second puts them there.

A model has a table of the ways in which all its cases are asked, and others with the ways in which
enough of them are: one with the other prompts, one with the margins that were found for the model,
which were asked on one half of the cases. In each only those cases count that were asked in all
ways of the table.
Each cell is how many turns were wholly right, of how many, with Wilson's interval of 95 %. Below
stands each way against ``native+read``, or where a model has no native ways, ``prompt:fenced``: how
often it was right where that was wrong, and how often that was right where it was wrong.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fallback.compare.current import current
from fallback.compare.report.content import Content, content_of, turned
from fallback.compare.store import read_cases, read_records, read_runs
from fallback.compare.verdicts import Pairing, Row

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples" / "results"
BEGINS, ENDS = "<!-- tables: begin -->\n", "<!-- tables: end -->\n"
ROWS = "| --- | --- | --- | --- | --- |\n"

MAIN = ("native", "native+read", "prompt:fenced", "decide")
"""The ways in which every case is asked, if the model can."""

ENOUGH = 20
"""Cases that a way was tried on, before it has a column: the table is of those that all share."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """The results of one model, of the cases that were asked in each of the ways."""

    folder: str
    model: str
    ways: tuple[str, ...]
    content: Content


def tables(folder: Path = FOLDER) -> str:
    """All tables as Markdown, a heading for each model."""
    parts: list[str] = []
    for path in _folders(folder):
        main, *more = _measured(path)
        parts.append(f"### {main.model}\n")
        for found in (main, *more):
            if found in more:
                parts += ["Other ways too, on the cases that were asked in all of these:\n"]
            parts += [*_table(found), "", *_pairs(found), ""]
        parts.append(f"Everything, with each failure: [{path.name}]({path.name}/).\n")
    return "\n".join(parts)


def summary(folder: Path = FOLDER) -> list[str]:
    """A row for each model: all suites together."""
    measured = (next(_measured(path)) for path in _folders(folder))
    return [f"| `{found.model}` | {_cells(found, 'all suites', MAIN)} |" for found in measured]


def _folders(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/results.jsonl"))


def _measured(path: Path) -> Iterator[_Measured]:
    """The table of the main ways, and those that have others too."""
    records = current(list(read_records(path)))
    (model,) = {record["model"] for record in records}
    tried = Counter(record["way"] for record in records)
    main = tuple(way for way in MAIN if way in tried)
    rest = [way for way in tried if way not in main and tried[way] >= ENOUGH]
    margins = tuple(way for way in rest if way.startswith("decide:"))
    prompts = tuple(way for way in rest if way not in margins)
    cases, runs = read_cases(path), list(read_runs(path))
    for ways in (main, *(main + more for more in (prompts, margins) if more)):
        content = content_of(_asked_in(ways, records), cases, runs)
        yield _Measured(path.name, model, ways, content)


def _asked_in(ways: Sequence[str], records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of these ways, of the cases that have been asked in all of them."""
    done: dict[str, set[str]] = {}
    for record in records:
        done.setdefault(record["case_digest"], set()).add(record["way"])
    return [r for r in records if r["way"] in ways and done[r["case_digest"]] >= set(ways)]


def _table(found: _Measured) -> Iterator[str]:
    yield f"| suite | {' | '.join(found.ways)} |"
    yield "| --- " * (len(found.ways) + 1) + "|"
    for suite in dict.fromkeys(row.suite for row in found.content.rows):
        yield f"| {suite} | {_cells(found, suite, found.ways)} |"


def _cells(found: _Measured, suite: str, ways: Sequence[str]) -> str:
    rows = {row.way: row for row in found.content.rows if row.suite == suite}
    return " | ".join(_cell(rows.get(way)) for way in ways)


def _cell(row: Row | None) -> str:
    share = row.stages.get("right") if row else None
    if share is None:
        return "–"
    good = round(share.value * share.n)
    return f"{good} of {share.n} ({100 * share.low:.0f}–{100 * share.high:.0f} %)"


def _pairs(found: _Measured) -> Iterator[str]:
    """Each way against one of them: on how many cases it alone is right, and on how many that."""
    against = next(way for way in ("native+read", "prompt:fenced") if way in found.ways)
    others = [way for way in found.ways if way != against]
    cells: dict[str, dict[str, str]] = {}
    for pairing in found.content.pairings:
        if pairing.stage == "right" and against in (pairing.first, pairing.second):
            told = turned(pairing) if pairing.first == against else pairing
            cells.setdefault(told.suite, {})[told.first] = _pair(told)
    yield f"| against `{against}` | {' | '.join(others)} |"
    yield "| --- " * (len(others) + 1) + "|"
    for suite, row in cells.items():
        yield f"| {suite} | {' | '.join(row.get(way, '–') for way in others)} |"


def _pair(told: Pairing) -> str:
    return f"{told.better} / {told.worse}, p = {told.p:.2g}"


def written(text: str, folder: Path = FOLDER) -> str:
    """The README of the results with its tables replaced by those that the folders make now."""
    before, _, rest = text.partition(BEGINS)
    _, _, behind = rest.partition(ENDS)
    return f"{before}{BEGINS}\n{tables(folder)}\n{ENDS}{behind}"


def fronted(text: str, folder: Path = FOLDER) -> str:
    """The project's README with the rows of its table of models replaced."""
    before, heading, rest = text.partition("## Native or prompt?\n")
    told, ruled, rest = rest.partition(ROWS)
    _, end, behind = rest.partition("\n\n")
    return "".join((before, heading, told, ruled, "\n".join(summary(folder)), end, behind))


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="into both files")
    if not parser.parse_args().write:
        print(*summary(), tables(), sep="\n")
        return
    for path, made in ((FOLDER / "README.md", written), (ROOT / "README.md", fronted)):
        path.write_text(made(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
