from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.catalogue import Catalogue
from fallback.dialects.record import FENCED, PROMPTED, PYTHONIC, Dialect
from fallback.messages import ToolCall
from fallback.parsing.whole import parse
from fallback.rendering import call_text
from fallback.rendering.opening import opening, opening_of_any
from fallback.templating import to_json
from fallback.tools import Tool

DIALECTS = pytest.mark.parametrize("dialect", PROMPTED.values(), ids=lambda d: d.name)
ANY: dict[str, Any] = {"type": "object"}
TOOLS = Catalogue([Tool(name="get_weather", parameters=ANY), Tool(name="geo.find", parameters=ANY)])


def test_a_named_tool_is_opened_up_to_its_arguments() -> None:
    assert opening(FENCED, "get_weather").prefill == (
        '```tool_call\n{"name": "get_weather", "arguments":'
    )
    assert opening(PYTHONIC, "get_weather").prefill == "```tool_code\nget_weather("


def test_any_tool_is_opened_up_to_its_name() -> None:
    assert opening(FENCED).prefill == '```tool_call\n{"name": "'
    assert opening(PYTHONIC).prefill == "```tool_code\n"


def test_the_block_of_any_call_is_opened_in_front_of_the_object() -> None:
    opened = opening_of_any(FENCED)
    assert (opened.prefill, opened.closing) == ("```tool_call\n", "\n```")
    assert opening_of_any(PYTHONIC).prefill == ""


@DIALECTS
@pytest.mark.parametrize("tool", [None, "get_weather", "geo.find"])
def test_every_call_begins_with_its_opening(dialect: Dialect, tool: str | None) -> None:
    call = ToolCall(id="", name=tool or "get_weather", arguments={"city": "Oslo"})
    assert call_text([call], dialect).startswith(opening(dialect, tool).prefill)


@given(st.dictionaries(st.text(max_size=8), st.text() | st.integers() | st.none(), max_size=4))
def test_opening_arguments_and_closing_make_a_clean_call(arguments: dict[str, Any]) -> None:
    opened = opening(FENCED, "get_weather")
    reading = parse(opened.prefill + to_json(arguments) + opened.closing, TOOLS)
    assert [(call.arguments, call.repairs) for call in reading.calls] == [(arguments, ())]
