"""The margin of the way ``decide``: found on one half of the cases, reported on the other.

    fallback compare --way decide:-inf --way prompt:fenced --suite bfcl:simple ... --out DIR
    python -m benchmarks.decide DIR...

With the margin ``-inf`` a tool is always called, and the notes say what spoke for it. So one run
shows what any margin would have done: below it no tool is called, which is right where none is
needed. Which half a case is in, its name alone decides.
"""

from __future__ import annotations

import argparse
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from fallback.compare.cases import read_case
from fallback.compare.intervals import Interval, sign_test, wilson
from fallback.compare.stages import judge
from fallback.compare.store import read_cases, read_records

ALWAYS, PLAIN = "decide:-inf", "prompt:fenced"
_LEAD = re.compile(r"decided: .* ([+-](?:\d+\.\d+|inf)), of which ")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case that was asked with every tool called, and what came of it."""

    suite: str
    case: str
    lead: float
    needed: bool
    right: bool
    plain: bool | None = None

    @property
    def tuning(self) -> bool:
        """Whether it is in the half that the margin is found on."""
        return hashlib.sha256(f"half\0{self.suite}\0{self.case}".encode()).digest()[0] % 2 == 0

    def right_at(self, margin: float) -> bool:
        """Whether the turn would have been right with another margin."""
        return self.right if self.lead > margin else not self.needed

    def decided_at(self, margin: float) -> bool:
        """Whether it would have called a tool just when one is needed."""
        return (self.lead > margin) == self.needed


def outcomes(folders: Iterable[Path]) -> Iterator[Outcome]:
    """What lies in folders of ``fallback compare``."""
    for folder in folders:
        lines = read_cases(folder)
        cases = {digest: read_case(line["suite"], line["case"]) for digest, line in lines.items()}
        records = [r for r in read_records(folder) if r["repeat"] == 0]
        plain = {
            r["case_digest"]: bool(judge(r, cases[r["case_digest"]]).stages["right"])
            for r in records
            if r["way"] == PLAIN
        }
        for record in records:
            case, lead = cases[record["case_digest"]], _lead(record)
            if record["way"] == ALWAYS and lead is not None:
                right = bool(judge(record, case).stages["right"])
                needed = bool(case.calls)
                yield Outcome(case.suite, case.id, lead, needed, right, plain.get(case.digest))


def _lead(record: dict[str, Any]) -> float | None:
    notes = (note for step in record["steps"][:1] for note in step["notes"])
    found = next(filter(None, map(_LEAD.match, notes)), None)
    return float(found[1]) if found else None


def best_margin(cases: Sequence[Outcome]) -> float:
    """The margin with which most cases are right; of several the one in the middle."""
    leads = sorted({case.lead for case in cases})
    places = [leads[0] - 1, *((a + b) / 2 for a, b in pairwise(leads))]
    places.append(leads[-1] + 1)
    scores = [sum(case.right_at(margin) for case in cases) for margin in places]
    best = [margin for margin, score in zip(places, scores, strict=True) if score == max(scores)]
    return round(best[len(best) // 2], 1)


def _row(name: str, cases: Sequence[Outcome], *columns: Callable[[Outcome], bool]) -> str:
    shares = [_share(wilson(sum(map(column, cases)), len(cases))) for column in columns]
    return f"| {name} | {len(cases)} | {' | '.join(shares)} |"


def _share(found: Interval) -> str:
    good = round(found.value * found.n)
    return f"{good} ({found.low:.0%}-{found.high:.0%})"


def report(cases: Sequence[Outcome], margin: float) -> Iterator[str]:
    """A table of the cases, suite by suite, with a margin that was found elsewhere."""
    plain = all(case.plain is not None for case in cases)
    heads = ["right", "need", "right if a tool is always called", *([PLAIN] if plain else [])]
    yield f"| suite | n | {' | '.join(heads)} |"
    yield "| --- " * (len(heads) + 2) + "|"
    columns: list[Callable[[Outcome], bool]] = [
        lambda case: case.right_at(margin),
        lambda case: case.decided_at(margin),
        lambda case: case.right,
    ]
    if plain:
        columns.append(lambda case: bool(case.plain))
    for suite in dict.fromkeys(case.suite for case in cases):
        yield _row(suite, [case for case in cases if case.suite == suite], *columns)
    yield _row("all", cases, *columns)
    if plain:
        better = sum(case.right_at(margin) and not case.plain for case in cases)
        worse = sum(bool(case.plain) and not case.right_at(margin) for case in cases)
        p = sign_test(better, worse)
        yield f"\nAgainst {PLAIN} on the same cases: {better} better, {worse} worse, p = {p:.3f}."


def main() -> None:
    """Print both halves as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    found = sorted(outcomes(parser.parse_args().folders), key=lambda case: (case.suite, case.case))
    tuning = [case for case in found if case.tuning]
    rest = [case for case in found if not case.tuning]
    if not tuning or not rest:
        parser.error(f"there are no results of --way {ALWAYS} in both halves")
    margin = best_margin(tuning)
    print(f"Margin {margin:g}, found on {len(tuning)} cases:\n")
    print(*report(tuning, margin), sep="\n")
    print(f"\nReported on the other {len(rest)}:\n")
    print(*report(rest, margin), sep="\n")


if __name__ == "__main__":
    main()
