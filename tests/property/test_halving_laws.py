"""A search never drops the best way, keeps within its budget, and depends on the scores alone."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fallback.compare.halving import Found, Round, Seen, compared, planned, search

Table = dict[str, list[float]]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """For each way, what it does on each case."""
    cases = draw(st.integers(1, 70))
    shares = draw(st.lists(st.integers(0, 10), min_size=1, max_size=7))
    columns = [
        draw(st.lists(st.integers(1, 10).map(share.__ge__), min_size=cases, max_size=cases))
        for share in shares
    ]
    return {f"w{place}": [float(right) for right in held] for place, held in enumerate(columns)}


def played(table: Table, turns: int | None, **seen: Any) -> tuple[Found, list[Round], list[Seen]]:
    cases = len(next(iter(table.values())))
    plan = search(list(table), cases, turns=turns)
    scores: dict[str, dict[str, float]] = {way: {} for way in table}
    rounds, told = [], []
    try:
        asked = next(plan)
        while True:
            rounds.append(asked)
            for way in asked.ways:
                scores[way] |= {str(n): table[way][n] for n in range(asked.start, asked.end)}
            told.append(Seen(scores={way: dict(held) for way, held in scores.items()}, **seen))
            asked = plan.send(told[-1])
    except StopIteration as stop:
        return stop.value, rounds, told


budgets = st.none() | st.integers(0, 400)


@given(tables(), budgets)
def test_the_budget_is_kept_and_no_turn_is_asked_twice(table: Table, turns: int | None) -> None:
    found, rounds, _ = played(table, turns)
    asked = [
        (way, case) for one in rounds for way in one.ways for case in range(one.start, one.end)
    ]
    assert len(asked) == len(set(asked)) == found.turns
    assert turns is None or found.turns <= turns
    assert all(one.start < one.end for one in rounds)


def beats_all(way: str, rivals: list[str], seen: Seen, looks: int) -> bool:
    """Whether one is distinguishably better than each of the others."""
    family = [way, *(other for other in seen.scores if other != way and seen.scores[other])]
    pairs = compared(family, seen.scores, looks=looks)
    better = {p.second for p in pairs if p.first == way and p.verdict == "better"}
    return bool(rivals) and set(rivals) <= better


@given(tables(), budgets)
def test_a_way_that_is_distinguishably_best_is_never_dropped(
    table: Table, turns: int | None
) -> None:
    found, rounds, told = played(table, turns)
    looks = len(planned(len(next(iter(table.values())))))
    for before, after, seen in zip(rounds, rounds[1:], told, strict=False):
        for way in set(before.ways) - set(after.ways):
            assert not beats_all(way, [w for w in after.ways if w != way], seen, looks)
    for way in found.ways[1:]:
        assert not beats_all(way, [w for w in found.ways if w != way], told[-1], looks)


@given(tables(), budgets)
def test_nothing_is_said_to_be_best_that_is_not_distinguishable(
    table: Table, turns: int | None
) -> None:
    found, _, _ = played(table, turns)
    assert {pair.first for pair in found.pairs} <= set(found.ways[:1])
    assert [pair.second for pair in found.pairs] == list(found.ways[1:])
    beaten = bool(found.pairs) and all(pair.verdict == "better" for pair in found.pairs)
    assert (found.ended == "distinguishable") <= beaten


@given(st.integers(2, 7), st.integers(0, 6), st.integers(40, 100))
def test_a_way_that_is_always_right_is_found_among_those_that_never_are(
    ways: int, place: int, cases: int
) -> None:
    best = f"w{place % ways}"
    table = {f"w{n}": [float(f"w{n}" == best)] * cases for n in range(ways)}
    found, _, _ = played(table, None)
    assert (found.ways[0], found.ended) == (best, "distinguishable")


@given(tables(), budgets, st.randoms(use_true_random=False))
def test_the_same_scores_lead_to_the_same_turns(
    table: Table, turns: int | None, chance: Any
) -> None:
    costs = {way: float(chance.randint(1, 3)) for way in table}
    assert played(table, turns, costs=costs) == played(table, turns, costs=costs)
