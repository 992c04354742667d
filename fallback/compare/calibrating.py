"""Finding the best way for one model, and the profile that comes of it.

:mod:`fallback.compare.halving` decides what is asked; here it is asked, kept in a store of results
like that of a comparison, and judged. Whatever is in the store already is not asked again, so a
calibration that was broken off goes on where it was, to the same end.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fallback.backend import ModelInfo
from fallback.compare.cases import Case
from fallback.compare.halving import Found, Round, Seen, search
from fallback.compare.hosts import Host
from fallback.compare.intervals import mean, wilson
from fallback.compare.running import MAX_TROUBLE, Summary, Watcher, missing, run_missing, units_of
from fallback.compare.stages import Judgement, judge
from fallback.compare.store import Store, read_records
from fallback.compare.units import Sampling, Unit, key_of
from fallback.compare.ways import ALL_WAYS, Way, ways_of
from fallback.errors import BackendConnectionError, ConfigurationError, ModelNotFoundError
from fallback.profiles import Evidence, Profile, Versions, WayEvidence, templates_hash

__all__ = ["Budget", "Calibration", "budget_of", "calibrate", "probes", "profile_of", "way_set"]

_KINDS = ("native", "native+read", "prompt", "decide")
"""Kinds of ways that mode ``auto`` can go."""

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_NAMED = 4
"""Ways that a sentence names; of more it gives the number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a calibration may cost; one of the two.

    Attributes:
        turns: those that are found in the store count as well, so that the end is the same.
        seconds: of this run.
    """

    turns: int | None = None
    seconds: float | None = None


def budget_of(text: str) -> Budget:
    """Read ``300`` (turns), ``90s``, ``10m`` or ``1h``.

    Raises:
        ConfigurationError: it is none of these.
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)\s*([smh]?)", text.strip())
    if match is not None and float(match[1]) > 0:
        if match[2]:
            return Budget(seconds=float(match[1]) * _UNITS[match[2]])
        if match[1].isdigit():
            return Budget(turns=int(match[1]))
    raise ConfigurationError(
        f"{text!r} is no budget: give a number of turns such as 300, or a time such as 90s, 10m, 1h"
    )


def way_set(names: Sequence[str]) -> tuple[Way, ...]:
    """The ways to choose from: by default all in which replies are read.

    Raises:
        ConfigurationError: there is no such way, or mode ``auto`` cannot go it.
    """
    if not names or "all" in names:
        return tuple(way for way in ALL_WAYS if way.kind in _KINDS and way.kind != "native")
    ways = ways_of(names)
    for way in ways:
        if way.kind not in _KINDS or (way.margin is not None and math.isinf(way.margin)):
            raise ConfigurationError(f"mode auto cannot go the way {way.name}; leave it out")
    return ways


