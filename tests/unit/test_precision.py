"""What looks like a call and is none: nothing of it may run. And beside it, what is one."""

from __future__ import annotations

from typing import Any

import pytest
from weather_kit import CATALOGUE

from fallback import Parser, Reading, parse
from fallback.errors import UsageError
from fallback.parsing.events import CallReady, CallStarted, CallWithdrawn

OBJECT = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
TAGGED = f"<tool_call>{OBJECT}</tool_call>"
PYTHON = 'get_weather(city="Oslo")'


def read(text: str, **how: Any) -> Reading:
    """Read it whole and one character at a time: both have to be the same."""
    whole = parse(text, CATALOGUE, **how)
    parser = Parser(CATALOGUE)
    events = [event for char in text for event in parser.feed(char)]
    events += parser.close(how.get("finish_reason", "stop"))
    started = [event.index for event in events if isinstance(event, CallStarted)]
    ended = [event for event in events if isinstance(event, (CallReady, CallWithdrawn))]
    assert started == sorted({event.index for event in ended})
    assert len(ended) == len(started)
    assert tuple(e.call for e in ended if isinstance(e, CallReady)) == parser.reading.calls
    for part in ("calls", "text", "reasoning", "problems", "suppressed", "segments"):
        assert getattr(parser.reading, part) == getattr(whole, part), part
    return whole


@pytest.mark.parametrize(
    "text",
    [
        f"Hello!<|im_start|>user\nThe weather?\n<|im_start|>assistant\n{TAGGED}",
        f"<|im_start|>user\n{TAGGED}<|im_end|>\n<|im_start|>assistant\nYes.",
        f"<|im_start|>system\nTools: {TAGGED}<|im_end|>\n",
        f"Hello!<|start_header_id|>user<|end_header_id|>\n\nWeather?\n{TAGGED}",
        f"Hello!<｜User｜>The weather?<｜Assistant｜>{TAGGED}",
        f"Hello!<|user|>\nThe weather?<|assistant|>\n{TAGGED}",
        f"Hello!\n<|observation|>\n{TAGGED}",
    ],
)
def test_what_the_model_makes_somebody_else_say_is_dropped(text: str) -> None:
    reading = read(text)
    assert (reading.calls, reading.problems) == ((), ())
    assert reading.text.strip() in ("Hello!", "")
    assert reading.segments[-1].note == "next_turn"


@pytest.mark.parametrize(
    "text",
    [
        f"<|im_start|>assistant\n{TAGGED}",
        f"<|assistant|>\n{TAGGED}",
        f"<｜Assistant｜>{TAGGED}",
        f"The token <|user|> begins a turn. I look it up:\n\n{TAGGED}",
        f"Let me see.\n\n{PYTHON}<|im_end|>\n<|im_start|>user\nThanks!",
        f"Let me see.\n\n{PYTHON}\n<|im_start|>user\nThanks!",
        f"Let me see.\n\n{PYTHON}\n<|user|>\nThanks!",
    ],
)
def test_a_call_in_the_models_own_turn_is_made(text: str) -> None:
    assert [call.arguments for call in read(text).calls] == [{"city": "Oslo"}]


@pytest.mark.parametrize("tag", ["think", "thinking", "thought", "reasoning"])
def test_what_stands_between_tags_of_thinking_is_thought(tag: str) -> None:
    reading = read(f"<{tag}>I might write {TAGGED}</{tag}>It is sunny.")
    assert (reading.calls, reading.text) == ((), "It is sunny.")


@pytest.mark.parametrize(
    "text",
    [
        "Tools:\nnow()\nget_weather(city)",
        "Tools:\nget_weather(city: string, days?: integer)\nnow()",
        "[now(), get_weather(city, days)]",
        "Tools:\n\n[get_weather(city: str | None), now()]",
    ],
)
def test_a_call_beside_signatures_is_one_of_them(text: str) -> None:
    reading = read(text)
    assert (reading.calls, reading.text) == ((), text)
    assert [found.reason for found in reading.suppressed] == ["among_signatures"]


def test_a_call_beside_one_with_an_expression_is_made() -> None:
    reading = read("[now(), get_weather(city=place())]")
    assert [call.name for call in reading.calls] == ["now"]
    assert [problem.kind for problem in reading.problems] == ["invalid_arguments"]


@pytest.mark.parametrize(
    "definition",
    [
        '{"name": "now", "description": "The time.", "parameters": {}}',
        '{"name": "now", "parameters": {}, "description": "The time."}',
        '{"type": "function", "function": {"name": "now", "parameters": {}, "description": "."}}',
        '<tools>\n{"name": "now", "description": "The time.", "parameters": {}}\n</tools>',
    ],
)
def test_the_definition_of_a_tool_that_takes_nothing_is_no_call(definition: str) -> None:
    assert read(definition).calls == ()


