"""Which way is best, with few turns: successive halving over ways on the same cases. Values only.

Every way is asked a few cases; those that did worse are dropped, and the others are asked twice as
many (Karnin, Koren and Somekh, ICML 2013; Jamieson and Talwalkar, AISTATS 2016). Once one is
distinguishably better than all others that are left, those that were dropped without having been
beaten are taken back. What a way did is compared as in a report: an exact sign test on the cases
that both have done, corrected by Holm's method for the number of pairs, and here also for the
number of looks, since whoever looks often enough finds something.

What must stay true: a way that is distinguishably better than every other one is never dropped, no
more turns are asked for than the budget has, and the same scores lead to the same turns.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

from fallback.compare.intervals import holm, mean, sign_test
from fallback.compare.verdicts import ALL_SUITES, Pairing

__all__ = ["FIRST", "Found", "Round", "Seen", "compared", "most_turns", "planned", "search"]

FIRST = 8
"""Cases of the first round: fewer could not tell any two ways apart."""

_GO_ON = 2
"""Ways that go on at least, as long as none is distinguishably best."""

Ended = Literal["distinguishable", "budget", "cases"]

Scores = Mapping[str, Mapping[str, float]]
"""By way and by case: 1 for a turn that was wholly right, 0 for any other."""


@dataclass(frozen=True, slots=True)
class Round:
    """What is asked next: each of the ways, the cases from ``start`` up to ``end``."""

    ways: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that has been seen so far.

    Attributes:
        scores: of every way, also of those that are dropped.
        costs: tokens of a turn by way, on average; of two equal ways the cheaper one is taken.
        impossible: ways that the model cannot be asked in.
        over: whether the budget is used up.
    """

    scores: Scores
    costs: Mapping[str, float] = field(default_factory=dict)
    impossible: frozenset[str] = frozenset()
    over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of a search.

    Attributes:
        ways: those that could be gone, the best first, then by how long they were in the running.
        ended: why no more was asked.
        turns: that were asked for.
        pairs: the best against each of the others.
    """

    ways: tuple[str, ...]
    ended: Ended
    turns: int
    pairs: tuple[Pairing, ...]


def planned(cases: int, first: int = FIRST) -> tuple[int, ...]:
    """How many cases have been asked after each round: twice as many every time, at last all."""
    ends = []
    upto = first
    while upto < cases:
        ends.append(upto)
        upto *= 2
    return (*ends, cases)


def most_turns(ways: int, cases: int) -> int:
    """The turns of a search that nothing ends before its time."""
    turns = start = 0
    for end in planned(cases):
        turns += ways * (end - start)
        start, ways = end, _half(ways)
    return turns


def search(
    ways: Sequence[str], cases: int, *, turns: int | None = None
) -> Generator[Round, Seen, Found]:
    """Yield rounds, be sent what has been seen, and return what was found.

    Args:
        ways: names, the one to prefer first.
        cases: how many there are.
        turns: the budget; ``None`` for as many as are needed.
    """
    state = _Search(ways, planned(cases), turns)
    yield from state.run()
    return state.found()


class _Search:
    """The state of a search. ``asked`` counts the cases of each way."""

    def __init__(self, ways: Sequence[str], ends: Sequence[int], turns: int | None) -> None:
        self._ends, self._turns = ends, turns
        self._asked = dict.fromkeys(ways, 0)
        self._running = list(ways)
        self._seen = Seen(scores={})
        self._used = 0
        self._ended: Ended = "cases"

    def run(self) -> Generator[Round, Seen, None]:
        for end in self._ends:
            while True:
                if not (yield from self._ask(end)):
                    self._ended = "budget"
                    return
                if len(self._tried()) < _GO_ON:
                    return  # there is nothing to compare
                self._running = ranked(self._running, self._seen)
                alike = self._alike()
                if not alike:
                    self._ended = "distinguishable"
                    return
                if set(alike) & set(self._running):
                    break
                # Those that were dropped without having been beaten get their chance now.
                self._running = [self._running[0], *alike]
            still = [way for way in self._running if way in (self._running[0], *alike)]
            self._running = still[: _half(len(self._running))]

    def found(self) -> Found:
        """What can be said now; a way that nothing is known of has no part in it."""
        known = [way for way in self._running if self._seen.scores.get(way)]
        self._running = ranked(known, self._seen)
        tried = self._tried()
        pairs = self._against_the_best() if tried else ()
        return Found(ways=tuple(tried), ended=self._ended, turns=self._used, pairs=pairs)

    def _ask(self, end: int) -> Generator[Round, Seen, bool]:
        """Bring all that are in the running to the same number of cases, if the budget lasts."""
        for start in sorted({self._asked[way] for way in self._running}):
            group = [way for way in self._running if self._asked[way] == start]
            upto = min(end, start + self._room(len(group)))
            if start < upto:
                self._seen = yield Round(tuple(group), start, upto)
                self._used += len(group) * (upto - start)
                self._asked |= dict.fromkeys(group, upto)
                self._running = [w for w in self._running if w not in self._seen.impossible]
            if upto < end or self._seen.over:
                return False
        return True

    def _room(self, ways: int) -> int:
        return 1 << 62 if self._turns is None else (self._turns - self._used) // max(ways, 1)

    def _tried(self) -> list[str]:
        """The ways with results: those in the running, and then those that were so the longest."""
        gone = [way for way in self._asked if way not in self._running]
        gone.sort(key=lambda way: -self._asked[way])
        return [way for way in (*self._running, *gone) if self._seen.scores.get(way)]

    def _against_the_best(self) -> tuple[Pairing, ...]:
        """Corrected for all pairs of ways that were tried, however few are in the running."""
        tried = self._tried()
        pairs = compared(tried, self._seen.scores, looks=len(self._ends))
        return tuple(pair for pair in pairs if pair.first == tried[0])

    def _alike(self) -> list[str]:
        """Those that the first is not distinguishably better than."""
        return [pair.second for pair in self._against_the_best() if pair.verdict != "better"]


def _half(ways: int) -> int:
    return max((ways + 1) // 2, min(ways, _GO_ON))


def ranked(ways: Iterable[str], seen: Seen) -> list[str]:
    """Ways on the cases that all of them have done: the best first, of equals the cheapest."""
    ways = list(ways)
    both = _common(ways, seen.scores)

    def key(way: str) -> tuple[float, float]:
        done = [seen.scores[way][case] for case in both]
        return -mean(done) if done else 0.0, seen.costs.get(way, 0.0)

    return sorted(ways, key=key)


def _common(ways: Sequence[str], scores: Scores) -> list[str]:
    first = scores.get(ways[0], {}) if ways else {}
    return [case for case in first if all(case in scores.get(way, {}) for way in ways[1:])]


def compared(ways: Sequence[str], scores: Scores, *, looks: int = 1) -> list[Pairing]:
    """Every two ways on the cases that both have done, as the pairings of a report.

    Args:
        ways: names; the first of a pair stands before the second here.
        scores: of the cases.
        looks: how often the same question is asked, with more cases each time.
    """
    drafts = [_pairing(first, second, scores) for first, second in combinations(ways, 2)]
    corrected = holm([draft.p for draft in drafts])
    return [
        replace(draft, corrected=min(1.0, looks * p))
        for draft, p in zip(drafts, corrected, strict=True)
    ]


def _pairing(first: str, second: str, scores: Scores) -> Pairing:
    both = _common([first, second], scores)
    ours = [scores[first][case] for case in both]
    theirs = [scores[second][case] for case in both]
    better = sum(a > b for a, b in zip(ours, theirs, strict=True))
    worse = sum(a < b for a, b in zip(ours, theirs, strict=True))
    return Pairing(
        model="",
        suite=ALL_SUITES,
        stage="right",
        first=first,
        second=second,
        n=len(both),
        share=mean(ours) if ours else 0.0,
        other=mean(theirs) if theirs else 0.0,
        better=better,
        worse=worse,
        p=sign_test(better, worse),
        corrected=1.0,
    )
