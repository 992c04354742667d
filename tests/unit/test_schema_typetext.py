from __future__ import annotations

from typing import Any

from fallback.schema import signature
from fallback.tools import Tool


def written(schema: Any) -> str:
    return signature(Tool(name="f", parameters=schema))


def type_of(schema: Any, **definitions: Any) -> str:
    """The type of one required argument ``x``."""
    text = written({"properties": {"x": schema}, "required": ["x"], "$defs": definitions})
    return text.partition("\n")[0].removeprefix("f(x: ").removesuffix(")")


def test_a_reference_is_shown_as_what_it_means() -> None:
    point = {"properties": {"x": {"type": "number"}}, "required": ["x"]}
    assert type_of({"$ref": "#/$defs/P"}, P=point) == "{x: number}"
    assert (
        type_of({"anyOf": [{"$ref": "#/$defs/P"}, {"type": "null"}]}, P=point)
        == "{x: number} | null"
    )
    assert type_of({"allOf": [{"$ref": "#/$defs/P"}], "description": "d"}, P=point) == "{x: number}"


def test_a_type_that_contains_itself_is_shown_by_name() -> None:
    node = {
        "type": "object",
        "properties": {
            "value": {"type": "string", "description": "what it says"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        },
        "required": ["value"],
    }
    assert written({"properties": {"tree": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}) == (
        "f(tree?: Node)\n"
        "  Node.value: what it says\n"
        "  where Node = {value: string, children?: Node[]}"
    )


def test_a_type_that_is_used_twice_is_written_once() -> None:
    point = {"type": "object", "description": "A point.", "properties": {"x": {"type": "number"}}}
    text = written(
        {
            "properties": {
                "a": {"$ref": "#/$defs/P"},
                "b": {"$ref": "#/$defs/P", "description": "the other end"},
                "c": {"type": "array", "items": {"$ref": "#/$defs/P"}},
            },
            "$defs": {"P": point},
        }
    )
    assert text == (
        "f(a?: P, b?: P, c?: P[])\n  b: the other end\n  P: A point.\n  where P = {x?: number}"
    )


def test_two_types_of_one_name_stay_two() -> None:
    shape = {"properties": {"x": {"type": "number"}}}
    other = {"properties": {"y": {"type": "number"}}}
    text = written(
        {
            "properties": {
                "a": {"$ref": "#/$defs/T"},
                "b": {"$ref": "#/$defs/T"},
                "c": {"$ref": "#/definitions/T"},
                "d": {"$ref": "#/definitions/T"},
            },
            "$defs": {"T": shape},
            "definitions": {"T": other},
        }
    )
    assert text.startswith("f(a?: T, b?: T, c?: T2, d?: T2)")
    assert "where T = {x?: number}" in text
    assert "where T2 = {y?: number}" in text


def test_arguments_that_contain_themselves_are_shown() -> None:
    text = written({"properties": {"n": {"type": "integer"}, "more": {"$ref": "#"}}})
    assert (
        text
        == "f(n?: integer, more?: Arguments)\n  where Arguments = {n?: integer, more?: Arguments}"
    )


def test_types_inside_types_end_somewhere() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        schema = {"type": "object", "properties": {"a": schema}}
    text = written({"properties": {"x": schema}})
    assert text.count("{a?: ") == 24
    assert "object" in text


def test_odd_corners_of_a_schema_are_shown_or_left_out() -> None:
    schema = {
        "properties": {"a": {"type": "string"}, "b": False, "c": {"allOf": [True, {"const": 1}]}},
        "required": ["a", "z"],
        "dependentRequired": {"a": []},
        "anyOf": [{"required": ["a"]}, {}],
    }
    assert written(schema) == "f(a: string, c?: 1, z: any)"


def test_a_small_type_is_repeated_and_a_large_choice_is_named() -> None:
    uses = {"a": {"$ref": "#/$defs/E"}, "b": {"$ref": "#/$defs/E"}}
    small = {"properties": uses, "$defs": {"E": {"enum": ["x", "y"]}}}
    assert written(small) == 'f(a?: "x" | "y", b?: "x" | "y")'
    large = {"properties": uses, "$defs": {"E": {"enum": list(range(9))}}}
    assert written(large).startswith("f(a?: E, b?: E)\n  where E = 0 | 1 | 2")
    nothing = {"properties": uses, "$defs": {"E": True}}
    assert written(nothing) == "f(a?: any, b?: any)"


def test_a_named_type_with_more_said_of_it_is_written_out() -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}}}
    text = written(
        {
            "properties": {
                "a": {"$ref": "#/$defs/P"},
                "b": {"$ref": "#/$defs/P", "required": ["x"]},
            },
            "$defs": {"P": point},
        }
    )
    assert text == "f(a?: P, b?: {x: number})\n  where P = {x?: number}"


def test_types_between_two_loops_keep_their_names() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {
            "A": {"properties": {"a": {"$ref": "#/$defs/A"}, "m": {"$ref": "#/$defs/M"}}},
            "M": {"properties": {"b": {"$ref": "#/$defs/B"}, "l": {"$ref": "#/$defs/L"}}},
            "B": {"properties": {"b": {"$ref": "#/$defs/B"}}},
            "L": {"properties": {"n": {"type": "integer"}}},
        },
    }
    assert written(schema).splitlines() == [
        "f(a?: A)",
        "  where A = {a?: A, m?: M}",
        "  where M = {b?: B, l?: {n?: integer}}",
        "  where B = {b?: B}",
    ]