def test_an_object_with_empty_parameters_is_a_call() -> None:
    assert [call.name for call in read('{"name": "now", "parameters": {}}').calls] == ["now"]


@pytest.mark.parametrize(
    "text",
    [
        f"<!-- {TAGGED} -->",
        f"See <code>{TAGGED}</code>",
        f"<pre>{TAGGED}</pre> is the form.",
        f"~~{TAGGED}~~ Not needed.",
        f"- > {TAGGED}",
        f"1. > {TAGGED}\n   > {TAGGED}",
        "[now()](https://example.org/now)",
        "```python\nnow()\nprint(1)\n```",
        "```\nprint(x)\nnow()\n```",
    ],
)
def test_what_is_quoted_linked_or_part_of_a_program_is_not_made(text: str) -> None:
    reading = read(text)
    assert (reading.calls, reading.problems, reading.text) == ((), (), text)


@pytest.mark.parametrize(
    "text",
    [f"<!-- now -->\n{TAGGED}", f"<code>{TAGGED}", f"~~ {TAGGED}", f"```\n{PYTHON}\n{PYTHON}\n```"],
)
def test_what_only_begins_like_a_quotation_is_made(text: str) -> None:
    assert {call.name for call in read(text).calls} == {"get_weather"}


ARGUMENTS = '{"city": "Oslo"}'


@pytest.mark.parametrize(
    "text",
    [
        f"get_weather\n```json\n{ARGUMENTS}\n```",
        (
            f"Let me see.\n\nget_weather\n```json\n{ARGUMENTS}\n```\n"
            f"get_weather\n```\n{ARGUMENTS}\n```"
        ),
    ],
)
def test_a_name_above_its_arguments_in_a_fence_is_a_call(text: str) -> None:
    reading = read(text)
    assert [call.arguments for call in reading.calls] == [{"city": "Oslo"}] * text.count("get")
    assert reading.text.strip() in ("", "Let me see.")


@pytest.mark.parametrize(
    "text",
    [
        f"As in\nget_weather\n```json\n{ARGUMENTS}\n```\n\nit is asked for.",
        f"get_time\n```json\n{ARGUMENTS}\n```",
        f"get_weather\n```python\nx = {ARGUMENTS}\n```",
        f"get_weather returns\n```json\n{ARGUMENTS}\n```",
        "get_weather\n```json\n{} is empty\n```",
    ],
)
def test_a_fence_beneath_another_line_holds_no_arguments(text: str) -> None:
    reading = read(text)
    assert (reading.calls, reading.text) == ((), text)


@pytest.mark.parametrize("text", [OBJECT, PYTHON, TAGGED, f">>>all\nWell.\n{TAGGED}"])
def test_a_byte_order_mark_in_front_changes_nothing(text: str) -> None:
    plain, marked = read(text), read("\ufeff" + text)
    assert [call.arguments for call in marked.calls] == [{"city": "Oslo"}]
    assert marked.text == plain.text


def test_a_byte_order_mark_is_not_shown() -> None:
    assert read("\ufeffIt is sunny.").text == "It is sunny."


def test_a_number_of_too_many_digits_is_explained_to_the_model() -> None:
    days = "1" * 5000
    text = f'<tool_call>{{"name": "get_weather", "arguments": {{"days": {days}}}}}</tool_call>'
    (problem,) = read(text).problems
    assert "an integer with too many digits" in problem.message
    assert "sys." not in problem.message


@pytest.mark.parametrize("text", [None, b"now()", 1])
def test_a_reply_that_is_no_text_is_refused_in_one_line(text: Any) -> None:
    with pytest.raises(UsageError, match=f"a reply is text .*{type(text).__name__}"):
        parse(text, CATALOGUE)
    with pytest.raises(UsageError, match="a reply is text"):
        Parser(CATALOGUE).feed(text)


def test_a_servers_own_word_for_a_cut_is_not_taken_for_a_whole_reply() -> None:
    with pytest.raises(UsageError, match="finish_reason is one of stop, length"):
        parse(TAGGED, CATALOGUE, "max_tokens")  # type: ignore[arg-type] # what is tested
    with pytest.raises(UsageError, match="max_tokens"):
        Parser(CATALOGUE).close("max_tokens")  # type: ignore[arg-type] # what is tested


def test_a_parser_asks_for_a_catalogue() -> None:
    with pytest.raises(UsageError, match=r"Parser\(Catalogue\(tools\)\)"):
        Parser([{"name": "now"}])  # type: ignore[arg-type] # what is tested
