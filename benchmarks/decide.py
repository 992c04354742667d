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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fallback.compare.current import current
from fallback.compare.intervals import sign_test, wilson
from fallback.compare.margins import Decision, best_margin, lead_of
from fallback.compare.store import read_cases, read_records
from fallback.compare.verdicts import Judged, judged
from fallback.loop import Decide
from fallback.ways import DECIDE


@dataclass(frozen=True, slots=True)
class Outcome(Decision):
    """A case that was decided on: of which model, and by way, whether the turn was wholly right."""

    model: str
    right: Mapping[str, bool]


def outcomes(folders: Iterable[Path]) -> Iterator[Outcome]:
    """What lies in folders of ``fallback compare``."""
    for folder in folders:
        asked: dict[tuple[str, str], dict[str, Judged]] = {}
        for result in judged(current([*read_records(folder)]), read_cases(folder)):
            if result.record["repeat"] == 0:
                place = result.record["model"], result.case_key
                asked.setdefault(place, {})[result.record["way"]] = result
        for (model, _), ways in asked.items():
            if (found := ways.get(DECIDE.name)) is None or (lead := lead_of(found.record)) is None:
                continue
            suite, case, needed = found.record["suite"], found.record["case"], found.case["calls"]
            right = {way: bool(r.judgement.stages["right"]) for way, r in ways.items()}
            yield Outcome(suite, case, lead, bool(needed), model, right)


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
        better = sum(case.right[DECIDE.name] and not case.right[way] for case in cases)
        worse = sum(case.right[way] and not case.right[DECIDE.name] for case in cases)
        if way != DECIDE.name:
            p = sign_test(better, worse)
            yield f"\n{DECIDE.name} against {way}: {better} better, {worse} worse, p = {p:.3g}."


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
        parser.error(f"there are no results of --way {DECIDE.name}")
    for model in models:
        asked = [case for case in found if case.model == model]
        tuning = [case for case in asked if case.tuning]
        rest = [case for case in asked if not case.tuning]
        if not tuning or not rest:
            parser.error(f"{model} has no results of --way {DECIDE.name} in both halves")
        margin = best_margin(tuning)
        print(f"\n{model}: margin {margin:g}, found on {len(tuning)} cases:\n")
        print(*report(tuning, (margin, Decide().margin)), sep="\n")
        print(f"\nReported on the other {len(rest)}:\n")
        print(*report(rest, (margin, Decide().margin)), sep="\n")


if __name__ == "__main__":
    main()
