"""Input that nobody should send: it is read, or it is a problem, and never more than that."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback import Catalogue, Parser, Reading, parse
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.testing.laws import depth_of, tiles, valid

ANY: dict[str, Any] = {"type": "object", "additionalProperties": True}
CATALOGUE = Catalogue(
    [
        {
            "name": "write_file",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                "required": ["path"],
            },
        },
        {"name": "now", "parameters": {"type": "object", "properties": {}}},
        {
            "name": "set",
            "parameters": {
                "type": "object",
                "properties": {"x": {"type": "number"}, "n": {"type": "integer"}, "v": {}},
            },
        },
    ]
)
ENVELOPES = ["{}", "<tool_call>{}</tool_call>", "```tool_call\n{}\n```", "[TOOL_CALLS][{}]"]


def call(name: str, arguments: str) -> str:
    return f'{{"name": "{name}", "arguments": {arguments}}}'


def kinds(reading: Reading) -> set[str]:
    return {problem.kind for problem in reading.problems}


@given(data=st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    reading = parse(text, CATALOGUE)
    tiles(reading, text)
    valid(reading, CATALOGUE)


@pytest.mark.parametrize("strange", ["\ud83d", "\x00", "\ufeff", "\u2028", "\x85", "\x1b"])
@pytest.mark.parametrize("envelope", ENVELOPES)
def test_strange_characters_around_a_call_are_text_and_the_call_is_made(
    envelope: str, strange: str
) -> None:
    text = f"{strange}\n\n{envelope.replace('{}', call('now', '{}'))}"
    reading = parse(text, CATALOGUE)
    assert [c.name for c in reading.calls] == ["now"]
    tiles(reading, text)


@pytest.mark.parametrize(
    "strange", ["\x00", "\ufeff", "\u2028", "\x85", "\x1b", "\ufffe", "\U0010ffff"]
)
@pytest.mark.parametrize("envelope", ENVELOPES)
def test_strange_characters_in_a_string_arrive_as_they_are(envelope: str, strange: str) -> None:
    arguments = f'{{"path": "a{strange}b"}}'
    reading = parse(envelope.replace("{}", call("write_file", arguments)), CATALOGUE)
    (made,) = reading.calls
    assert made.arguments == {"path": f"a{strange}b"}


@pytest.mark.parametrize("half", ["\ud83d", "\\ud83d"])
@pytest.mark.parametrize("envelope", ENVELOPES)
def test_half_a_character_in_an_argument_is_a_problem(envelope: str, half: str) -> None:
    reading = parse(envelope.replace("{}", call("write_file", f'{{"path": "a{half}"}}')), CATALOGUE)
    assert reading.calls == ()
    assert kinds(reading) == {"invalid_arguments"}


@pytest.mark.parametrize("unit", ["word ", "{", '"', "`", "<tool_call>", "(", "\n> x", "x: "])
def test_ten_megabytes_are_a_problem_and_not_a_crash(unit: str) -> None:
    size = 10 * 1024 * 1024
    text = unit * (size // len(unit))
    reading = parse(text, CATALOGUE)
    assert reading.calls == ()
    (problem,) = [p for p in reading.problems if p.kind == "oversized"]
    assert problem.span.start == DEFAULT_LIMITS.max_reply_chars
    tiles(reading, text)


def test_a_reply_that_is_too_long_is_cut_at_the_same_place_in_any_pieces() -> None:
    limits = Limits(max_reply_chars=100)
    text = f"{'x' * 60}\n\n{call('now', '{}')}{' ' * 40}"
    readings = []
    for size in (1, 7, 99, len(text)):
        parser = Parser(CATALOGUE, limits=limits)
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.close()
        readings.append(parser.reading)
    assert "oversized" in kinds(readings[0])
    assert all(reading == readings[0] for reading in readings)


@pytest.mark.parametrize("envelope", ["{}\n", "<tool_call>{}</tool_call>\n", "[TOOL_CALLS][{}]"])
def test_ten_thousand_calls_are_as_many_as_allowed_and_one_problem(envelope: str) -> None:
    text = envelope.replace("{}", call("now", "{}")) * 10_000
    reading = parse(text, CATALOGUE)
    assert len(reading.calls) == DEFAULT_LIMITS.max_calls_per_step
    assert [p.kind for p in reading.problems] == ["oversized"]
    tiles(reading, text)


NESTS = [
    ("[", "]"),
    ('{"a":', "}"),
    ("(", ")"),
    ("now(x=", ")"),
    ("{'a': [", "]}"),
    ("<think>", ""),
]


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize(
    "head", ["", "<tool_call>", '{"name": "set", "arguments": {"v": ', "set(v="]
)
@pytest.mark.parametrize(("opener", "closer"), NESTS)
def test_nesting_without_end_is_never_called(
    head: str, opener: str, closer: str, closed: bool
) -> None:
    text = head + opener * 100_000 + closer * 100_000 * closed
    reading = parse(text, CATALOGUE)
    assert reading.calls == ()
    tiles(reading, text)


@pytest.mark.parametrize("depth", [1, 50, DEFAULT_LIMITS.max_depth - 2, DEFAULT_LIMITS.max_depth])
def test_nesting_within_the_limit_is_called_and_beyond_it_is_a_problem(depth: int) -> None:
    arguments = f'{{"v": {"[" * depth}{"]" * depth}}}'
    reading = parse(f"<tool_call>{call('set', arguments)}</tool_call>", CATALOGUE)
    if reading.calls:
        assert depth_of(reading.calls[0].arguments) == depth + 1
        assert depth < DEFAULT_LIMITS.max_depth
    else:
        assert kinds(reading) == {"invalid_json"}
        assert depth > DEFAULT_LIMITS.max_depth - 4


@pytest.mark.parametrize(
    "body",
    [
        '{"name": "now", "name": "set", "arguments": {}}',
        '{"name": "set", "arguments": {"x": 1, "x": 2}}',
        '{"name": "set", "arguments": {"x": 1}, "arguments": {"x": 2}}',
        '{"name": "set", "arguments": {"v": {"a": 1, "a": 1}}}',
        "{'name': 'set', 'arguments': {'x': 1, 'x': 2}}",
        '{"name": "set", "arguments": "{\\"x\\": 1, \\"x\\": 2}"}',
    ],
)
@pytest.mark.parametrize("envelope", ENVELOPES)
def test_a_key_that_stands_twice_is_a_problem(envelope: str, body: str) -> None:
    reading = parse(envelope.replace("{}", body), CATALOGUE)
    assert reading.calls == ()
    assert kinds(reading) & {"invalid_json", "invalid_arguments"}


@pytest.mark.parametrize("text", ["set(x=1, x=2)", "set(v={'a': 1, 'a': 2})"])
def test_a_keyword_that_stands_twice_is_a_problem(text: str) -> None:
    reading = parse(text, CATALOGUE)
    assert reading.calls == ()
    assert reading.problems != ()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400"])
@pytest.mark.parametrize("envelope", ENVELOPES)
def test_what_is_no_number_in_json_is_a_problem(envelope: str, number: str) -> None:
    reading = parse(envelope.replace("{}", call("set", f'{{"x": {number}}}')), CATALOGUE)
    assert reading.calls == ()
    assert reading.problems != ()


@pytest.mark.parametrize(
    "text", ["set(x=float('nan'))", "set(x=nan)", "set(x=1e999)", "set(x=inf)"]
)
def test_what_is_no_number_in_python_is_a_problem(text: str) -> None:
    reading = parse(text, CATALOGUE)
    assert reading.calls == ()
    assert reading.problems != ()


BIG = [2**63, 2**64 + 1, -(2**63) - 1, 10**40 + 7, -(10**300)]


@pytest.mark.parametrize("number", BIG)
@pytest.mark.parametrize(
    "form",
    [
        *(envelope.replace("{}", call("set", '{"n": NUMBER}')) for envelope in ENVELOPES),
        "set(n=NUMBER)",
        "<function=set><parameter=n>NUMBER</parameter></function>",
        "<|tool_call>call:set{n:NUMBER}<tool_call|>",
        call("set", '"{\\"n\\": NUMBER}"'),
    ],
)
def test_integers_of_any_size_stay_exact(form: str, number: int) -> None:
    reading = parse(form.replace("NUMBER", str(number)), CATALOGUE)
    assert [c.arguments for c in reading.calls] == [{"n": number}]
    assert type(reading.calls[0].arguments["n"]) is int


@pytest.mark.parametrize("digits", [5_000, 200_000])
@pytest.mark.parametrize("form", [call("set", '{"n": NUMBER}'), "set(n=NUMBER)"])
def test_an_integer_that_python_will_not_read_is_no_crash(form: str, digits: int) -> None:
    text = form.replace("NUMBER", "7" * digits)
    tiles(parse(text, CATALOGUE), text)


TWINS = Catalogue([{"name": name, "parameters": ANY} for name in ("get-user", "get_user", "now")])


@pytest.mark.parametrize("written", ["get.user", "Get_User", "GET-USER", "get user"])
def test_a_name_that_folds_to_two_tools_is_a_problem(written: str) -> None:
    reading = parse(f"<tool_call>{call(written, '{}')}</tool_call>", TWINS)
    assert reading.calls == ()
    (problem,) = reading.problems
    assert problem.kind == "unknown_tool"
    assert "get-user" in problem.message
    assert "get_user" in problem.message


@pytest.mark.parametrize("written", ["get-user", "get_user"])
def test_a_name_that_is_declared_is_meant_however_much_another_is_like_it(written: str) -> None:
    reading = parse(f"<tool_call>{call(written, '{}')}</tool_call>", TWINS)
    assert [c.name for c in reading.calls] == [written]


@given(value=st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_a_name_that_is_no_text_is_never_called(value: Any) -> None:
    text = f'<tool_call>{{"name": {json.dumps(value)}, "arguments": {{}}}}</tool_call>'
    reading = parse(text, CATALOGUE)
    assert all(c.name == value for c in reading.calls)
    tiles(reading, text)
