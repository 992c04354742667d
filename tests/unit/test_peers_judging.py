from __future__ import annotations

from typing import Any

import pytest

from benchmarks.peers.bench_replies import FORMATS, TOOLS, bench_replies
from benchmarks.peers.judging import Case, Score, gated, judged, same, scored

OSLO = {"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}
ROME = {"name": "get_weather", "arguments": {"city": "Rome"}}


def case(*accepted: list[dict[str, Any]]) -> Case:
    return Case(id="c", text="", tools=TOOLS, accepted=accepted, group="", context={})


def answer(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"id": "c", "calls": list(calls)}


def test_the_same_calls_are_right_and_others_are_wrong() -> None:
    assert judged(case([OSLO]), answer(OSLO)) == "right"
    assert judged(case([OSLO]), answer(ROME)) == "wrong"
    assert judged(case([OSLO, ROME]), answer(ROME, OSLO)) == "wrong"


def test_any_accepted_outcome_is_right() -> None:
    assert judged(case([OSLO], [ROME]), answer(ROME)) == "right"
    assert judged(case([OSLO], []), answer()) == "right"


def test_nothing_an_error_and_no_answer_are_missed_calls() -> None:
    assert judged(case([OSLO]), answer()) == "missed"
    assert judged(case([OSLO]), {"id": "c", "error": "ValueError"}) == "missed"
    assert judged(case([OSLO]), None) == "missed"


def test_a_call_where_none_should_run_is_false() -> None:
    assert judged(case([]), answer(OSLO)) == "false"
    assert judged(case([]), answer()) == "quiet"


def test_a_peer_is_spared_what_a_caller_can_check() -> None:
    undeclared = {"name": "delete_file", "arguments": {}}
    incomplete = {"name": "write_file", "arguments": {"path": "a"}}
    text = {"name": "get_weather", "arguments": {"city": "Oslo", "days": "3"}}
    assert judged(case([]), answer(undeclared, incomplete)) == "quiet"
    assert judged(case([OSLO]), answer(undeclared, text)) == "right"


def test_what_is_not_an_object_of_arguments_is_no_usable_call() -> None:
    assert gated([{"name": "get_weather", "arguments": '{"city": "Os'}], TOOLS) == []
    assert gated([{"name": None, "arguments": {}}], TOOLS) == []


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (None, False, False),
        ([1, {"a": 0}], [1, {"a": False}], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ("1", 1, False),
    ],
)
def test_equality_is_that_of_json(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal


def test_a_score_counts_replies_with_and_without_calls() -> None:
    score = scored(["right", "right", "missed", "wrong", "quiet", "false"])
    assert score == Score(right=2, missed=1, wrong=1, quiet=1, false=1)
    assert (score.with_calls, score.without_calls) == (4, 2)


def test_the_bench_has_every_format_in_every_situation_and_no_id_twice() -> None:
    cases = bench_replies()
    assert len({one.id for one in cases}) == len(cases)
    for name in FORMATS:
        groups = {one.group for one in cases if one.id.startswith(f"{name}, ")}
        assert groups == {"meant", "quoted", "thought", "truncated", "forged"}


def test_what_the_bench_expects_satisfies_its_own_tools() -> None:
    for one in bench_replies():
        meant = one.accepted[0]
        assert gated(meant, one.tools) == meant
        assert bool(meant) or one.group != "meant"
