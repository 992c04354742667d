from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest

from fallback.errors import ConfigurationError, InvalidToolError
from fallback.schema import violations
from fallback.tools import ArgumentsError, Risk, Tool, check_name

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
INSIDE = {"name": "get_weather", "description": "Weather.", "parameters": CITY}


@pytest.mark.parametrize(
    "written",
    [
        {"type": "function", "function": INSIDE},
        INSIDE,
        {"type": "function", **INSIDE},
        {"function": INSIDE, "strict": True, "extra": object()},
        {"name": "get_weather", "description": "Weather.", "input_schema": CITY},
        {"name": "get_weather", "description": "Weather.", "inputSchema": CITY, "annotations": {}},
    ],
)
def test_every_form_of_dictionary_is_the_same_tool(written: dict[str, Any]) -> None:
    made = Tool.from_dict(written)
    assert (made.name, made.description, made.parameters) == ("get_weather", "Weather.", CITY)
    assert made.to_dict() == {"type": "function", "function": INSIDE}
    assert made.handler is None
    assert not made.hidden


@pytest.mark.parametrize("nothing", [None, "", [], {}, {"type": "object"}, {"properties": []}])
def test_missing_and_empty_parameters_mean_none(nothing: Any) -> None:
    for written in ({"name": "now", "parameters": nothing}, {"name": "now"}):
        made = Tool.from_dict(written)
        assert made.parameters == {"type": "object", "properties": {}}
        assert made.description == ""


def test_examples_are_taken_from_where_they_stand() -> None:
    written = {**INSIDE, "input_examples": [{"city": "Oslo"}, "odd"]}
    assert Tool.from_dict(written).examples == ({"city": "Oslo"},)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ({}, "has no name; it has the keys"),
        ({"type": "function", "function": {"description": "x"}}, 'the keys \\["description"\\]'),
        ({"type": "web_search"}, 'a tool of type "web_search" has no name'),
        ({"function": "get_weather"}, 'the "function" of a tool must be a dictionary, got str'),
        ({"name": ""}, 'a tool needs a name, got ""'),
        ({"name": 5}, "a tool needs a name, got 5"),
        ({"name": "f", "parameters": "str"}, "tool 'f': parameters must be a JSON Schema object"),
        ({"name": "f", "parameters": {"type": "string"}}, "tool 'f': parameters must be of type"),
        (
            {"name": "f", "parameters": {"properties": {"a": {"type": "datum"}}}},
            "tool 'f': .*properties.a.type",
        ),
        ({"name": "f", "description": ["x"]}, "tool 'f': its description is list, not text"),
        ({"name": "f", "description": "x" * 300_000}, "tool 'f': its description is too long"),
        ("get_weather", "a tool is a dictionary with a name, got str"),
    ],
)
def test_what_is_no_tool_is_refused_in_one_line(written: Any, why: str) -> None:
    with pytest.raises(InvalidToolError, match=why) as caught:
        Tool.from_dict(written)
    assert "\n" not in str(caught.value)


def test_the_dictionary_is_neither_changed_nor_shared() -> None:
    written = {"name": "f", "parameters": {"properties": {"a": {"type": "dict", "nullable": True}}}}
    before = copy.deepcopy(written)
    made = Tool.from_dict(written)
    assert written == before
    written["parameters"]["properties"]["a"]["type"] = "string"  # type: ignore[index] # a plain dict
    assert made.parameters["properties"]["a"] == {"type": ["object", "null"]}


