"""The margin of the way ``decide``: found on one half of the cases, reported on the other.

    fallback compare --way native+read --way prompt:fenced --way decide --suite bfcl ... --out DIR
    python -m benchmarks.decide DIR...

The notes of ``decide`` say for each turn what spoke for a call. So one run shows in which turns any
margin would have called, and whether a call was needed. Which half a case is in, its name alone
decides. Whether whole turns come out right is told with the margin that they were run with, beside
the other ways on the same cases.
"""

from __future__ import annotations

import argparse
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from fallback.compare.intervals import sign_test, wilson
from fallback.compare.store import read_cases, read_records
from fallback.compare.verdicts import Judged, judged
from fallback.loop import Decide

DECIDED = "decide"
_LEAD = re.compile(r"decided: .* ([+-](?:\d+\.\d+|inf)), of which ")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case that was decided on.

    Attributes:
        lead: what spoke for a call, in natural logarithms.
        needed: whether a call is needed.
        right: by way, whether the turn was wholly right.
    """

    model: str
    suite: str
    case: str
    lead: float
    needed: bool
    right: Mapping[str, bool]

    @property
    def tuning(self) -> bool:
        """Whether it is in the half that the margin is found on."""
        return hashlib.sha256(f"half\0{self.suite}\0{self.case}".encode()).digest()[0] % 2 == 0

    def good_at(self, margin: float) -> bool:
        """Whether it would have been decided to call just when a call is needed."""
        return (self.lead > margin) == self.needed


def outcomes(folders: Iterable[Path]) -> Iterator[Outcome]:
    """What lies in folders of ``fallback compare``."""
    for folder in folders:
        asked: dict[tuple[str, str], dict[str, Judged]] = {}
        for result in judged(read_records(folder), read_cases(folder)):
            if result.record["repeat"] == 0:
                place = result.record["model"], result.case_key
                asked.setdefault(place, {})[result.record["way"]] = result
        for (model, _), ways in asked.items():
            if (found := ways.get(DECIDED)) is None or (lead := _lead(found.record)) is None:
                continue
            suite, case, needed = found.record["suite"], found.record["case"], found.case["calls"]
            right = {way: bool(r.judgement.stages["right"]) for way, r in ways.items()}
            yield Outcome(model, suite, case, lead, bool(needed), right)


def _lead(record: Mapping[str, Any]) -> float | None:
    notes = (note for step in record["steps"][:1] for note in step["notes"])
    found = next(filter(None, map(_LEAD.match, notes)), None)
    return float(found[1]) if found else None


def best_margin(cases: Sequence[Outcome]) -> float:
    """The margin with which most decisions are good; of several the one in the middle."""
    leads = sorted({case.lead for case in cases})
    places = [leads[0] - 1, *((a + b) / 2 for a, b in pairwise(leads))]
    places.append(leads[-1] + 1)
    scores = [sum(case.good_at(margin) for case in cases) for margin in places]
    best = [margin for margin, score in zip(places, scores, strict=True) if score == max(scores)]
    return round(best[len(best) // 2], 1)


def report(cases: Sequence[Outcome], margins: Iterable[float]) -> Iterator[str]:
    """A table of the cases: good decisions by margin, turns that are right by way."""
    margins, everywhere = list(margins), [set(case.right) for case in cases]
    ways = sorted(set.intersection(*everywhere))
    heads = [f"decided well at {margin:g}" for margin in margins] + [f"right: {w}" for w in ways]
    yield f"| suite | n | {' | '.join(heads)} |"
    yield "| --- " * (len(heads) + 2) + "|"
    for suite in [*dict.fromkeys(case.suite for case in cases), "all"]:
        some = [case for case in cases if suite in (case.suite, "all")]
        columns = [[case.good_at(margin) for case in some] for margin in margins]
        columns += [[case.right[way] for case in some] for way in ways]
        yield f"| {suite} | {len(some)} | {' | '.join(map(_share, columns))} |"
    for way in ways:
        better = sum(case.right[DECIDED] and not case.right[way] for case in cases)
        worse = sum(case.right[way] and not case.right[DECIDED] for case in cases)
        if way != DECIDED:
            p = sign_test(better, worse)
            yield f"\n{DECIDED} against {way}: {better} better, {worse} worse, p = {p:.3g}."


def _share(values: Sequence[bool]) -> str:
    found = wilson(sum(values), len(values))
    return f"{sum(values)} ({found.low:.0%}-{found.high:.0%})"


def main() -> None:
    """Print, for each model, both halves as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    found = sorted(outcomes(parser.parse_args().folders), key=lambda case: (case.suite, case.case))
    models = dict.fromkeys(case.model for case in found)
    if not models:
        parser.error(f"there are no results of --way {DECIDED}")
    for model in models:
        asked = [case for case in found if case.model == model]
        tuning = [case for case in asked if case.tuning]
        rest = [case for case in asked if not case.tuning]
        if not tuning or not rest:
            parser.error(f"{model} has no results of --way {DECIDED} in both halves")
        margin = best_margin(tuning)
        print(f"\n{model}: margin {margin:g}, found on {len(tuning)} cases:\n")
        print(*report(tuning, (margin, Decide().margin)), sep="\n")
        print(f"\nReported on the other {len(rest)}:\n")
        print(*report(rest, (margin, Decide().margin)), sep="\n")


if __name__ == "__main__":
    main()
