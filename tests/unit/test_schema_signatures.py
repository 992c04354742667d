from __future__ import annotations

import json
from typing import Any

import pytest

from fallback.schema import signature
from fallback.tools import Tool


def written(schema: Any, description: str = "", name: str = "f") -> str:
    return signature(Tool(name=name, description=description, parameters=schema))


def type_of(schema: Any, **definitions: Any) -> str:
    """The type of one required argument ``x``."""
    text = written({"properties": {"x": schema}, "required": ["x"], "$defs": definitions})
    first = text.partition("\n")[0]
    assert first.startswith("f(x: ")
    return first[len("f(x: ") : -1]


def test_a_tool_is_one_line_and_what_is_worth_saying() -> None:
    text = written(
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "minLength": 1, "description": "Name of the place."},
                "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
                "unit": {"type": "string", "enum": ["c", "f"], "description": "scale"},
            },
            "required": ["city"],
        },
        "The weather.\n\nOf the coming days.",
        "get_weather",
    )
    assert text == (
        'get_weather(city: string, days?: integer = 3, unit?: "c" | "f")\n'
        "  The weather.\n"
        "  Of the coming days.\n"
        "  city: Name of the place. (not empty)\n"
        "  days: 1 to 7\n"
        "  unit: scale"
    )


def test_a_tool_without_parameters_or_description_is_short() -> None:
    assert written(None, name="Search the internet") == "Search the internet()"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "any"),
        (True, "any"),
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"type": ["null", "integer"]}, "integer | null"),
        ({"type": "string", "nullable": True}, "string | null"),
        ({"enum": ["a", 1, None, True]}, '"a" | 1 | null | true'),
        ({"const": "fixed"}, '"fixed"'),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "(string | null)[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"items": {"items": {"type": "number"}}}, "number[][]"),
        ({"items": {"properties": {"a": {"enum": ["|", " & "]}}}}, '{a?: "|" | " & "}[]'),
        ({"items": {"const": "a | b"}}, '"a | b"[]'),
        ({"prefixItems": [{"type": "number"}, {"type": "string"}]}, "[number, string]"),
        (
            {"prefixItems": [{"type": "number"}], "items": {"type": "string"}},
            "[number, ...string[]]",
        ),
        ({"type": "object"}, "object"),
        ({"type": "object", "additionalProperties": False}, "{}"),
        ({"additionalProperties": {"type": "integer"}}, "{[key: string]: integer}"),
        ({"patternProperties": {"^a": {"type": "integer"}}}, "{[key: string]: integer}"),
        (
            {"properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a"]},
            "{a: string, b?: number}",
        ),
        (
            {"properties": {"a": {}}, "additionalProperties": True},
            "{a?: any, [key: string]: any}",
        ),
        (
            {"properties": {"odd key": {}, "größe": {}, "a-b": {}}},
            '{"odd key"?: any, größe?: any, "a-b"?: any}',
        ),
        ({"type": "object", "required": ["a"]}, "{a: any}"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer | null"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, "integer | null"),
        ({"oneOf": [{"type": "string"}, {"type": "string"}]}, "string"),
        ({"anyOf": [{"type": "string"}, {}]}, "any"),
        ({"type": "string", "anyOf": [{"minLength": 1}, {"pattern": "a"}]}, "string"),
        ({"type": "object", "oneOf": [{"properties": {"a": {}}}]}, "{a?: any}"),
        (
            {
                "properties": {"k": {}},
                "anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}],
            },
            "{k?: any} & ({a?: any} | {b?: any})",
        ),
        (
            {"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]},
            "{a: any, b?: any}",
        ),
        ({"allOf": [{"type": ["string", "null"]}, {"type": "string"}]}, "string"),
        ({"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, '"b"'),
        ({"enum": ["日本", "größe"]}, '"日本" | "größe"'),
        ({"not": {}}, "any"),
        ({"allOf": [False]}, "never"),
        ({"allOf": [{"$ref": "#/$defs"}, {"$ref": "#/$defs"}]}, "any"),
    ],
)
def test_types_are_written_as_a_model_knows_them(schema: Any, text: str) -> None:
    assert type_of(schema) == text


def test_descriptions_inside_structures_keep_their_place() -> None:
    text = written(
        {
            "properties": {
                "edits": {
                    "type": "array",
                    "description": "what to\n  change",
                    "maxItems": 5,
                    "items": {
                        "properties": {"old": {"type": "string", "description": "text to find"}}
                    },
                },
                "labels": {"additionalProperties": {"type": "string", "maxLength": 9}},
                "limit": {
                    "anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}],
                    "description": "how many",
                },
            }
        }
    )
    assert text.splitlines()[1:] == [
        "  edits: what to change (at most 5 items)",
        "  edits[].old: text to find",
        "  labels.*: at most 9 characters",
        "  limit: how many (at least 0)",
    ]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"minimum": 1, "maximum": 7}, "1 to 7"),
        ({"minimum": 0.5}, "at least 0.5"),
        ({"maximum": 7}, "at most 7"),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, "more than 0, less than 1"),
        ({"multipleOf": 5}, "a multiple of 5"),
        ({"minLength": 1}, "not empty"),
        ({"minLength": 2, "maxLength": 9}, "2 to 9 characters"),
        ({"minLength": 2, "maxLength": 2}, "exactly 2 characters"),
        ({"minItems": 2}, "at least 2 items"),
        ({"maxProperties": 3}, "at most 3 members"),
        ({"uniqueItems": True}, "no item twice"),
        ({"pattern": "^[a-z]+$"}, "matches ^[a-z]+$"),
        ({"format": "date-time"}, "format date-time"),
        ({"examples": ["a", "b", "c"]}, 'such as "a", "b"'),
    ],
)
def test_bounds_are_said_in_words(schema: Any, words: str) -> None:
    assert written({"properties": {"x": schema}}).splitlines()[1:] == [f"  x: {words}"]


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "a" * 100},
        {"format": "int32"},
        {"examples": ["x" * 500]},
        {"minLength": 0},
        {"title": "A Title"},
        {"description": ""},
        {"default": "x" * 500},
        {"default": None},
    ],
)
def test_what_helps_nobody_is_not_said(schema: Any) -> None:
    assert written({"properties": {"x": schema}}) == "f(x?: any)"