@pytest.mark.parametrize(
    "name",
    [
        "get_weather",
        "get-weather",
        "Search the internet",
        "math.factorial",
        "mcp__github__search",
        "server/tool",
        "ns:tool",
        "größe",
        "日本語",
        "a",
        "7zip",
        "x" * 128,
    ],
)
def test_names_as_they_are_met_are_allowed(name: str) -> None:
    assert check_name(name) == name
    assert Tool(name=name).name == name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            " ",
            "\t",
            "a\nb",
            "a\tb",
            "a\x00b",
            "a`b",
            "a(b",
            "a[b]",
            "{a}",
            "<a>",
            'a"b',
            "a'b",
        ),
        *("a\u2028b", "a\u200bb", "a|b", "a=b", "a,b", "a\\b", " a", "a ", "...", "_", "x" * 129),
        *("\ud800", None, 3, ["a"]),
    ],
)
def test_names_that_could_break_a_prompt_are_refused(name: Any) -> None:
    with pytest.raises(InvalidToolError) as caught:
        check_name(name)
    assert str(caught.value).isprintable()
    with pytest.raises(InvalidToolError):
        Tool(name=name)


@pytest.mark.parametrize("given", [Risk.READ_ONLY, "read_only"])
def test_a_risk_may_be_written_as_text(given: Any) -> None:
    assert Tool(name="f", risk=given).risk is Risk.READ_ONLY


def test_an_unknown_risk_names_the_known_ones() -> None:
    with pytest.raises(InvalidToolError, match="no risk 'low'; use one of read_only, reversible_"):
        Tool(name="f", risk="low")  # type: ignore[arg-type] # what is being tested


def test_a_tool_cannot_be_changed_and_is_only_equal_to_itself() -> None:
    made = Tool(name="f")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "g"  # type: ignore[misc] # what is being tested
    assert made != Tool(name="f")
    assert len({made, made, Tool(name="f")}) == 2
    assert dataclasses.replace(made, hidden=True).hidden


def test_a_plain_schema_and_a_handler_make_a_tool() -> None:
    made = Tool(name="f", parameters=CITY, handler=lambda city: city.upper())
    assert made(**made.bind({"city": "Oslo"})) == "OSLO"


def test_a_tool_without_a_handler_cannot_be_called() -> None:
    with pytest.raises(ConfigurationError, match="tool 'f' has no handler"):
        Tool(name="f")()
    assert Tool(name="f").bind({"a": 1}) == {"a": 1}


def test_injected_parameters_leave_the_schema_of_a_dictionary() -> None:
    written = {
        "name": "posts",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "user_id": {"type": "integer"}},
            "required": ["query", "user_id"],
        },
    }
    made = Tool.from_dict(written, lambda query, user_id: (query, user_id), injected="user_id")
    assert made.parameters["properties"] == {"query": {"type": "string"}}
    assert made.parameters["required"] == ["query"]
    [found] = violations(made.compiled, {"query": "a", "user_id": 666})
    assert found.message == "unknown argument `user_id`; allowed: query"
    assert "666" not in repr(found)
    assert made(**made.bind({"query": "a"}, {"user_id": 7})) == ("a", 7)
    with pytest.raises(ConfigurationError, match="'user_id'"):
        made.bind({"query": "a"})


def test_injected_parameters_need_not_be_in_the_schema() -> None:
    made = Tool.from_dict(INSIDE, injected=["user_id"])
    assert violations(made.compiled, {"city": "Oslo", "user_id": 1})
    assert made.bind({"city": "Oslo"}, {"user_id": 1}) == {"city": "Oslo", "user_id": 1}


def test_a_handler_is_not_called_with_names_it_does_not_take() -> None:
    def handler(city: str, days: int) -> None: ...

    made = Tool.from_dict(INSIDE, handler)
    with pytest.raises(ArgumentsError, match=r"^unknown argument `town`$"):
        made.bind({"city": "Oslo", "days": 1, "town": "x"})
    with pytest.raises(ArgumentsError, match=r"^`days` is required$"):
        made.bind({"city": "Oslo"})
    assert made.bind({"city": "Oslo", "days": 1}) == {"city": "Oslo", "days": 1}


def test_a_handler_that_takes_anything_gets_anything() -> None:
    made = Tool.from_dict(INSIDE, lambda **given: given)
    assert made(**made.bind({"city": "Oslo", "from": 1})) == {"city": "Oslo", "from": 1}
    assert Tool.from_dict(INSIDE, dict).bind({"city": "Oslo"}) == {"city": "Oslo"}
