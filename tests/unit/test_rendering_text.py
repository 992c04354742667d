from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fallback.catalogue import Catalogue
from fallback.dialects.names import READ
from fallback.dialects.record import PROMPTED, Dialect
from fallback.messages import Message, Problem, ToolCall, ToolResult
from fallback.parsing import parse
from fallback.rendering import (
    call_text,
    correction_text,
    prompt_messages,
    result_text,
    system_text,
)
from fallback.tools import Tool

WEATHER = {
    "name": "get_weather",
    "description": "Current weather in a city.",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "the city"},
            "unit": {"enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city"],
    },
}
SEARCH = {
    "name": "geo.search",
    "description": "Find places.",
    "parameters": {
        "type": "object",
        "properties": {"q": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["q", "limit"],
    },
}
TOOLS = Catalogue([Tool.from_dict(WEATHER), Tool.from_dict(SEARCH)])
DIALECTS = pytest.mark.parametrize("dialect", PROMPTED.values(), ids=PROMPTED)
FENCED, PYTHONIC, HERMES = (PROMPTED[name] for name in ("fenced", "pythonic", "hermes"))
IN_FENCES = pytest.mark.parametrize("dialect", [FENCED, PYTHONIC], ids=["fenced", "pythonic"])


def blocks(text: str, dialect: Dialect) -> list[str]:
    """The blocks of calls that stand in a text, or the lines where a dialect has no blocks."""
    if dialect.inline:
        return re.findall(r"^\[.* →$", text, re.MULTILINE)
    opened, closed = ("<tool_call>\n", "\n</tool_call>")
    if dialect != HERMES:
        opened, closed = f"```{dialect.fence}\n", "\n```"
    return [opened + part.split(closed, 1)[0] + closed for part in text.split(opened)[1:]]


@DIALECTS
def test_the_example_in_the_prompt_is_a_valid_call_of_a_real_tool(dialect: Dialect) -> None:
    prompt = system_text(TOOLS, dialect)
    examples = blocks(prompt, dialect)
    assert len(examples) == 1
    reading = parse(examples[0], TOOLS, dialects=READ)
    assert reading.problems == ()
    assert [call.name for call in reading.calls] == ["get_weather"]
    assert reading.calls[0].repairs == ()


@DIALECTS
def test_without_the_worked_example_the_prompt_shows_only_the_form(dialect: Dialect) -> None:
    prompt = system_text(TOOLS, replace(dialect, example=False))
    (form,) = blocks(prompt, dialect)
    assert "NAME" in form
    assert "VALUE" in form
    assert "get_weather" not in form
    assert parse(form, TOOLS, dialects=READ).calls == ()
    assert "get_weather" in prompt  # the tools themselves are described as ever


@DIALECTS
def test_the_prompt_shows_every_tool_and_the_rules(dialect: Dialect) -> None:
    prompt = system_text(TOOLS, dialect)
    for said in (
        "get_weather",
        "geo.search",
        "the city",
        dialect.fence,
        "stop",
        "never write a",
    ):
        assert said in prompt or said.capitalize() in prompt


@DIALECTS
def test_without_a_choice_there_is_no_catalogue_at_all(dialect: Dialect) -> None:
    assert system_text(TOOLS, dialect, tool_choice="none") == ""
    assert system_text(TOOLS, dialect, tool_choice="none", instructions=" Hi. ") == "Hi."
    assert system_text(Catalogue(), dialect, instructions="Hi.") == "Hi."


@DIALECTS
def test_a_named_tool_is_the_only_one_shown(dialect: Dialect) -> None:
    prompt = system_text(TOOLS, dialect, tool_choice="geo.search")
    assert "get_weather" not in prompt
    assert "Begin with a call of geo.search" in prompt
    (example,) = parse(blocks(prompt, dialect)[0], TOOLS, dialects=READ).calls
    assert example.name == "geo.search"


@DIALECTS
def test_a_required_call_is_asked_for(dialect: Dialect) -> None:
    assert "Begin with a call" in system_text(TOOLS, dialect, tool_choice="required")
    assert "Begin with a call" not in system_text(TOOLS, dialect)


@DIALECTS
def test_several_calls_per_reply_can_be_forbidden(dialect: Dialect) -> None:
    assert "one call at a time" in system_text(TOOLS, dialect, parallel=False)
    assert "one call at a time" not in system_text(TOOLS, dialect)


def test_a_fenced_call_is_one_json_object_per_line() -> None:
    calls = [
        ToolCall(id="1", name="get_weather", arguments={"city": "Zürich", "alt": "<b>"}),
        ToolCall(id="2", name="geo.search", arguments={}),
    ]
    assert call_text(calls, FENCED) == (
        "```tool_call\n"
        '{"name": "get_weather", "arguments": {"city": "Zürich", "alt": "<b>"}}\n'
        '{"name": "geo.search", "arguments": {}}\n'
        "```"
    )


def test_a_pythonic_call_is_one_expression_per_line() -> None:
    calls = [
        ToolCall(id="1", name="get_weather", arguments={"city": "Zürich", "ok": True}),
        ToolCall(id="2", name="geo.search", arguments={"a-b": None}),
    ]
    assert call_text(calls, PYTHONIC) == (
        '```tool_code\nget_weather(city="Zürich", ok=True)\ngeo.search(**{"a-b": None})\n```'
    )


def test_a_tagged_call_is_one_json_object_in_its_own_tags() -> None:
    calls = [
        ToolCall(id="1", name="get_weather", arguments={"city": "</tool_call>"}),
        ToolCall(id="2", name="geo.search", arguments={}),
    ]
    assert call_text(calls, HERMES) == (
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "</tool_call>"}}\n'
        "</tool_call>\n"
        '<tool_call>\n{"name": "geo.search", "arguments": {}}\n</tool_call>'
    )


