"""The laws of the parser: chunks do not matter, nothing is lost, what is quoted is not called."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weather_kit import NOW, WEATHER

from fallback import Catalogue, Parser, Reading, parse
from fallback.limits import Limits
from fallback.messages import SHOWN, FinishReason
from fallback.parsing.events import (
    BatchComplete,
    CallReady,
    CallSuppressed,
    End,
    Event,
    ProblemFound,
    ReasoningDelta,
    TextDelta,
)
from fallback.testing.streaming import told

CATALOGUE = Catalogue(
    [
        WEATHER,
        NOW,
        {
            "name": "write-file",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                "required": ["path", "content"],
            },
        },
    ]
)

CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
PIECES = [
    CALL,
    'get_weather(city="Oslo", days=2)',
    "now()",
    '[now(), get_weather(city="Rome")]',
    '{"name": "now"',
    '{"city": "Oslo"}',
    '{"name": "my-app", "version": 1}',
    "<tool_call>", "</tool_call>", "<tool_calls>", "<|python_tag|>", "[TOOL_CALLS]", "functools[",
    "```tool_call\n", "```json\n", "```python\n", "```\n", "\n```", "````", "~~~\n", "`",
    "<think>", "</think>", "[THINK]", "[/THINK]", "<tool_response>", "</s>", "<|im_end|>",
    "<function=get_weather>", "<parameter=city>", "</parameter>", "</function>",
    '<invoke name="now">', "</invoke>", "<arg_key>city</arg_key>", "<arg_value>", "</arg_value>",
    "<|channel|>analysis<|message|>", "<|channel|>final<|message|>", "<|start|>assistant",
    "<|end|>",
    "<|channel|>commentary to=functions.now<|message|>", "<|tool_call>call:now{}<tool_call|>",
    "<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "functions.now:0", "<|tool_call_argument_begin|>",
    "Action: now\n", "Action Input: ", "Observation: ", "Thought: x\n", "> ", "- ", "json\n",
    '"', "'", '"""', "\\", "{", "}", "[", "]", "(", ")", "<", ">", "=", ":", ",", ";",
    "\n", "\n\n", " ", "\t", "The weather is fine.", "Let me see: ", "é😀", "\u2028", "\x00",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=14).map("".join)
FINISH = st.sampled_from(["stop", "length"])
QUOTABLE = [
    CALL,
    f"<tool_call>{CALL}</tool_call>",
    f"```tool_call\n{CALL}\n```",
    'get_weather(city="Oslo")',
    f"[TOOL_CALLS][{CALL}]",
    "<function=get_weather><parameter=city>Oslo</parameter></function>",
]


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


def run(chunks: list[str], finish: FinishReason) -> tuple[Reading, list[Event]]:
    parser = Parser(CATALOGUE)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    events += parser.close(finish)
    return parser.reading, events


@given(text=TEXTS, finish=FINISH, places=st.lists(st.integers(0, 400), max_size=8))
def test_any_split_gives_the_same_reading(
    text: str, finish: FinishReason, places: list[int]
) -> None:
    whole, _ = run([text], finish)
    assert run(list(text), finish)[0] == whole
    assert run(cut(text, places), finish)[0] == whole


@given(text=TEXTS, patience=st.integers(0, 60), places=st.lists(st.integers(0, 400), max_size=8))
def test_any_split_is_given_up_at_the_same_place(
    text: str, patience: int, places: list[int]
) -> None:
    limits = Limits(max_false_starts=patience, max_quotations=patience % 4)
    readings = []
    for chunks in ([text], list(text), cut(text, places)):
        parser = Parser(CATALOGUE, limits=limits)
        for chunk in chunks:
            parser.feed(chunk)
        parser.close()
        readings.append(parser.reading)
    assert readings[1:] == readings[:1] * 2


@given(text=TEXTS, finish=FINISH)
def test_the_segments_tile_the_reply(text: str, finish: FinishReason) -> None:
    reading, _ = run([text], finish)
    at = 0
    for segment in reading.segments:
        assert segment.start == at
        at = segment.end
    assert at == len(text)
    for kind, shown in (("text", reading.text), ("reasoning", reading.reasoning)):
        kinds = SHOWN if kind == "text" else {kind}
        pieces = [text[s.start : s.end] for s in reading.segments if s.kind in kinds]
        assert "".join(pieces) == shown


