"""Many records as few numbers: shares and means with intervals, and ways against each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fallback.compare.cases import read_case
from fallback.compare.faults import StoreError
from fallback.compare.intervals import (
    Interval,
    bootstrap,
    holm,
    mean,
    percentile,
    sign_test,
    wilson,
)
from fallback.compare.stages import MEASURES, STAGES, Judgement, Measure, Stage, judge

__all__ = ["ALL_SUITES", "Judged", "Pairing", "Row", "judged", "pairings", "table"]

ALL_SUITES = "all suites"
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Judged:
    """A record with its case and what is said of it."""

    record: Mapping[str, Any]
    case: Mapping[str, Any]
    judgement: Judgement

    @property
    def case_key(self) -> str:
        """The case, whatever the way, the model and the repeat."""
        return f"{self.record['suite']}\0{self.record['case']}\0{self.record['case_digest']}"


def judged(
    records: Iterable[Mapping[str, Any]], cases: Mapping[str, Mapping[str, Any]]
) -> list[Judged]:
    """Judge records; one whose case is not known is left out.

    Raises:
        StoreError: a record lacks something.
    """
    made = {digest: read_case(line["suite"], line["case"]) for digest, line in cases.items()}
    found = []
    for record in records:
        try:
            digest = record["case_digest"]
            if digest in made:
                found.append(Judged(record, cases[digest]["case"], judge(record, made[digest])))
        except (LookupError, TypeError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            raise StoreError(f"the record {record['key']:.12} is not whole ({what})") from error
    return found


@dataclass(frozen=True, slots=True)
class Row:
    """One way of one model on one suite: an interval for each stage and measure that it shows."""

    model: str
    way: str
    suite: str
    n: int
    stages: Mapping[str, Interval]
    measures: Mapping[str, Interval]


def table(results: Sequence[Judged]) -> list[Row]:
    """A row for each model, suite and way, in the order in which they were first met."""
    rows = []
    for (model, suite, way), group in _grouped(results).items():
        stages = {s.name: found for s in STAGES if (found := _stage(s, group)) is not None}
        measures = {m.name: found for m in MEASURES if (found := _measure(m, group)) is not None}
        rows.append(Row(model, way, suite, len(group), stages, measures))
    return rows


def _grouped(results: Sequence[Judged]) -> dict[tuple[str, str, str], list[Judged]]:
    """By model, suite and way; behind the suites all of them together, if they are several."""
    groups: dict[tuple[str, str, str], list[Judged]] = defaultdict(list)
    suites = dict.fromkeys(result.record["suite"] for result in results)
    names = (*suites, ALL_SUITES) if len(suites) > 1 else tuple(suites)
    for result in results:
        record = result.record
        for suite in names:
            if suite in (record["suite"], ALL_SUITES):
                groups[record["model"], suite, record["way"]].append(result)
    models = list(dict.fromkeys(result.record["model"] for result in results))
    order = sorted(groups, key=lambda key: (models.index(key[0]), names.index(key[1])))
    return {key: groups[key] for key in order}


def _by_case(values: Iterable[tuple[str, float | None]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for case, value in values:
        if value is not None:
            found[case].append(float(value))
    return found


def _stage(stage: Stage, group: Sequence[Judged]) -> Interval | None:
    """The share or mean of a stage. Repeats of a case are no new cases: then the bootstrap, but
    where all values are 0 or all are 1, of which it would be certain whatever their number.
    """
    values = _by_case((r.case_key, r.judgement.stages[stage.name]) for r in group)
    if not values:
        return None
    means = [mean(held) for held in values.values()]
    single = stage.kind == "share" and all(len(held) == 1 for held in values.values())
    if single or set(means) in ({0.0}, {1.0}):
        return wilson(sum(means), len(means))
    return bootstrap(values, mean)


def _measure(measure: Measure, group: Sequence[Judged]) -> Interval | None:
    values = _by_case((r.case_key, r.judgement.numbers[measure.of]) for r in group)
    if not values:
        return None
    return bootstrap(values, mean if measure.share is None else percentile(measure.share))


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two ways of one model on the cases that both have done.

    Attributes:
        first, second: the ways; the verdict is about ``first``.
        n: cases that both have a value for.
        share, other: mean of each on these cases.
        better, worse: cases in which ``first`` is better or worse.
        p: of the exact sign test; ``corrected``: for all pairs of the same model, suite and stage.
    """

    model: str
    suite: str
    stage: str
    first: str
    second: str
    n: int
    share: float
    other: float
    better: int
    worse: int
    p: float
    corrected: float

    @property
    def verdict(self) -> Literal["better", "worse", "not distinguishable"]:
        """What can be said about ``first``."""
        if self.corrected >= ALPHA:
            return "not distinguishable"
        return "better" if self.better > self.worse else "worse"

    @property
    def sentence(self) -> str:
        """The verdict for people."""
        numbers = (
            f"{self.share:.0%} against {self.other:.0%} of {self.n} cases,"
            f" better in {self.better} and worse in {self.worse}, p = {_p(self.corrected)}"
        )
        if self.verdict == "not distinguishable":
            return f"{self.first} is not distinguishable from {self.second} at this n ({numbers})"
        return f"{self.first} is {self.verdict} than {self.second} ({numbers})"


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.2g}"


def pairings(results: Sequence[Judged]) -> list[Pairing]:
    """Every two ways of a model, suite by suite and stage by stage.

    ``better`` takes into account that a small share of unauthorised calls is what one wants.
    """
    groups = _grouped(results)
    scopes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for model, suite, way in groups:
        scopes[model, suite].append(way)
    found: list[Pairing] = []
    for (model, suite), ways in scopes.items():
        for stage in STAGES:
            values = {
                way: _by_case(
                    (r.case_key, r.judgement.stages[stage.name]) for r in groups[model, suite, way]
                )
                for way in ways
            }
            found += _family(model, suite, stage, values)
    return found


def _family(
    model: str, suite: str, stage: Stage, values: Mapping[str, Mapping[str, list[float]]]
) -> list[Pairing]:
    ways = list(values)
    drafts = []
    for index, first in enumerate(ways):
        for second in ways[index + 1 :]:
            both = [case for case in values[first] if case in values[second]]
            if both:
                ours = [mean(values[first][case]) for case in both]
                theirs = [mean(values[second][case]) for case in both]
                drafts.append((first, second, ours, theirs))
    tests = [_signs(ours, theirs, stage) for _, _, ours, theirs in drafts]
    corrected = holm([sign_test(*signs) for signs in tests])
    return [
        Pairing(
            model=model,
            suite=suite,
            stage=stage.name,
            first=first,
            second=second,
            n=len(ours),
            share=mean(ours),
            other=mean(theirs),
            better=signs[0],
            worse=signs[1],
            p=sign_test(*signs),
            corrected=after,
        )
        for (first, second, ours, theirs), signs, after in zip(
            drafts, tests, corrected, strict=True
        )
    ]


def _signs(ours: Sequence[float], theirs: Sequence[float], stage: Stage) -> tuple[int, int]:
    higher = sum(a > b for a, b in zip(ours, theirs, strict=True))
    lower = sum(a < b for a, b in zip(ours, theirs, strict=True))
    return (higher, lower) if stage.good else (lower, higher)
