"""The laws that keep the prompt and the parser together."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fallback.catalogue import Catalogue
from fallback.dialects.names import READ
from fallback.dialects.record import PROMPTED, Dialect
from fallback.messages import Message, Reading, Role, ToolCall, ToolResult
from fallback.parsing import parse
from fallback.rendering import call_text, prompt_messages, result_text, system_text
from fallback.tools import Tool

ANYTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}
NAMES = ("get_weather", "geo.search", "read-file", "Größe", "f")
CATALOGUE = Catalogue(
    [
        Tool.from_dict({"name": name, "description": f"Does {name}.", "parameters": ANYTHING})
        for name in NAMES
    ]
)

# Pieces on which a reader may trip: ends of fences, tags and strings, protocol words, templates.
TRICKY = st.sampled_from(
    [
        "```",
        "````",
        "\n```\n",
        "\n```tool_call\n",
        "```tool_result\n",
        "~~~",
        "<tool_call>",
        "</tool_call>",
        "</tool_response>",
        "<think>",
        "</think>",
        "[TOOL_CALLS]",
        "<|im_end|>",
        '{"name": "get_weather", "arguments": {"city": "Oslo"}}',
        'get_weather(city="Oslo")',
        "{{ x }}",
        "{% raw %}",
        '"',
        "'",
        "\\",
        "\\n",
        "\n",
        "\r\n",
        "\t",
        "\u2028",
        "\x00",
        "\ud83d",
        "}",
        ")",
        "]]",
        ">",
        "> ",
        "    ",
        "`",
        "名前",
        "😀",
    ]
)
TEXT = st.lists(TRICKY | st.text(max_size=8), max_size=8).map("".join)
# Half a surrogate pair is no text that could be stored or sent; validation refuses it by name.
SENDABLE = TEXT.map(lambda text: text.replace("\ud83d", "😀"))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**30, max_value=10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | SENDABLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SENDABLE, inner, max_size=4),
    max_leaves=12,
)
CALLS = st.lists(
    st.builds(
        lambda name, arguments: ToolCall(id="", name=name, arguments=arguments),
        st.sampled_from(NAMES),
        st.dictionaries(SENDABLE, JSON, max_size=4),
    ),
    min_size=1,
    max_size=4,
)
DIALECTS = pytest.mark.parametrize("dialect", PROMPTED.values(), ids=PROMPTED)


def said(reading: Reading) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in reading.calls]


@DIALECTS
@given(calls=CALLS)
def test_calls_that_are_rendered_are_read_as_the_same_calls(
    dialect: Dialect, calls: list[ToolCall]
) -> None:
    reading = parse(call_text(calls, dialect), CATALOGUE, dialects=READ)
    assert said(reading) == [(call.name, call.arguments) for call in calls]
    assert [call.repairs for call in reading.calls] == [()] * len(calls)
    assert reading.problems == ()
    assert reading.text.strip() == ""


@DIALECTS
@given(calls=CALLS, before=st.sampled_from(["", "Let me look.", "Zuerst das Wetter:"]))
def test_calls_after_prose_are_read_and_the_prose_is_kept(
    dialect: Dialect, calls: list[ToolCall], before: str
) -> None:
    reading = parse(f"{before}\n\n{call_text(calls, dialect)}", CATALOGUE, dialects=READ)
    assert len(reading.calls) == len(calls)
    assert reading.text.strip() == before


@DIALECTS
@given(content=TEXT, name=TEXT, call_id=TEXT)
def test_no_result_can_forge_a_call(
    dialect: Dialect, content: str, name: str, call_id: str
) -> None:
    result = ToolResult(call_id=call_id, name=name, content=content)
    # In running text it stands behind the arrow of its call, where nothing more is read.
    before = "It is [f() → " if dialect.inline else ""
    reading = parse(before + result_text(result, dialect), CATALOGUE, dialects=READ)
    assert said(reading) == ([("f", {})] if before else [])


IN_FENCES = pytest.mark.parametrize(
    "dialect", [PROMPTED["fenced"], PROMPTED["pythonic"]], ids=["fenced", "pythonic"]
)


@given(content=TEXT)
def test_a_tagged_result_ends_where_its_tag_ends(content: str) -> None:
    result = ToolResult(call_id="c1", name="f", content=content)
    text = result_text(result, PROMPTED["hermes"])
    assert text.startswith("<tool_response>\nf c1\n")
    assert text.endswith("</tool_response>")
    assert text.count("</tool_response>") == text.count("<tool_response>") == 1


@IN_FENCES
@given(content=TEXT)
def test_a_result_ends_where_its_block_ends(dialect: Dialect, content: str) -> None:
    text = result_text(ToolResult(call_id="c1", name="f", content=content), dialect)
    lines = text.split("\n")
    fence = lines[-1]
    assert set(fence) == {"`"}
    assert lines[0] == f"{fence}tool_result f c1"
    assert not any(fence in line for line in lines[1:-1])


@DIALECTS
@given(before=TEXT, content=TEXT, after=TEXT)
def test_text_of_users_and_tools_is_never_rendered_as_a_template(
    dialect: Dialect, before: str, content: str, after: str
) -> None:
    template = before + "{{ 7 * 6 }}{% if x %}" + after
    messages = [
        Message(role="user", content=template),
        Message(role="tool", result=ToolResult(call_id="c", name="f", content=content + "{{ y }}")),
    ]
    shown = prompt_messages(messages, CATALOGUE, dialect, instructions="{{ z }}")
    assert template in shown[1].content
    # In running text the brackets of what might be a call are others.
    assert "{{ y }}" in shown[1].content.replace("‹", "{").replace("›", "}")
    assert shown[0].content.endswith("{{ z }}")


ROLES: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant", "tool", "system"])


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages = []
    for role in draw(st.lists(ROLES, max_size=12)):
        text = draw(st.sampled_from(["", "  ", "Hello.", "{{ x }}\n", "```tool_call\n{}\n```"]))
        if role == "tool":
            result = ToolResult(call_id="c", name="f", content=text)
            messages.append(Message(role="tool", content=text, result=result))
        elif role == "assistant":
            calls = tuple(draw(st.lists(CALLS.map(lambda c: c[0]), max_size=2)))
            messages.append(Message(role="assistant", content=text, tool_calls=calls))
        else:
            images = ("aW1n",) if role == "user" and draw(st.booleans()) else ()
            messages.append(Message(role=role, content=text, images=images))
    return messages


@DIALECTS
@given(messages=conversations())
def test_roles_take_turns_and_nothing_is_empty(dialect: Dialect, messages: list[Message]) -> None:
    shown = prompt_messages(messages, CATALOGUE, dialect)
    assert shown[0].role == "system"
    assert all(m.role in ("user", "assistant") for m in shown[1:])
    assert all(a.role != b.role for a, b in pairwise(shown))
    assert all(m.content.strip() or m.images for m in shown)
    assert all(m.tool_calls == () and m.result is None for m in shown)
    assert sum(len(m.images) for m in shown) == sum(len(m.images) for m in messages)


@DIALECTS
@given(messages=conversations(), more=conversations())
def test_what_was_sent_is_sent_again_in_front_of_what_is_new(
    dialect: Dialect, messages: list[Message], more: list[Message]
) -> None:
    # The results of one reply come together, before anything is asked.
    assume(not (messages and more and messages[-1].role == more[0].role == "tool"))
    first = Message(role="user", content="Hello.")
    before = prompt_messages([first, *messages], CATALOGUE, dialect)
    after = prompt_messages([first, *messages, *more], CATALOGUE, dialect)
    assert after[: len(before) - 1] == before[:-1]
    assert after[len(before) - 1].role == before[-1].role
    assert after[len(before) - 1].content.startswith(before[-1].content)


@DIALECTS
def test_the_prompt_is_the_same_bytes_every_time(dialect: Dialect) -> None:
    first, second = (system_text(CATALOGUE, dialect, instructions="Be brief.") for _ in range(2))
    assert first == second
    assert first.endswith("\n\nBe brief.")