def probes(cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases in the order in which they are asked: those that need a window of their own, which
    are long, come last."""
    return tuple(sorted(cases, key=lambda case: case.num_ctx or 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a calibration found.

    Attributes:
        ways: all that were tried, by name.
        values: of each the scores by case.
        cases: how many different cases were asked.
    """

    found: Found
    ways: Mapping[str, Way]
    values: Mapping[str, Mapping[str, float]]
    cases: int


class _Over(Exception):
    """The time is up; raised once a result is kept, and never leaves this module."""


@dataclass(slots=True)
class _Scores:
    """Hears of each finished turn, judges it, and passes the news on."""

    watch: Watcher
    out_of_time: Callable[[], bool]
    values: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    tokens: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    impossible: set[str] = field(default_factory=set)

    def take(self, unit: Unit, judgement: Judgement) -> None:
        numbers = judgement.numbers
        self.values[unit.way.name][unit.case.digest] = float(judgement.stages["right"] or 0.0)
        spent = (numbers["prompt_tokens"] or 0.0) + (numbers["completion_tokens"] or 0.0)
        self.tokens[unit.way.name].append(spent)

    def done(self, unit: Unit, record: Mapping[str, Any]) -> None:
        self.take(unit, judge(record, unit.case))
        self.watch.done(unit, record)
        if self.out_of_time():
            raise _Over

    def skipped(self, unit: Unit) -> None:
        self.impossible.add(unit.way.name)
        self.watch.skipped(unit)

    def said(self, line: str) -> None:
        self.watch.said(line)

    def seen(self, *, over: bool) -> Seen:
        costs = {way: mean(held) for way, held in self.tokens.items()}
        return Seen(
            scores=self.values, costs=costs, impossible=frozenset(self.impossible), over=over
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Probing:
    """What is asked of whom; see :func:`calibrate`."""

    model: str
    info: ModelInfo
    ways: Sequence[Way]
    cases: Sequence[Case]
    hosts: Sequence[Host]
    sampling: Sampling
    budget: Budget

    def units(self, asked: Round) -> list[Unit]:
        """The turns of a round."""
        ways = [way for way in self.ways if way.name in asked.ways]
        cases = self.cases[asked.start : asked.end]
        return list(units_of([self.model], ways, cases, sampling=self.sampling))


def calibrate(
    probing: Probing, store: Store, watch: Watcher, *, clock: Callable[[], float]
) -> Calibration:
    """Ask until one way is distinguishably best, or the budget ends.

    Args:
        probing: what is asked; at least one case for each way has to be within the budget.
        store: where results are looked for and kept.
        watch: who is told.
        clock: seconds, for a budget of time.

    Raises:
        ConfigurationError: the budget is too small, or the model can be asked in none of the ways.
        BackendError: the hosts are lost, or do not have the model any more; results are kept.
        StoreError: a result could not be kept.
    """
    budget, ways = probing.budget, [way.name for way in probing.ways]
    if budget.turns is not None and budget.turns < len(ways):
        raise ConfigurationError(
            f"{budget.turns} turns are too few for {len(ways)} ways: give more, or fewer ways"
        )
    ends = None if budget.seconds is None else clock() + budget.seconds
    scores = _Scores(watch, lambda: ends is not None and clock() >= ends)
    known = _known(probing, store)
    plan = search(ways, len(probing.cases), turns=budget.turns)
    asked = next(plan)
    most = 0
    try:
        while True:
            most = asked.end
            asked = plan.send(_ask(probing, asked, known, store, scores))
    except StopIteration as stop:
        found: Found = stop.value
    possible = [way for way in ways if way not in scores.impossible]
    if not possible:
        raise ConfigurationError(f"{probing.model} can be asked in none of these ways")
    if len(found.ways) < len(possible):
        raise ConfigurationError(
            "the time was up before every way had been asked; what is finished is kept: give a"
            " larger --budget, and the same command goes on from here"
        )
    return Calibration(
        found=found,
        ways={way.name: way for way in probing.ways},
        values=scores.values,
        cases=most,
    )


def _known(probing: Probing, store: Store) -> dict[str, Judgement]:
    """What the store has of all that may be asked, by key."""
    everything = Round(tuple(way.name for way in probing.ways), 0, len(probing.cases))
    cases = {key_of(unit, probing.info): unit.case for unit in probing.units(everything)}
    records = read_records(store.folder)
    return {r["key"]: judge(r, cases[r["key"]]) for r in records if r["key"] in cases}


def _ask(
    probing: Probing,
    asked: Round,
    known: Mapping[str, Judgement],
    store: Store,
    scores: _Scores,
) -> Seen:
    """One round: what is known is taken, everything else is run."""
    units = probing.units(asked)
    infos = {probing.model: probing.info}
    for unit in units:
        if (judgement := known.get(key_of(unit, probing.info))) is not None:
            scores.take(unit, judgement)
    left = missing(units, infos, store)
    try:
        if left and scores.out_of_time():
            raise _Over
        _check(run_missing(left, infos, probing.hosts, store, scores))
    except _Over:
        return scores.seen(over=True)
    return scores.seen(over=False)


def _check(summary: Summary) -> None:
    """Go on if one odd case failed; not if the hosts have gone, or keep failing."""
    error = summary.error
    if error is None:
        return
    gone = isinstance(error, BackendConnectionError | ModelNotFoundError)
    if gone or summary.failed >= MAX_TROUBLE:
        raise error


# The profile --------------------------------------------------------------------------------------


def profile_of(
    calibration: Calibration,
    probing: Probing,
    *,
    server: str,
    measured: datetime.datetime,
    version: str,
) -> Profile:
    """The profile that a calibration leads to.

    Args:
        calibration: what was found.
        probing: what was asked.
        server: its version, for the record.
        measured: now, with a time zone.
        version: of this package.
    """
    found = calibration.found
    way = calibration.ways[found.ways[0]]
    told = {pair.second: pair.sentence for pair in found.pairs}
    profile = Profile(
        model=probing.model,
        digest=probing.info.digest,
        measured=measured,
        way=way.name,
        mode=way.mode,
        dialect=way.dialect,
        endpoint=way.endpoint,
        example=way.example,
        read_text=way.kind != "native",
        think=probing.sampling.think,
        num_ctx=probing.sampling.num_ctx,
        decide=way.decide.margin if way.decide else None,
        versions=Versions(fallback=version, templates="", server=server),
        evidence=Evidence(
            suites=tuple(dict.fromkeys(case.suite for case in probing.cases)),
            seed=probing.sampling.seed,
            cases=calibration.cases,
            turns=found.turns,
            ended=found.ended,
            sentence=_sentence(calibration),
            ways=tuple(_seen(name, calibration, told.get(name, "")) for name in found.ways),
        ),
    )
    current = templates_hash(profile.record, probing.info.family or "")
    return replace(profile, versions=replace(profile.versions, templates=current))


def _seen(name: str, calibration: Calibration, sentence: str) -> WayEvidence:
    values = list(calibration.values[name].values())
    share = wilson(sum(values), len(values))
    return WayEvidence(
        name=name,
        n=share.n,
        rate=round(share.value, 4),
        low=round(share.low, 4),
        high=round(share.high, 4),
        sentence=sentence,
    )


def _sentence(calibration: Calibration) -> str:
    """What can be said of the best way, and no more than that."""
    found = calibration.found
    best = found.ways[0]
    values = list(calibration.values[best].values())
    right = f"wholly right in {mean(values):.0%} of {len(values)} cases"
    if not found.pairs:
        return f"{best} is the only way that was tried, {right}"
    alike = [pair.second for pair in found.pairs if pair.verdict != "better"]
    if not alike:
        return f"{best} is better than every other way that was tried, {right}"
    others = ", ".join(alike) if len(alike) <= _NAMED else f"{len(alike)} other ways"
    so_far = f"{best} did best, {right}, and is not distinguishable from {others} at this n"
    worse = len(found.pairs) - len(alike)
    return f"{so_far}; it is better than {worse} more" if worse else so_far
