"""What the folders of ``examples/results/`` say, as the tables of its README.

    python -m benchmarks.published          # prints them
    python -m benchmarks.published --write  # puts them into examples/results/README.md

Each cell is how many turns were wholly right, of how many, with Wilson's interval of 95 %. Below
stands each way against ``native+read`` on the cases that both have done.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from fallback.compare.report.content import Content, content_of
from fallback.compare.store import read_cases, read_records, read_runs
from fallback.compare.verdicts import Pairing, Row

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "results"
BEGINS, ENDS = "<!-- tables: begin -->\n", "<!-- tables: end -->\n"

AGAINST = "native+read"


def tables(folder: Path = FOLDER) -> str:
    """All tables as Markdown, a heading for each model."""
    parts: list[str] = []
    for results in sorted(path.parent for path in folder.glob("*/results.jsonl")):
        content = content_of(
            list(read_records(results)), read_cases(results), list(read_runs(results))
        )
        for model in content.names("model"):
            parts += [f"### {model}\n", *_table(content, model), ""]
            parts += [*_sentences(content, model), ""]
            parts.append(f"Everything, with each failure: [{results.name}]({results.name}/).\n")
    return "\n".join(parts)


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
            yield _sentence(pairing)


def _sentence(pairing: Pairing) -> str:
    forward = pairing.second == AGAINST
    way = pairing.first if forward else pairing.second
    better, worse = pairing.better, pairing.worse
    if not forward:
        better, worse = worse, better
    return (
        f"- {pairing.suite}, `{way}` against `{AGAINST}`, {pairing.n} cases:"
        f" right where that is wrong {better}, the reverse {worse}, p = {pairing.p:.2g}"
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
        print(tables())
        return
    readme = FOLDER / "README.md"
    readme.write_text(written(readme.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
