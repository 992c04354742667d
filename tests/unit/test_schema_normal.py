from __future__ import annotations

import enum
from typing import Any

import pytest

from fallback.errors import InvalidToolError
from fallback.limits import Limits
from fallback.schema import CompiledSchema, normalise, violations
from fallback.schema.normal import follow, modernise

EMPTY = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "nothing",
    [
        None,
        "",
        [],
        {},
        (),
        {"type": "object"},
        {"type": "object", "properties": []},
        {"type": "object", "properties": None},
        {"type": "object", "properties": {}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Arguments"},
    ],
)
def test_every_way_to_say_no_parameters_is_the_same_schema(nothing: Any) -> None:
    assert normalise(nothing) == EMPTY


@pytest.mark.parametrize("odd", [5, "string", True, ["city"], 1.5])
def test_parameters_that_are_no_schema_are_refused(odd: Any) -> None:
    with pytest.raises(InvalidToolError, match="parameters must be a JSON Schema object, got"):
        normalise(odd)


@pytest.mark.parametrize("kind", ["string", "array", ["array", "null"]])
def test_parameters_of_another_type_are_refused(kind: Any) -> None:
    with pytest.raises(InvalidToolError, match="must be of type object"):
        normalise({"type": kind})


def test_a_bare_map_of_properties_is_refused_with_the_right_form() -> None:
    with pytest.raises(InvalidToolError, match=r'such as \{"type": "object"'):
        normalise({"city": {"type": "string"}})


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("dict", "object"),
        ("float", "number"),
        ("tuple", "array"),
        ("list", "array"),
        ("int", "integer"),
        ("str", "string"),
        ("bool", "boolean"),
        ("STRING", "string"),
        ("Number", "number"),
        ("none", "null"),
        (["int", "None"], ["integer", "null"]),
        (["string", None], ["string", "null"]),
        (["string", "str"], "string"),
    ],
)
def test_type_names_of_other_languages_are_understood(written: Any, meant: Any) -> None:
    schema = normalise({"type": "dict", "properties": {"a": {"type": written}}})
    assert schema == {"type": "object", "properties": {"a": {"type": meant}}}


@pytest.mark.parametrize("written", ["any", "Any", ["string", "any"]])
def test_any_type_is_no_restriction(written: Any) -> None:
    assert modernise({"type": written, "description": "x"}) == {"description": "x"}


def test_a_property_called_type_is_a_property() -> None:
    schema = {
        "type": "object",
        "properties": {"type": {"type": "str"}, "required": {"type": "int"}},
    }
    assert normalise(schema)["properties"] == {
        "type": {"type": "string"},
        "required": {"type": "integer"},
    }


def test_data_is_never_taken_for_a_schema() -> None:
    data = {"type": "dict", "nullable": True, "description": None}
    schema = {
        "type": "object",
        "properties": {"a": {"default": data, "enum": [data], "const": data}},
    }
    assert normalise(schema)["properties"]["a"] == {"default": data, "enum": [data], "const": data}


@pytest.mark.parametrize(
    ("written", "accepted", "refused"),
    [
        ({"type": "string", "nullable": True}, [None, "x"], [3]),
        ({"type": "string", "enum": ["a"], "nullable": True}, [None, "a"], ["b"]),
        ({"const": 1, "nullable": True}, [None, 1], [2]),
        ({"$ref": "#/$defs/City", "nullable": True}, [None, "x"], [3]),
        ({"allOf": [{"$ref": "#/$defs/City"}], "nullable": True}, [None, "x"], [3]),
        ({"type": "string", "nullable": False}, ["x"], [None]),
        ({"nullable": True}, [None, 3], []),
        ({"minimum": 0, "exclusiveMinimum": True}, [1], [0]),
        ({"minimum": 0, "exclusiveMinimum": False}, [0], [-1]),
        ({"maximum": 9, "exclusiveMaximum": True}, [8], [9]),
        ({"exclusiveMinimum": 0}, [1], [0]),
        ({"items": [{"type": "int"}, {"type": "str"}]}, [[1, "a"], [1]], [["a"]]),
        ({"items": [{"type": "int"}], "additionalItems": False}, [[1]], [[1, 2]]),
        ({"items": []}, [[1, 2]], []),
        ({"dependencies": {"a": ["b"]}}, [{}, {"a": 1, "b": 1}], [{"a": 1}]),
        ({"dependencies": {"a": {"required": ["b"]}}}, [{}, {"a": 1, "b": 1}], [{"a": 1}]),
        ({"type": "object", "properties": {"a": {"required": True}}}, [{"a": 1}], [{}]),
    ],
)
def test_older_and_other_forms_keep_their_meaning(
    written: Any, accepted: list[Any], refused: list[Any]
) -> None:
    schema = {"properties": {"x": written}, "$defs": {"City": {"type": "string"}}}
    ready = CompiledSchema(normalise(schema))
    for value in accepted:
        assert not violations(ready, {"x": value})
    for value in refused:
        assert violations(ready, {"x": value})


