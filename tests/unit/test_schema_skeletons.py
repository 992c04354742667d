from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fallback.schema import skeleton, violations
from fallback.schema.formats import CHECKERS, EXAMPLES
from fallback.schema.samples import sample_number, sample_of_pattern, sample_text
from fallback.tools import Tool


def made(schema: Any, **more: Any) -> dict[str, Any]:
    tool = Tool(name="f", parameters=schema, **more)
    value = skeleton(tool)
    assert not violations(tool.compiled, value)
    return value


def one(schema: Any, name: str = "x") -> Any:
    """The value of one required argument."""
    return made({"properties": {name: schema}, "required": [name]})[name]


def test_only_what_is_required_is_shown() -> None:
    schema = {
        "properties": {"city": {"type": "string"}, "days": {"default": 3}},
        "required": ["city"],
    }
    assert made(schema) == {"city": "some city"}
    assert skeleton(Tool(name="f", parameters=schema), optional=True) == {
        "city": "some city",
        "days": 3,
    }


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "boolean"}, False),
        ({"type": "boolean", "default": True}, True),
        ({"type": "boolean", "const": True}, True),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1}, [1]),
        ({"type": "array", "items": {"type": "integer"}, "default": [7]}, [7]),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, True),
        ({"type": "integer"}, 1),
    ],
)
def test_what_may_be_left_out_is_shown_as_if_it_were(schema: dict[str, Any], value: Any) -> None:
    """A small model copies what it sees, so no flag is shown set and no filter applied."""
    tool = Tool(name="f", parameters={"properties": {"x": schema}})
    assert skeleton(tool, optional=True) == {"x": value}


def test_a_tool_without_parameters_has_an_empty_skeleton() -> None:
    assert made(None) == {}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "examples": ["Oslo"]}, "Oslo"),
        ({"type": "string", "examples": [3, "Oslo"]}, "Oslo"),
        ({"type": "string", "default": "Oslo"}, "Oslo"),
        ({"type": "string", "default": 3}, "some x"),
        ({"type": "string", "enum": ["LOW", "HIGH"]}, "LOW"),
        ({"enum": [None, "LOW"]}, "LOW"),
        ({"enum": [None]}, None),
        ({"const": "agent"}, "agent"),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "integer", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "multipleOf": 10, "minimum": 15}, 20),
        ({"type": "number"}, 1.5),
        ({"type": "number", "maximum": 1}, 1),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.1}, 0.05),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        (
            {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": True},
            ["a", "b"],
        ),
        ({"type": "array"}, []),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"const": "a"}]}, [1, "a"]),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 0}, []),
        ({"type": "object"}, {}),
        ({"type": "object", "minProperties": 1}, {"key1": "some key 1"}),
        (
            {"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}},
            {"key1": 1},
        ),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"type": "string", "format": "date"}, "2026-01-31"),
        ({"type": "string", "minLength": 12}, "some x text"[:11] + "t"),
        ({"type": "string", "maxLength": 4}, "text"),
        ({"type": "string", "maxLength": 2}, "te"),
        ({"type": "string", "pattern": r"^\d{4}-\d{2}$"}, "1111-11"),
        ({"allOf": [{"type": "integer"}, {"minimum": 4}]}, 4),
        ({}, "some x"),
    ],
)
def test_values_come_from_the_schema_first_and_are_valid(schema: Any, value: Any) -> None:
    result = one(schema)
    assert result == value
    assert type(result) is type(value)


def test_structures_show_their_form() -> None:
    edits = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"old": {"type": "string"}, "new": {"type": "string"}, "note": {}},
            "required": ["old", "new"],
        },
    }
    assert one(edits, "edits") == [{"old": "some old", "new": "some new"}]


def test_an_object_without_required_members_shows_one() -> None:
    inside = {"properties": {"name": {"type": "string"}, "email": {"type": "string"}}}
    assert one({"type": "object", **inside}) == {"name": "some name"}
    assert made(inside) == {}


def test_a_type_that_contains_itself_ends() -> None:
    node = {
        "properties": {
            "n": {"type": "integer"},
            "more": {"items": {"$ref": "#/$defs/N"}, "type": "array"},
        },
        "required": ["n", "more"],
    }
    value = made({"$ref": "#/$defs/N", "$defs": {"N": node}})
    assert value["n"] == 1
    assert len(json.dumps(value)) < 1000


def test_what_cannot_be_satisfied_gives_the_nearest_thing() -> None:
    endless = {"properties": {"n": {"$ref": "#"}, "x": {"type": "integer"}}, "required": ["n", "x"]}
    value = skeleton(Tool(name="f", parameters=endless))
    assert value["x"] == 1
    never = {
        "properties": {"x": {"type": "integer", "minimum": 5, "maximum": 3}},
        "required": ["x"],
    }
    assert set(skeleton(Tool(name="f", parameters=never))) == {"x"}


def test_alternatives_at_the_top_are_tried_until_one_fits() -> None:
    schema = {
        "properties": {"mode": {"type": "string"}},
        "required": ["mode"],
        "anyOf": [
            {"properties": {"mode": {"const": "a"}, "id": {"type": "integer"}}, "required": ["id"]},
            {"properties": {"mode": {"const": "b"}}},
        ],
    }
    assert made(schema) == {"mode": "a", "id": 1}