@given(text=TEXTS, finish=FINISH, places=st.lists(st.integers(0, 400), max_size=8))
def test_the_events_say_what_the_reading_says(
    text: str, finish: FinishReason, places: list[int]
) -> None:
    reading, events = run(cut(text, places), finish)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == reading.text
    assert "".join(e.text for e in events if isinstance(e, ReasoningDelta)) == reading.reasoning
    assert tuple(e.call for e in events if isinstance(e, CallReady)) == reading.calls
    assert tuple(e.problem for e in events if isinstance(e, ProblemFound)) == reading.problems
    found = tuple(e.suppressed for e in events if isinstance(e, CallSuppressed))
    assert found == reading.suppressed
    assert [e for e in events if isinstance(e, End)] == events[-1:]
    assert sum(isinstance(e, BatchComplete) for e in events) == bool(reading.calls)
    calls = told(events)
    assert tuple(call.call for call in calls if call.call) == reading.calls
    for call in calls:
        if call.call:
            assert "".join(call.pieces) == json.dumps(call.call.arguments, ensure_ascii=False)


@given(text=st.text(max_size=300) | TEXTS, finish=FINISH)
def test_only_declared_tools_are_called_and_only_with_valid_arguments(
    text: str, finish: FinishReason
) -> None:
    reading, _ = run([text], finish)
    for call in reading.calls:
        tool = CATALOGUE.get(call.name)
        assert tool is not None
        assert set(tool.parameters.get("required", ())) <= call.arguments.keys()


@pytest.mark.parametrize("call", QUOTABLE)
@pytest.mark.parametrize(
    "frame",
    [
        "I could write `{}` but I will not.",
        "The form is this:\n\n> {}\n\nThat is all.",
        "An example:\n````\n{}\n````\nI have called nothing.",
        "An example:\n~~~text\n{}\n~~~\nI have called nothing.",
        "<think>\nI might write\n\n{}\n</think>\n\nIt is sunny.",
    ],
    ids=["inline", "quote", "fence", "tildes", "think"],
)
def test_a_quoted_call_is_shown_and_reported_and_not_made(call: str, frame: str) -> None:
    if "`" in frame and "```" in call and "````" not in frame:
        frame = frame.replace("`{}`", "```` {} ````")
    quoted = call.replace("\n", "\n> ") if "> {}" in frame else call
    text = frame.replace("{}", quoted)
    reading = parse(text, CATALOGUE)
    assert reading.calls == ()
    assert reading.problems == ()
    assert reading.suppressed != ()
    if not reading.reasoning:
        assert reading.text == text


WHOLE = f"<tool_call>\n{CALL}\n</tool_call>"


@pytest.mark.parametrize("size", range(len(WHOLE)))
def test_a_call_that_is_cut_off_is_never_made(size: int) -> None:
    assert parse(WHOLE[:size], CATALOGUE, finish_reason="length").calls == ()


STRING = 'the beginning of a "quoted" text with `ticks`, {braces} and </tool_call>'
WRITE = json.dumps({"name": "write-file", "arguments": {"path": "a", "content": STRING}})


@pytest.mark.parametrize("size", range(WRITE.index("the beginning"), WRITE.rindex('"')))
@pytest.mark.parametrize("opener", ["", "<tool_call>", "```tool_call\n", "[TOOL_CALLS]["])
def test_a_call_that_ends_inside_a_string_is_never_made(opener: str, size: int) -> None:
    reading = parse(opener + WRITE[:size], CATALOGUE)
    assert reading.calls == ()
    assert reading.problems != ()


@given(value=st.dictionaries(st.sampled_from(["city", "zip", "x"]), st.integers() | st.text()))
def test_an_answer_in_json_is_text(value: dict[str, Any]) -> None:
    for text in (json.dumps(value), f"```json\n{json.dumps(value, indent=1)}\n```"):
        reading = parse(text, CATALOGUE)
        assert (reading.calls, reading.problems, reading.text) == ((), (), text)


def test_a_json_answer_streams_as_soon_as_it_is_known_to_be_one() -> None:
    parser = Parser(CATALOGUE)
    seen = ""
    for chunk in ["```json\n", '{"temperature"', ": 21", ', "wind": 4']:
        seen += "".join(e.text for e in parser.feed(chunk) if isinstance(e, TextDelta))
    assert seen == '```json\n{"temperature": 21, "wind": 4'


def test_prose_streams_at_once() -> None:
    parser = Parser(CATALOGUE)
    events = parser.feed("It is sunny in Oslo today")
    assert events == [TextDelta("It is sunny in Oslo today")]


def test_the_batch_is_over_as_soon_as_something_else_follows() -> None:
    parser = Parser(CATALOGUE)
    first = parser.feed(WHOLE + "\n")
    assert any(isinstance(e, CallReady) for e in first)
    assert not any(isinstance(e, BatchComplete) for e in first)
    assert BatchComplete(1) in parser.feed("The weather")
