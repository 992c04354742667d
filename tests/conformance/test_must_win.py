"""What a layer for tool calls has to get right; each line is wrong in a well-known parser."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fallback import Catalogue, Parser, Reading, parse
from fallback.parsing.events import ArgumentsDelta, CallReady, TextDelta

WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "Weather in a city.",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "code": {"type": "string"},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
}
CATALOGUE = Catalogue([WEATHER])
CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
TAGGED = f"<tool_call>{CALL}</tool_call>"


def read(text: str, **how: Any) -> Reading:
    return parse(text, CATALOGUE, **how)


def tagged(arguments: str) -> str:
    return f'<tool_call>{{"name": "get_weather", "arguments": {arguments}}}</tool_call>'


@pytest.mark.parametrize(
    "text",
    [
        f"An example:\n\n````\n```tool_call\n{CALL}\n```\n````\n\nThat is the form.",
        f"Write `{TAGGED}` to ask for it.",
        f"I considered {TAGGED} but decided against it.",
        f"<think>I might write {TAGGED}</think>It is sunny.",
        f"<think>I might write {TAGGED}",
    ],
)
def test_a_call_that_is_quoted_or_thought_is_not_made(text: str) -> None:
    assert read(text).calls == ()


@pytest.mark.parametrize(
    ("arguments", "city"),
    [
        (r'{"city": "a</tool_call>b"}', "a</tool_call>b"),
        (r'{"city": "```\nx\n```"}', "```\nx\n```"),
        (r'{"city": "a } b"}', "a } b"),
        ('{"city": "one\ntwo"}', "one\ntwo"),
        ("{'city': 'Oslo'}", "Oslo"),
        ('{"city": "Oslo",}', "Oslo"),
        ('{"city": "007"}', "007"),
        ('{"city": "true"}', "true"),
        ('{"city": "12345"}', "12345"),
    ],
)
def test_an_argument_is_what_was_written(arguments: str, city: str) -> None:
    (call,) = read(tagged(arguments)).calls
    assert call.arguments == {"city": city}


@pytest.mark.parametrize("text", [TAGGED[:-20], tagged('{"city": "Os')[:-14], CALL[:-4], CALL])
def test_what_ran_out_of_tokens_never_runs(text: str) -> None:
    reading = read(text, finish_reason="length")
    assert reading.calls == ()
    assert [problem.kind for problem in reading.problems] == ["truncated"]


def test_each_mistake_has_a_correction_of_its_own() -> None:
    replies = {
        TAGGED.replace("get_weather", "get_wether"): "get_weather",
        tagged('{"days": 1}'): "city",
        tagged('{"city": "Oslo", "units": "C"}'): "units",
        tagged('{"city": "Oslo", "days": "soon"}'): "integer",
    }
    messages = {text: read(text).problems[0].message for text in replies}
    assert len(set(messages.values())) == len(replies)
    for text, word in replies.items():
        assert word in messages[text]


def test_two_calls_are_two_even_if_they_are_equal() -> None:
    assert len(read(f"{TAGGED}\n{TAGGED}").calls) == 2


def test_an_invented_result_is_cut_off_and_not_shown() -> None:
    reading = read(f"{TAGGED}\n<tool_response>21 C</tool_response>\nIt is 21 C, {TAGGED}")
    assert (len(reading.calls), reading.text.strip()) == (1, "")


def test_data_in_json_is_an_answer() -> None:
    answer = '```json\n{"name": "Oslo", "population": 700000}\n```'
    assert (read(answer).calls, read(answer).text) == ((), answer)


def test_a_choice_that_is_forced_makes_no_call_up() -> None:
    for choice in ("required", "get_weather"):
        assert read("I would rather not.", tool_choice=choice).calls == ()


def test_a_json_answer_streams_as_it_comes() -> None:
    parser = Parser(CATALOGUE)
    answer = '```json\n{"town": "Oslo", "population": 700000, "rivers": ["Akerselva"]}\n```'
    shown = 0
    for place, char in enumerate(answer):
        shown += sum(len(e.text) for e in parser.feed(char) if isinstance(e, TextDelta))
        assert place < 20 or place - shown < 12
    parser.close()
    assert parser.reading.text == answer


def test_arguments_stream_as_they_come() -> None:
    parser = Parser(CATALOGUE)
    city = "Llanfairpwllgwyngyll " * 4
    pieces, early = "", 0
    for char in tagged(json.dumps({"city": city})):
        events = parser.feed(char)
        pieces += "".join(e.fragment for e in events if isinstance(e, ArgumentsDelta))
        early = early or (len(pieces) > 30 and not any(isinstance(e, CallReady) for e in events))
    parser.close()
    assert early
    assert json.loads(pieces) == {"city": city}