def test_a_condition_that_needs_more_gets_it() -> None:
    schema = {
        "properties": {"a": {"const": 1}, "b": {"type": "integer"}},
        "required": ["a"],
        "if": {"properties": {"a": {"const": 1}}},
        "then": {"required": ["b"]},
    }
    assert made(schema) == {"a": 1, "b": 1}


def test_the_tools_own_example_comes_first_if_it_is_valid() -> None:
    schema = {"properties": {"city": {"type": "string"}}, "required": ["city"]}
    good, bad = {"city": "Oslo"}, {"town": "Oslo"}
    assert made(schema, examples=(bad, good)) == good
    assert made(schema, examples=(bad,)) == {"city": "some city"}


def test_an_example_is_a_copy() -> None:
    tool = Tool(name="f", parameters={"properties": {"a": {}}}, examples=({"a": [1]},))
    skeleton(tool)["a"].append(2)
    assert skeleton(tool) == {"a": [1]}
    tool = Tool(name="f", parameters={"properties": {"a": {"default": [1]}}, "required": ["a"]})
    skeleton(tool)["a"].append(2)
    assert skeleton(tool) == {"a": [1]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("city", "some city"),
        ("search_query", "some search query"),
        ("userName", "some user name"),
        ("HTTPUrl", "some http url"),
        ("größe", "some größe"),
        ("a" * 60, "text"),
        ("__", "text"),
        ("<city>", "some city"),
    ],
)
def test_words_are_made_of_the_name_and_look_like_no_placeholder(name: str, text: str) -> None:
    made = sample_text(name, {})
    assert made == text or made.replace("ö", "").replace("ß", "")
    assert not re.search(r"[<>{}\[\]_]", made)


@pytest.mark.parametrize("form", sorted(EXAMPLES))
def test_every_example_of_a_format_passes_its_check(form: str) -> None:
    assert CHECKERS[form](EXAMPLES[form])
    assert sample_text("x", {"format": form}) == EXAMPLES[form]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(on|off)$", "on"),
        (r"^[A-Z]{2}\d+$", "AA1"),
        (r"^#[0-9a-f]{6}$", "#aaaaaa"),
        (r"^\+?[1-9][0-9]{3,}$", "1111"),
        (r"^(?:a|b)*c+?x?$", "c"),
        (r"^[^/]+/[^/]+$", "a/a"),
        (r"^\w+@\w+\.\w{2,4}$", "a@a.aa"),
        (r"[\]x]", "x"),
        ("[]a]", "a"),
        ("[q]", "q"),
        (r"a\tb\b", "a\tb"),
        ("", ""),
    ],
)
def test_text_is_made_for_simple_patterns(pattern: str, text: str) -> None:
    assert sample_of_pattern(pattern) == text
    assert re.search(pattern, text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(" * 30 + "a" + ")" * 30,
        "a{900}b{900}",
        r"[^\s\S]",
        "(a",
        "(?=a)b",
        r"(a)\1",
        "a{5000}",
        "(",
        "a)",
        "[a",
        "*",
        "[[:alpha:]]",
        r"\p{L}",
        "a" * 300,
        "[z-a]",
        "\\",
    ],
)
def test_patterns_that_are_not_simple_are_left_alone(pattern: str) -> None:
    assert sample_of_pattern(pattern) is None


def test_numbers_stay_within_their_bounds() -> None:
    assert sample_number("number", {"minimum": 2.5}) == 2.5
    assert sample_number("integer", {"exclusiveMaximum": 1}) == 0
    assert sample_number("number", {"exclusiveMaximum": 1, "exclusiveMinimum": 0.5}) == 0.75
    assert sample_number("integer", {"multipleOf": 0.5}) == 1
    assert sample_number("integer", {"multipleOf": 2, "maximum": 1}) == 0
    assert sample_number("number", {"multipleOf": 0.5}) == 1.5
    assert sample_number("number", {"exclusiveMinimum": 1.5}) == 2.5
    assert sample_number("number", {"exclusiveMaximum": -1.5}) == -2.5
    assert sample_number("number", {"minimum": 5, "maximum": 3}) == 1.5
    assert sample_number("integer", {"minimum": 10**400}) == 10**400


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "required": ["z"]}, {"z": "some z"}),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}}, "minProperties": 1},
            {"a": 1},
        ),
        (
            {"type": "object", "properties": {"a": {}}, "minProperties": 1, "required": ["z"]},
            {"z": "some z"},
        ),
        ({"type": "array", "uniqueItems": True, "minItems": 2}, ["x 1", "x 2"]),
        (
            {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 2},
            [1, 2],
        ),
        ({"type": "array", "minItems": 1}, ["x"]),
    ],
)
def test_members_and_items_are_made_up_where_their_number_asks_for_it(
    schema: Any, value: Any
) -> None:
    assert one(schema) == value


def test_a_schema_with_endless_alternatives_gives_up() -> None:
    groups = {"allOf": [{"anyOf": [{"minimum": i}, {"maximum": i}]} for i in range(40)]}
    tool = Tool(name="f", parameters={"properties": {"x": groups}, "required": ["x"]})
    assert "x" in skeleton(tool)
