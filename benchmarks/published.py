"""What the folders of ``examples/results/`` say, as the tables of its README.

    python -m benchmarks.published          # prints them, behind the rows of the project's README
    python -m benchmarks.published --write  # puts them into examples/results/README.md

Only cases count that were asked in every way. Each cell is how many turns were wholly right, of how
many, with Wilson's interval of 95 %. Below stands each way against ``native+read``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fallback.compare.report.content import Content, content_of, turned
from fallback.compare.store import read_cases, read_records, read_runs
from fallback.compare.verdicts import Pairing, Row

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "results"
BEGINS, ENDS = "<!-- tables: begin -->\n", "<!-- tables: end -->\n"

AGAINST = "native+read"


def tables(folder: Path = FOLDER) -> str:
    """All tables as Markdown, a heading for each model."""
    parts: list[str] = []
    for name, content in _contents(folder):
        for model in content.names("model"):
            parts += [f"### {model}\n", *_table(content, model), ""]
            parts += [*_sentences(content, model), ""]
            parts.append(f"Everything, with each failure: [{name}]({name}/).\n")
    return "\n".join(parts)


def summary(folder: Path = FOLDER) -> list[str]:
    """A row for each model: all suites together."""
    return [
        row.replace("all suites", f"`{model}`")
        for _, content in _contents(folder)
        for model in content.names("model")
        for row in _table(content, model)
        if row.startswith("| all suites ")
    ]


def _contents(folder: Path) -> Iterator[tuple[str, Content]]:
    for path in sorted(path.parent for path in folder.glob("*/results.jsonl")):
        records = _in_every_way(list(read_records(path)))
        yield path.name, content_of(records, read_cases(path), list(read_runs(path)))


def _in_every_way(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of cases that have been asked in all ways of their model: a run may go on."""
    done: dict[tuple[str, str], set[str]] = {}
    ways: dict[str, set[str]] = {}
    for record in records:
        done.setdefault((record["model"], record["case_digest"]), set()).add(record["way"])
        ways.setdefault(record["model"], set()).add(record["way"])
    return [r for r in records if done[r["model"], r["case_digest"]] == ways[r["model"]]]


def _table(content: Content, model: str) -> Iterator[str]:
    rows = {(row.suite, row.way): row for row in content.rows if row.model == model}
    ways = list(dict.fromkeys(way for _, way in rows))
    yield f"| suite | {' | '.join(ways)} |"
    yield "| --- " * (len(ways) + 1) + "|"
    for suite in dict.fromkeys(suite for suite, _ in rows):
        yield f"| {suite} | {' | '.join(_cell(rows.get((suite, way))) for way in ways)} |"


def _cell(row: Row | None) -> str:
    share = row.stages.get("right") if row else None
    if share is None:
        return "–"
    good = round(share.value * share.n)
    return f"{good} of {share.n} ({100 * share.low:.0f}–{100 * share.high:.0f} %)"


def _sentences(content: Content, model: str) -> Iterator[str]:
    for pairing in content.pairings:
        ways = (pairing.first, pairing.second)
        if pairing.model == model and pairing.stage == "right" and AGAINST in ways:
            yield _sentence(turned(pairing) if pairing.first == AGAINST else pairing)


def _sentence(found: Pairing) -> str:
    return (
        f"- {found.suite}, `{found.first}` against `{AGAINST}`, {found.n} cases:"
        f" right where that is wrong {found.better}, the reverse {found.worse}, p = {found.p:.2g}"
    )


def written(text: str, folder: Path = FOLDER) -> str:
    """A README with its tables replaced by those that the folders make now."""
    before, _, rest = text.partition(BEGINS)
    _, _, behind = rest.partition(ENDS)
    return f"{before}{BEGINS}\n{tables(folder)}\n{ENDS}{behind}"


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="into examples/results/README.md")
    if not parser.parse_args().write:
        print(*summary(), tables(), sep="\n")
        return
    readme = FOLDER / "README.md"
    readme.write_text(written(readme.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
