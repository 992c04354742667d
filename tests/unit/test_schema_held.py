"""What a server is given to hold a reply to: the schema, with an end to numbers and objects."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonschema
import pytest

from fallback.schema.held import held, held_call

MOST = 2**62
BOUNDS = {"minimum": -MOST, "maximum": MOST}


@pytest.mark.parametrize(
    ("schema", "more"),
    [
        ({"type": "integer"}, BOUNDS),
        ({"type": ["integer", "null"]}, BOUNDS),
        ({"type": "integer", "minimum": 0}, {"maximum": MOST}),
        ({"type": "integer", "exclusiveMaximum": 9}, {"minimum": -MOST}),
        ({"type": "integer", "minimum": 2**63}, {}),
        ({"type": "integer", "maximum": -(2**63)}, {}),
        ({"type": "integer", "enum": [1, 2]}, {}),
        ({"type": "number"}, {}),
        ({"type": "string", "maxLength": 3}, {}),
        ({}, {}),
    ],
)
def test_a_whole_number_gets_the_bounds_that_it_lacks(
    schema: dict[str, Any], more: dict[str, int]
) -> None:
    assert held(schema) == {**schema, **more}


def test_numbers_are_bounded_wherever_they_stand_and_the_schema_itself_is_left_alone() -> None:
    schema = {
        "type": "object",
        "properties": {
            "ids": {"type": "array", "items": {"type": "integer"}},
            "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "data": {"const": {"type": "integer"}, "default": {"type": "integer"}},
        },
        "additionalProperties": {"type": "integer"},
        "not": {"properties": {"ids": {"type": "integer"}}},
        "$defs": {"n": {"type": "integer"}},
    }
    before = deepcopy(schema)
    made = held(schema)
    assert schema == before
    properties = made["properties"]
    assert properties["ids"]["items"] == {"type": "integer", **BOUNDS}
    assert properties["either"]["anyOf"] == [{"type": "integer", **BOUNDS}, {"type": "null"}]
    assert properties["data"] == before["properties"]["data"]
    assert made["additionalProperties"] == made["$defs"]["n"] == {"type": "integer", **BOUNDS}
    assert made["not"] == before["not"]
    jsonschema.Draft202012Validator.check_schema(made)


NAMED = {"type": "object", "properties": {"city": {"type": "string"}}}
CLOSED = {**NAMED, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        (NAMED, CLOSED),
        ({**NAMED, "required": ["city"]}, {**CLOSED, "required": ["city"]}),
        ({"type": "array", "items": NAMED}, {"type": "array", "items": CLOSED}),
        ({"anyOf": [NAMED, {"type": "null"}]}, {"anyOf": [CLOSED, {"type": "null"}]}),
        (
            {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": NAMED}},
            {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": CLOSED}},
        ),
    ],
)
def test_an_object_that_names_its_members_is_held_to_them(
    schema: dict[str, Any], made: dict[str, Any]
) -> None:
    """A small model that may invent members invents one after another, up to its limit."""
    assert held(schema) == made


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {}},
        {**NAMED, "additionalProperties": True},
        {**NAMED, "additionalProperties": {"type": "string"}},
        {**NAMED, "patternProperties": {"^x-": {}}},
        {**NAMED, "unevaluatedProperties": False},
        {**NAMED, "required": ["country"]},
        {**NAMED, "minProperties": 3},
        {**NAMED, "anyOf": [{"properties": {"country": {}}, "required": ["country"]}]},
        {"allOf": [NAMED, {"properties": {"country": {"type": "string"}}}]},
        {**NAMED, "if": {"required": ["city"]}, "then": {"properties": {"country": {}}}},
        {"not": NAMED},
    ],
)
def test_an_object_whose_other_members_are_spoken_of_is_left_open(schema: dict[str, Any]) -> None:
    assert held(schema) == schema


# Of a call ---------------------------------------------------------------------------------------

TREE = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "root": {"$ref": "#/$defs/node"}},
    "required": ["root"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "inner": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["size"],
        }
    },
}
OLD = {
    "type": "object",
    "properties": {"at": {"$ref": "#/definitions/node"}},
    "definitions": {"node": {"type": "string"}},
}


@pytest.mark.parametrize(
    ("arguments", "valid"),
    [
        ({"root": {"size": 1, "inner": [{"size": 2}]}}, True),
        ({"root": {"size": 1, "inner": [{"inner": []}]}}, False),
        ({"root": {"size": 1, "more": 2}}, False),
        ({}, False),
    ],
)
def test_a_call_is_held_to_what_its_schema_refers_to(arguments: Any, valid: bool) -> None:
    before = deepcopy(TREE)
    for tools in ({"plant": TREE}, {"plant": TREE, "put": OLD}):
        schema = held_call(tools)
        assert schema is not None
        call = {"name": "plant", "arguments": arguments}
        assert jsonschema.Draft202012Validator(schema).is_valid(call) is valid
        assert not jsonschema.Draft202012Validator(schema).is_valid({**call, "name": "other"})
    assert before == TREE


@pytest.mark.parametrize(
    "tools",
    [
        {"a": {"type": "object", "properties": {"a": {"$ref": "#"}}}},
        {"a": {"type": "object", "properties": {"a": {"$ref": "#/properties/b"}, "b": {}}}},
        {"a": {"$anchor": "x", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {}}}},
        {"a": OLD, "b": {**OLD, "definitions": {"node": {"type": "integer"}}}},
    ],
)
def test_where_a_reference_would_lead_elsewhere_there_is_no_schema_of_the_call(
    tools: dict[str, Any],
) -> None:
    assert held_call(tools) is None
