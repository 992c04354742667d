"""What a server is given to hold a reply to: the schema, with an end to every number."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonschema
import pytest

from fallback.schema.held import held

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