@IN_FENCES
def test_fences_grow_over_the_back_ticks_in_arguments(dialect: Dialect) -> None:
    call = ToolCall(id="1", name="get_weather", arguments={"city": "a ```` b"})
    text = call_text([call], dialect)
    assert text.startswith("`````tool_c")
    assert text.endswith("\n`````")


@DIALECTS
def test_no_calls_are_no_text(dialect: Dialect) -> None:
    assert call_text([], dialect) == ""


def test_a_tagged_result_stands_between_the_tags_that_models_know() -> None:
    good = ToolResult(call_id="call_1_0", name="get_weather", content="4 °C")
    assert result_text(good, HERMES) == (
        "<tool_response>\nget_weather call_1_0\n4 °C\n</tool_response>"
    )
    bad = ToolResult(call_id="c", name="f", status="error", content="</tool_response> Error: no")
    assert result_text(bad, HERMES) == (
        "<tool_response>\nf c error\n‹/tool_response> Error: no\n</tool_response>"
    )


@IN_FENCES
def test_a_result_names_its_call_and_how_it_went(dialect: Dialect) -> None:
    good = ToolResult(call_id="call_1_0", name="get_weather", content="4 °C")
    assert result_text(good, dialect) == "```tool_result get_weather call_1_0\n4 °C\n```"
    bad = ToolResult(call_id="c", name="f", status="error", content="Error: no")
    assert result_text(bad, dialect) == "```tool_result f c error\nError: no\n```"


@DIALECTS
def test_a_correction_shows_the_mistake_the_reason_and_the_right_form(dialect: Dialect) -> None:
    problem = Problem(
        kind="invalid_arguments",
        message="`geo.search`: expected integer, got string at `$.limit`",
        tool="geo.search",
        text='geo.search(q="x", limit="many")',
    )
    text = correction_text([problem], TOOLS, dialect)
    assert '> geo.search(q="x", limit="many")' in text
    assert problem.message in text
    example = parse(blocks(text, dialect)[0], TOOLS, dialects=READ)
    assert [c.name for c in example.calls] == ["geo.search"]
    assert example.problems == ()


def test_a_native_correction_teaches_no_block() -> None:
    problem = Problem(kind="invalid_arguments", message="wrong", tool="geo.search", text="{}")
    text = correction_text([problem], TOOLS, None)
    assert "```" not in text
    assert '{"q": ' in text


