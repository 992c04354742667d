from __future__ import annotations

from collections.abc import Callable

import pytest

from fallback.compare.halving import Found, Round, Seen, compared, most_turns, planned, search

Truth = Callable[[str, int], float]


def played(
    ways: list[str], cases: int, truth: Truth, *, turns: int | None = None, **seen: object
) -> tuple[Found, list[Round]]:
    """A whole search in which every way does on each case what the truth says."""
    plan = search(ways, cases, turns=turns)
    scores: dict[str, dict[str, float]] = {}
    rounds = []
    try:
        asked = next(plan)
        while True:
            rounds.append(asked)
            for way in asked.ways:
                held = scores.setdefault(way, {})
                held |= {str(n): truth(way, n) for n in range(asked.start, asked.end)}
            asked = plan.send(Seen(scores=scores, **seen))  # type: ignore[arg-type]  # fields of it
    except StopIteration as stop:
        return stop.value, rounds


def test_a_way_that_is_always_right_is_found_with_few_turns() -> None:
    ways = [f"w{number}" for number in range(8)]
    found, rounds = played(ways, 92, lambda way, n: float(way == "w5"))
    assert found.ways[0] == "w5"
    assert found.ended == "distinguishable"
    assert {pair.verdict for pair in found.pairs} == {"better"}
    assert found.turns == sum(len(r.ways) * (r.end - r.start) for r in rounds)
    assert found.turns < 8 * 92 / 3
    # Four were dropped after eight cases, which prove nothing; they were asked eight more.
    assert [(len(r.ways), r.start, r.end) for r in rounds] == [(8, 0, 8), (4, 8, 16), (4, 8, 16)]


def test_ways_that_do_the_same_are_asked_everything_and_the_cheaper_one_is_taken() -> None:
    costs = {"a": 300.0, "b": 200.0, "c": 250.0}
    found, rounds = played(["a", "b", "c"], 40, lambda way, n: float(n % 2), costs=costs)
    assert found.ways[0] == "b"
    assert found.ended == "cases"
    assert [pair.verdict for pair in found.pairs] == ["not distinguishable"] * 2
    assert [(r.start, r.end) for r in rounds] == [(0, 8), (8, 16), (16, 32), (32, 40)]


def test_half_of_the_ways_go_on_and_at_least_two() -> None:
    ways = [f"w{number}" for number in range(9)]
    found, rounds = played(ways, 64, lambda way, n: float((n * 7 + int(way[1])) % 3 == 0))
    assert [len(r.ways) for r in rounds] == [9, 5, 3, 2]
    assert len(found.ways) == 9


def test_a_way_that_cannot_be_gone_says_nothing_of_the_others() -> None:
    plan = search(["none", "wrong", "right"], 40, turns=18)
    asked = next(plan)
    assert asked == Round(("none", "wrong", "right"), 0, 6)
    scores = {"wrong": {str(n): 0.0 for n in range(6)}, "right": {str(n): 1.0 for n in range(6)}}
    costs = {"wrong": 1.0, "right": 2.0}
    with pytest.raises(StopIteration) as stop:
        plan.send(Seen(scores=scores, costs=costs, impossible=frozenset({"none"})))
    found = stop.value.value
    assert (found.ways, found.ended) == (("right", "wrong"), "budget")


def test_a_budget_that_ends_within_a_round_is_shared_among_the_ways() -> None:
    found, rounds = played(["a", "b", "c"], 92, lambda way, n: 1.0, turns=32)
    assert (found.ended, found.turns) == ("budget", 32 - 32 % 2)
    assert rounds[0] == Round(("a", "b", "c"), 0, 8)
    assert len(rounds[1].ways) == 2
    assert rounds[1].end - rounds[1].start == 4


def test_when_the_time_is_up_nothing_more_is_asked() -> None:
    found, rounds = played(["a", "b"], 92, lambda way, n: 1.0, over=True)
    assert (found.ended, len(rounds)) == ("budget", 1)


def test_what_cannot_be_asked_is_no_way() -> None:
    found, rounds = played(
        ["a", "b", "c"], 30, lambda way, n: float(way == "a"), impossible=frozenset({"a"})
    )
    assert "a" not in rounds[1].ways
    assert "a" not in found.ways or found.ways[0] != "a"
    nothing, _ = played(["a"], 30, lambda way, n: 1.0, impossible=frozenset({"a"}))
    assert nothing.turns == 8


def test_one_way_alone_is_asked_one_round() -> None:
    found, rounds = played(["a"], 92, lambda way, n: 1.0)
    assert (found.ended, found.pairs, len(rounds)) == ("cases", (), 1)


def test_looking_more_often_makes_a_difference_count_less() -> None:
    scores = {"a": {str(n): 1.0 for n in range(8)}, "b": {str(n): 0.0 for n in range(8)}}
    (once,) = compared(["a", "b"], scores)
    (often,) = compared(["a", "b"], scores, looks=10)
    assert (once.better, once.n, once.verdict) == (8, 8, "better")
    assert often.corrected == 10 * once.corrected
    assert often.verdict == "not distinguishable"


def test_only_cases_that_both_have_done_are_compared() -> None:
    scores = {"a": {"x": 1.0, "y": 1.0}, "b": {"y": 0.0, "z": 1.0}}
    (pair,) = compared(["a", "b"], scores)
    assert (pair.n, pair.share, pair.other) == (1, 1.0, 0.0)


def test_the_rounds_are_planned_beforehand() -> None:
    assert planned(92) == (8, 16, 32, 64, 92)
    assert planned(5) == (5,)
    assert planned(16) == (8, 16)
    assert most_turns(9, 92) == 9 * 8 + 5 * 8 + 3 * 16 + 2 * 32 + 2 * 28
