"""Finding the best way for one model; what is said of it is :mod:`fallback.compare.profiling`'s.

:mod:`fallback.compare.halving` decides what is asked; here it is asked, kept in a store of results
like that of a comparison, and judged. Whatever is in the store already is not asked again, so a
calibration that was broken off goes on where it was, to the same end.

Where ``decide`` was asked enough, its margin is chosen for the model
(:mod:`fallback.compare.margins`), and the cases that it was not found on are asked once more with
it, as far as it decides them otherwise.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Any

from fallback.backend import ModelInfo
from fallback.compare.carrying import carry_over
from fallback.compare.cases import Case
from fallback.compare.halving import Found, Round, Seen, compared, search
from fallback.compare.hosts import Host
from fallback.compare.intervals import mean
from fallback.compare.margins import Decision, Margin, lead_of, margin_for, tuning
from fallback.compare.running import MAX_TROUBLE, Summary, Watcher, missing, run_missing, units_of
from fallback.compare.stages import judge
from fallback.compare.store import Store, read_records
from fallback.compare.units import Sampling, Unit, key_of
from fallback.compare.verdicts import Pairing
from fallback.errors import BackendConnectionError, ConfigurationError, ModelNotFoundError
from fallback.ways import ALL_WAYS, DECIDE, Way, ways_of

__all__ = [
    "Budget",
    "Calibration",
    "Probing",
    "Tuned",
    "budget_of",
    "calibrate",
    "probes",
    "way_set",
]

_KINDS = ("native", "native+read", "prompt", "decide")
"""Kinds of ways that mode ``auto`` can go."""

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


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
    """The cases in the order in which they are asked: the suites in turn, so that no way is dropped
    for what it does on one of them; those that need a window of their own, which are long, last.
    """
    suites: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        suites[case.suite].append(case)
    turns = chain.from_iterable(zip_longest(*suites.values()))
    return tuple(sorted(filter(None, turns), key=lambda case: case.num_ctx or 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The way ``decide`` with a margin of the model's own.

    Attributes:
        pair: against the best of the ways, on the cases that the margin was not found on.
    """

    way: Way
    margin: Margin
    pair: Pairing


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a calibration found.

    Attributes:
        ways: all that were tried, by name.
        values: of each the scores by case.
        cases: how many different cases were asked.
        turns: how many turns that took.
        tuned: what is better yet than the best of the ways.
    """

    found: Found
    ways: Mapping[str, Way]
    values: Mapping[str, Mapping[str, float]]
    cases: int
    turns: int
    tuned: Tuned | None = None

    @property
    def way(self) -> Way:
        """The way to go."""
        return self.tuned.way if self.tuned else self.ways[self.found.ways[0]]


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
    decisions: dict[str, Decision] = field(default_factory=dict)
    turns: int = 0

    def take(self, unit: Unit, record: Mapping[str, Any]) -> None:
        judgement = judge(record, unit.case)
        numbers = judgement.numbers
        self.values[unit.way.name][unit.case.digest] = float(judgement.stages["right"] or 0.0)
        spent = (numbers["prompt_tokens"] or 0.0) + (numbers["completion_tokens"] or 0.0)
        self.tokens[unit.way.name].append(spent)
        self.turns += "carried" not in record
        if unit.way == DECIDE and (lead := lead_of(record)) is not None:
            case = unit.case
            self.decisions[case.digest] = Decision(case.suite, case.id, lead, bool(case.calls))

    def done(self, unit: Unit, record: Mapping[str, Any]) -> None:
        self.take(unit, record)
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

    def round(self, asked: Round) -> list[Unit]:
        """The turns of a round."""
        ways = [way for way in self.ways if way.name in asked.ways]
        return self.units(ways, self.cases[asked.start : asked.end])

    def units(self, ways: Sequence[Way], cases: Sequence[Case]) -> list[Unit]:
        """The turns of some ways on some cases."""
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
    plan = search(ways, len(probing.cases), turns=budget.turns)
    asked = next(plan)
    most = 0
    try:
        while True:
            most = asked.end
            over = not _ask(probing, probing.round(asked), store, scores)
            asked = plan.send(scores.seen(over=over))
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
    if found.ways[0] == DECIDE.name:
        most = max(most, _go_on(probing, found.turns, store, scores))
    calibration = Calibration(
        found=found,
        ways={way.name: way for way in probing.ways},
        values=scores.values,
        cases=most,
        turns=scores.turns,
    )
    tuned = _tuned(calibration, probing, store, scores)
    return replace(calibration, tuned=tuned, turns=scores.turns)


def _ask(probing: Probing, units: Sequence[Unit], store: Store, scores: _Scores) -> bool:
    """Take what is known of some turns and run all others; whether there was the time for it."""
    infos = {probing.model: probing.info}
    keys = {key_of(unit, probing.info): unit for unit in units}
    for record in read_records(store.folder):
        if (unit := keys.get(record["key"])) is not None:
            scores.take(unit, record)
    left = missing(units, infos, store)
    try:
        if left and scores.out_of_time():
            raise _Over
        _check(run_missing(left, infos, probing.hosts, store, scores))
    except _Over:
        return False
    return True


def _go_on(probing: Probing, used: int, store: Store, scores: _Scores) -> int:
    """Ask ``decide`` what is left of the cases and of the budget: the more, the surer its margin.

    Returns:
        How many cases it has been asked then.
    """
    done, turns = len(scores.values[DECIDE.name]), probing.budget.turns
    # As many turns as may be needed to judge the margin are left for that.
    more = len(probing.cases) if turns is None else max(0, (turns - used) * 2 // 3)
    _ask(probing, probing.units([DECIDE], probing.cases[done : done + more]), store, scores)
    return len(scores.values[DECIDE.name])


def _tuned(
    calibration: Calibration, probing: Probing, store: Store, scores: _Scores
) -> Tuned | None:
    """Whether ``decide`` does as well or better with a margin of the model's own.

    That is judged on the cases that the margin was not found on: beside the usual margin if that
    did best, and if it was another way, whether it is distinguishably better than that. ``None``
    where there are too few cases to say, or the budget does not last.
    """
    if (margin := margin_for([*scores.decisions.values()])) is None:
        return None
    best, way = calibration.way, replace(DECIDE, margin=margin.value)
    asked = calibration.values[DECIDE.name].keys() & calibration.values[best.name].keys()
    cases = [c for c in probing.cases if c.digest in asked and not tuning(c.suite, c.id)]
    units, infos = probing.units([way], cases), {probing.model: probing.info}
    carry_over(units, infos, store)
    turns, left = probing.budget.turns, len(missing(units, infos, store))
    if turns is not None and left > turns - calibration.turns:
        scores.said(
            f"{way.name} decides better on the cases that its margin was found on; to judge that"
            f" takes {left} turns, which the budget does not have"
        )
        return None
    if not _ask(probing, units, store, scores):
        return None
    (pair,) = compared([way.name, best.name], scores.values)
    taken = pair.better >= pair.worse if best == DECIDE else pair.verdict == "better"
    return Tuned(way=way, margin=margin, pair=pair) if taken else None


def _check(summary: Summary) -> None:
    """Go on if one odd case failed; not if the hosts have gone, or keep failing."""
    error = summary.error
    if error is None:
        return
    gone = isinstance(error, BackendConnectionError | ModelNotFoundError)
    if gone or summary.failed >= MAX_TROUBLE:
        raise error