def test_the_tightest_bound_of_several_counts() -> None:
    schema = {"allOf": [{"minimum": 1, "maximum": 9}, {"minimum": 3}], "maximum": 7}
    assert "x: 3 to 7" in written({"properties": {"x": schema}})


@pytest.mark.parametrize("value", [3, "c", True, [1, 2], {"a": "ü"}, 0.5])
def test_defaults_are_shown(value: Any) -> None:
    text = written({"properties": {"x": {"default": value}}})
    assert text == f"f(x?: any = {json.dumps(value, ensure_ascii=False)})"


def test_alternatives_at_the_top_become_signatures_of_their_own() -> None:
    text = written(
        {
            "type": "object",
            "properties": {"mode": {"type": "string"}, "note": {"type": "string"}},
            "required": ["mode"],
            "oneOf": [
                {
                    "properties": {"mode": {"const": "a"}, "id": {"type": "integer"}},
                    "required": ["id"],
                },
                {"$ref": "#/$defs/B"},
            ],
            "$defs": {"B": {"properties": {"mode": {"const": "b"}}}},
        },
        "Does it.",
    )
    assert text == (
        'f(mode: "a", note?: string, id: integer)\nf(mode: "b", note?: string)\n  Does it.'
    )


def test_many_or_several_alternatives_at_the_top_are_written_behind() -> None:
    many = [{"properties": {f"a{i}": {"type": "integer"}}} for i in range(9)]
    text = written({"properties": {"k": {}}, "anyOf": many})
    assert text.startswith("f(k?: any, ...({a0?: integer} | {a1?: integer} | ")
    assert text.count("f(") == 1
    two = written({"anyOf": many[:2], "oneOf": many[2:4]})
    assert two == "f(...({a0?: integer} | {a1?: integer}), ...({a2?: integer} | {a3?: integer}))"


def test_alternatives_of_what_is_required_are_said_in_words() -> None:
    text = written(
        {
            "properties": {"city": {}, "lat": {}, "lon": {}},
            "anyOf": [{"required": ["city"]}, {"required": ["lat", "lon"]}],
            "dependentRequired": {"lat": ["lon"]},
        }
    )
    assert text.splitlines() == [
        "f(city?: any, lat?: any, lon?: any)",
        "  needs city, or lat and lon",
        "  lat needs lon",
    ]


def test_text_from_outside_cannot_break_the_shape() -> None:
    text = written(
        {"properties": {"x": {"description": "a\nb\x00c\u2028d\te"}}},
        "One.\r\n\r\n\x1b[31mTwo\x07\u202e\n   \n\tThree   \n",
    )
    lines = text.splitlines()
    assert len(lines) == 5
    assert all(line.isprintable() for line in lines)
    assert lines[-1] == "  x: a b c d e"
    assert all(line.startswith("  ") for line in lines[1:])


def test_a_value_and_a_name_from_outside_cannot_break_the_shape() -> None:
    text = written({"properties": {"a\nb": {"enum": ["x\ny", "```"], "default": "p\nq"}}})
    assert len(text.splitlines()) == 1


def test_the_text_is_bounded_whatever_is_referred_to() -> None:
    body = {
        "properties": {f"q{i}": {"type": "string", "description": "d" * 50} for i in range(500)}
    }
    uses = {f"p{i}": {"allOf": [{"$ref": "#/$defs/B"}, {"minProperties": 1}]} for i in range(500)}
    schema = {"properties": uses, "$defs": {"B": body}}
    assert len(written(schema)) < 10 * len(json.dumps(schema))


def test_the_compact_form_takes_little_of_what_json_takes() -> None:
    # Characters stand in for tokens here; the benchmark counts tokens.
    tool = Tool(
        name="get_weather",
        description="The weather forecast of one place.",
        parameters={
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Name of the place."},
                "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city"],
        },
    )
    assert len(signature(tool)) < 0.4 * len(json.dumps(tool.to_dict(), indent=2))
