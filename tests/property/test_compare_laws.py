"""Laws of comparisons: patterns, grades, the folder of results, and what a report shows."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from compare_kit import MAIL, WEATHER, case_of, record_of
from hypothesis import given
from hypothesis import strategies as st

from fallback.compare import patterns
from fallback.compare.cases import read_case
from fallback.compare.grading import Call, grade_calls
from fallback.compare.report.content import pieces
from fallback.compare.store import open_store, read_records

TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(TEXT.filter(lambda key: not key.startswith("$")), inner, max_size=4)
    ),
    max_leaves=20,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["city", "days", "to", "body"]), st.integers(0, 3) | st.sampled_from("abc")
)
CALLS = st.lists(
    st.builds(Call, st.sampled_from(["get_weather", "send_email"]), ARGUMENTS), max_size=5
)


@given(JSON, st.booleans())
def test_every_value_matches_the_pattern_that_it_is(value: Any, loose: bool) -> None:
    pattern = patterns.read(value, loose=loose)
    assert patterns.matches(pattern, value)
    assert patterns.shown(pattern) == value


@given(JSON, JSON)
def test_what_matches_exactly_matches_loosely(first: Any, second: Any) -> None:
    if patterns.matches(patterns.read(first, loose=False), second):
        assert patterns.matches(patterns.read(first), second)


def expecting(calls: list[Call]) -> Any:
    return case_of(
        tools=[WEATHER, MAIL],
        calls=[{"name": call.name, "arguments": dict(call.arguments)} for call in calls],
    ).calls


@given(CALLS, st.randoms(use_true_random=False))
def test_the_right_calls_are_right_in_any_order(calls: list[Call], chance: Any) -> None:
    turned = list(calls)
    chance.shuffle(turned)
    grade = grade_calls(expecting(calls), turned)
    assert grade.exact
    assert grade.names
    assert grade.fields_right == grade.fields
    assert grade_calls(expecting(calls), calls, ordered=True).exact


def spelled(calls: list[Call]) -> list[str]:
    return sorted(f"{call.name} {sorted(call.arguments.items())!r}" for call in calls)


@given(CALLS, CALLS)
def test_a_grade_agrees_with_itself(expected: list[Call], made: list[Call]) -> None:
    grade = grade_calls(expecting(expected), made)
    assert 0 <= grade.fields_right <= grade.fields
    assert grade.exact is (not grade.faults)
    assert not grade.exact or (grade.names and grade.fields_right == grade.fields)
    assert grade.exact is (spelled(expected) == spelled(made))


@given(st.lists(TEXT.filter(bool), max_size=6, unique=True), st.integers(0, 3000))
def test_a_file_cut_anywhere_holds_what_was_whole(keys: list[str], place: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_store(folder) as store:
            for key in keys:
                store.add(record_of(key, answer="\ud800 ünï"))
        file = folder / "results.jsonl"
        data = file.read_bytes()[:place]
        file.write_bytes(data)
        whole = data.count(b"\n")
        with open_store(folder) as store:
            assert store.keys == set(keys[:whole])
            store.add(record_of("one more \x00"))
        assert [r["key"] for r in read_records(folder)] == [*keys[:whole], "one more \x00"]


@given(
    TEXT,
    st.lists(
        st.tuples(st.sampled_from(["call", "text"]), st.integers(0, 30), st.integers(0, 30), TEXT)
    ),
)
def test_the_pieces_of_a_reply_are_the_reply(raw: str, segments: list[Any]) -> None:
    assert "".join(text for _, text, _ in pieces(raw, segments)) == raw


@given(JSON)
def test_no_json_is_more_than_a_bad_case(value: Any) -> None:
    from fallback.errors import FallbackError

    given_ = value if isinstance(value, dict) else {"id": value}
    for changed in (given_, {"id": "a", "question": "?", "tools": [WEATHER], "calls": value}):
        with suppress(FallbackError):
            read_case("laws", changed)
