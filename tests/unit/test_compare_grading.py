from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from compare_kit import MAIL, WEATHER, case_of

from fallback.compare import patterns
from fallback.compare.cases import Case, ExpectedAnswer
from fallback.compare.grading import Call, answer_faults, calls_of_turn, grade_calls

INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("pattern", "value", "right"),
    [
        ("Oslo", "oslo", True),
        ("April 1, 2024", "April 1 2024", True),
        ("it's", 'it"s', True),
        ("Oslo", "Olso", False),
        ("1", 1, False),
        (1, "1", False),
        (5, 5.0, True),
        (5.0, 5, True),
        (True, 1, False),
        (1, True, False),
        (False, 0, False),
        (None, None, True),
        (None, 0, False),
        ([1, 2], [1, 2], True),
        ([1, 2], [2, 1], False),
        ([1, 2], [1], False),
        ([1], "1", False),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": {"$optional": 2}}, {"a": 1}, True),
        ({"a": 1, "b": {"$optional": 2}}, {"a": 1, "b": 3}, False),
        ({"$any_of": ["a", "b"]}, "B", True),
        ({"$any_of": ["a", "b"]}, "c", False),
        ({"$contains": ["two", "words"]}, "Words, two of them", True),
        ({"$contains": ["two"]}, 2, False),
        ({"$any": True}, {"any": "thing"}, True),
        ([{"$any_of": [1, 2]}], [2], True),
    ],
)
def test_a_value_matches_its_pattern(pattern: Any, value: Any, right: bool) -> None:
    assert patterns.matches(patterns.read(pattern), value) is right


def test_a_float_is_no_integer_where_the_schema_asks_for_one() -> None:
    assert not patterns.matches(patterns.read(5, INTEGER), 5.0)
    assert not patterns.matches(patterns.read([5], {"type": "array", "items": INTEGER}), [5.0])
    assert patterns.matches(patterns.read(5, {"type": "number"}), 5.0)


def test_exact_text_counts_every_letter() -> None:
    assert patterns.matches(patterns.read("`a-b`", loose=False), "`a-b`")
    assert not patterns.matches(patterns.read("`a-b`", loose=False), "`ab`")


@pytest.mark.parametrize(
    "pattern", [{"$any_of": []}, {"$any": False}, {"$no": 1}, {"$any": True, "x": 1}]
)
def test_an_unknown_pattern_is_refused(pattern: Any) -> None:
    with pytest.raises(ValueError, match="no expectation"):
        patterns.read(pattern)


def test_a_pattern_is_shown_as_it_was_written() -> None:
    written = {"a": {"$any_of": [1, {"$contains": ["x"]}]}, "b": {"$optional": [{"$any": True}]}}
    assert patterns.shown(patterns.read(written)) == written


TWO = case_of(
    tools=[WEATHER, MAIL],
    calls=[
        {"name": "get_weather", "arguments": {"city": "Oslo", "days": {"$optional": 1}}},
        {"name": "get_weather", "arguments": {"city": {"$any_of": ["Lima", "Oslo"]}}},
        {"name": "send_email", "arguments": {"to": "a@b.example", "body": "hi"}},
    ],
)
OSLO, LIMA = Call("get_weather", {"city": "Oslo"}), Call("get_weather", {"city": "Lima"})
SENT = Call("send_email", {"to": "a@b.example", "body": "hi"})


def grade(case: Case, *made: Call, **more: Any) -> Any:
    return grade_calls(case.calls, made, **more)


def test_calls_are_matched_whatever_their_order() -> None:
    for made in ((OSLO, LIMA, SENT), (SENT, LIMA, OSLO), (LIMA, SENT, OSLO)):
        verdict = grade(TWO, *made)
        assert (verdict.names, verdict.exact) == (True, True)
        assert verdict.fields_right == verdict.fields == 4


def test_the_match_is_the_best_there_is_and_not_the_first() -> None:
    # Both expected calls take Oslo, only the second takes Lima: a greedy match could miss that.
    turned = case_of(
        tools=[WEATHER],
        calls=[
            {"name": "get_weather", "arguments": {"city": {"$any_of": ["Oslo", "Lima"]}}},
            {"name": "get_weather", "arguments": {"city": "Oslo"}},
        ],
    )
    assert grade(turned, OSLO, LIMA).exact
    assert grade(turned, LIMA, OSLO).exact


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        ((OSLO, LIMA), "`send_email` was not called"),
        ((OSLO, LIMA, SENT, SENT), "`send_email` was called and should not have been"),
        ((OSLO, LIMA, Call("send_email", {"to": "a@b.example"})), "`body` is missing"),
        (
            (OSLO, LIMA, Call("send_email", {**SENT.arguments, "cc": "x"})),
            "`cc` should not be there",
        ),
        (
            (OSLO, LIMA, Call("send_email", {**SENT.arguments, "body": "ho"})),
            '`body` is "ho", right is "hi"',
        ),
    ],
)
def test_what_is_wrong_with_calls_is_said(made: tuple[Call, ...], fault: str) -> None:
    verdict = grade(TWO, *made)
    assert not verdict.exact
    assert any(fault in said for said in verdict.faults)


def test_fields_count_what_is_right_of_what_is_expected_or_given() -> None:
    verdict = grade(TWO, OSLO, Call("send_email", {"to": "a@b.example", "body": "x", "cc": "y"}))
    # city; to right, body wrong, cc extra; the city of the call that is missing.
    assert (verdict.fields_right, verdict.fields) == (2, 5)
    assert not verdict.names


def test_no_call_is_right_where_none_is_expected() -> None:
    assert grade(case_of(calls=[])).exact
    assert not grade(case_of(calls=[]), OSLO).exact


def test_order_counts_only_where_it_is_asked_for() -> None:
    assert grade(TWO, LIMA, OSLO, SENT, ordered=False).exact
    assert grade(TWO, OSLO, LIMA, SENT, ordered=True).exact
    verdict = grade(TWO, SENT, OSLO, LIMA, ordered=True)
    assert verdict.faults == ("the calls came in the wrong order",)


def test_a_repeated_call_of_a_later_step_is_not_counted_twice() -> None:
    assert calls_of_turn([[OSLO], [OSLO, LIMA]]) == [OSLO, LIMA]
    assert calls_of_turn([[OSLO, OSLO]]) == [OSLO, OSLO]


@pytest.mark.parametrize(
    ("says", "answer", "right"),
    [
        ({"has": (("12",),)}, "It is 12 degrees.", True),
        ({"has": (("12",),)}, "It is 125 degrees.", False),
        ({"has": (("12",),)}, "It is 12.5 degrees.", False),
        ({"has": (("12",),)}, "It is -12.", True),
        ({"has": (("1284.5",),)}, "You have 1,284.5 NOK", True),
        ({"has": (("good morning",),)}, "It means **Good  morning**", True),
        ({"has": (("a", "b"), ("c",))}, "B and C", True),
        ({"has": (("a", "b"), ("c",))}, "B alone", False),
        ({"has": (("can't",),)}, "I can’t do that", True),
        ({"lacks": (("refunded",),)}, "It was refunded.", False),
        ({"lacks": (("refunded",),)}, "It was not.", True),
    ],
)
def test_the_answer_says_what_it_should(says: Mapping[str, Any], answer: str, right: bool) -> None:
    assert (not answer_faults(ExpectedAnswer(**says), answer)) is right