def test_required_inside_a_property_joins_the_list() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "required": True}, "b": {"required": False}},
        "required": ["b", "b"],
    }
    assert normalise(schema)["required"] == ["b", "a"]


def test_null_in_place_of_a_keyword_says_nothing() -> None:
    schema = {"type": "object", "description": None, "required": None, "properties": {"a": None}}
    assert normalise(schema) == {"type": "object", "properties": {"a": None}}


@pytest.mark.parametrize(
    ("ref", "target"),
    [
        ("#/$defs/City", "City"),
        ("#/definitions/City", "City"),
        ("https://example.com/tool.json#/$defs/City", "City"),
        ("#/components/schemas/City", "City"),
        ("#/$defs/Map«string»", "Map«string»"),
        ("#/$defs/a~1b%20c", "a/b c"),
    ],
)
def test_references_inside_the_document_work(ref: str, target: str) -> None:
    held = {target: {"type": "int", "nullable": True}}
    schema = normalise(
        {
            "$id": "https://example.com/tool.json",
            "type": "object",
            "properties": {"x": {"$ref": ref}},
            "$defs": held,
            "definitions": held,
            "components": {"schemas": held},
        }
    )
    assert "$id" not in schema
    assert not violations(schema, {"x": 3})
    assert not violations(schema, {"x": None})
    assert violations(schema, {"x": "a"})


@pytest.mark.parametrize("ref", ["#/nowhere", "#/$defs/0/x", "#/list/9", "other", ""])
def test_a_reference_to_nothing_is_nothing(ref: str) -> None:
    assert follow({"$defs": {}, "list": [1]}, ref) in (None, {"$defs": {}, "list": [1]})


def test_positions_in_lists_can_be_referred_to() -> None:
    assert follow({"list": [{"a": 1}, {"b": 2}]}, "#/list/1/b") == 2


class Colour(str, enum.Enum):  # noqa: UP042 - the older form is the one that str() spells oddly
    RED = "red"


class Size(enum.IntEnum):
    BIG = 3


def test_members_of_enumerations_become_their_values() -> None:
    schema = normalise(
        {"properties": {"a": {"enum": [Colour.RED, Size.BIG], "default": Colour.RED}}}
    )
    assert schema["properties"]["a"] == {"enum": ["red", 3], "default": "red"}
    assert type(schema["properties"]["a"]["default"]) is str
    assert type(schema["properties"]["a"]["enum"][1]) is int


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({1: "a"}, "the keys of JSON are strings"),
        ({1, 2}, "is set, which is not JSON"),
        (object(), "is object, which is not JSON"),
        (float("nan"), "which is not JSON"),
        (float("inf"), "which is not JSON"),
        ("\ud800", "half a surrogate pair"),
        ({"\ud800": 1}, "half a surrogate pair"),
        pytest.param(10**5000, "more than 4,000 digits", id="huge"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(value: Any, why: str) -> None:
    with pytest.raises(InvalidToolError, match=why) as caught:
        normalise({"properties": {"a": {"default": value}}})
    assert "$.properties.a.default" in str(caught.value)


def test_a_value_that_contains_itself_is_too_deep() -> None:
    loop: dict[str, Any] = {"type": "object"}
    loop["properties"] = {"a": loop}
    with pytest.raises(InvalidToolError, match="nested deeper than 128 levels"):
        normalise(loop)


def test_the_limits_count() -> None:
    schema = {"properties": {"a": {"properties": {"b": {}}}}}
    with pytest.raises(InvalidToolError, match=r"deeper than 3 levels \(max_depth\)"):
        normalise(schema, limits=Limits(max_depth=3))
    with pytest.raises(InvalidToolError, match="longer than 20 characters as JSON"):
        normalise(schema, limits=Limits(max_schema_chars=20))


def test_older_ways_to_refer_to_oneself_are_understood() -> None:
    schema = normalise(
        {"properties": {"n": {"type": "int"}, "more": {"$recursiveRef": "#"}}, "required": True}
    )
    assert schema["properties"]["more"] == {"$ref": "#"}
    assert "required" not in schema
    assert violations(schema, {"more": {"n": "x"}})