@DIALECTS
def test_a_correction_of_an_unknown_tool_has_no_example(dialect: Dialect) -> None:
    problem = Problem(kind="unknown_tool", message="There is no tool `x`.")
    text = correction_text([problem], TOOLS, dialect)
    assert problem.message in text
    assert blocks(text, dialect) == []


@DIALECTS
def test_a_missing_call_is_asked_for_without_a_way_out(dialect: Dialect) -> None:
    problem = Problem(kind="required_call_missing", message="A tool call is required here.")
    text = correction_text([problem], TOOLS, dialect)
    assert "plain answer" not in text


@IN_FENCES
def test_the_rendered_conversation_has_the_call_and_its_result(dialect: Dialect) -> None:
    call = ToolCall(id="c1", name="get_weather", arguments={"city": "Oslo"})
    result = ToolResult(call_id="c1", name="get_weather", content="4 °C")
    shown = prompt_messages(
        [
            Message(role="system", content="Be brief."),
            Message(role="user", content="  indented"),
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content="4 °C", result=result),
            Message(role="user", content="And now?", images=("aW1n",)),
        ],
        TOOLS,
        dialect,
        instructions="You are kind.",
    )
    assert [m.role for m in shown] == ["system", "user", "assistant", "user"]
    assert shown[0].content.endswith("You are kind.\n\nBe brief.")
    assert shown[1].content == "  indented"
    assert shown[2].content == call_text([call], dialect)
    # Asked again, a small model answers; without it, it repeats its call.
    again = "That is the result. If it is enough, tell me in a sentence: indented"
    assert shown[3].content == f"{result_text(result, dialect)}\n\n{again}\n\nAnd now?"
    assert shown[3].images == ("aW1n",)


@IN_FENCES
def test_behind_the_results_of_one_reply_the_question_is_asked_once(dialect: Dialect) -> None:
    calls = tuple(
        ToolCall(id=f"c{city}", name="get_weather", arguments={"city": city})
        for city in ("Oslo", "Rome", "Bonn")
    )
    results = [ToolResult(call_id=c.id, name=c.name, content=f"of {c.id}") for c in calls]
    results[2] = replace(results[2], status="error")
    told = [Message(role="tool", content=r.content, result=r) for r in results]
    question = Message(role="user", content="Weather?")
    *_, last = prompt_messages(
        [question, Message(role="assistant", tool_calls=calls), *told], TOOLS, dialect
    )
    again = "That is the result. If it is enough, tell me in a sentence: Weather?"
    first, second, failed = (result_text(result, dialect) for result in results)
    assert last.content == f"{first}\n\n{second}\n\n{again}\n\n{failed}"


def test_what_holds_no_question_is_not_asked_again() -> None:
    call = ToolCall(id="c1", name="get_weather", arguments={"city": "Oslo"})
    shown = prompt_messages(
        [
            Message(role="user", content="noise: Weather?"),
            Message(role="user", content="noise:"),
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content="4 °C"),
        ],
        TOOLS,
        FENCED,
        asked=lambda text: text.removeprefix("noise:").strip(),
    )
    assert shown[-1].content.endswith("tell me in a sentence: Weather?")


@DIALECTS
def test_a_later_system_message_stays_where_it_stands(dialect: Dialect) -> None:
    shown = prompt_messages(
        [
            Message(role="user", content="Hi"),
            Message(role="assistant", content="Hello."),
            Message(role="system", content="Be brief."),
            Message(role="user", content="Why?"),
        ],
        TOOLS,
        dialect,
    )
    assert "Be brief." not in shown[0].content
    assert shown[3].content == "Be brief.\n\nWhy?"


@IN_FENCES
def test_a_result_that_came_without_its_call_is_still_a_result(dialect: Dialect) -> None:
    shown = prompt_messages([Message(role="tool", content="4 °C")], TOOLS, dialect)
    empty = ToolResult(call_id="", name="", content="4 °C")
    assert shown[1].content.startswith(result_text(empty, dialect))


@DIALECTS
def test_an_empty_conversation_is_the_system_prompt_alone(dialect: Dialect) -> None:
    assert [m.role for m in prompt_messages([], TOOLS, dialect)] == ["system"]
    assert prompt_messages([], Catalogue(), dialect) == ()
