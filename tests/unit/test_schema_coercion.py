from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from fallback.schema import coerce, normalise, violations

INTEGER, NUMBER, BOOLEAN = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}
STRING, ARRAY, OBJECT = {"type": "string"}, {"type": "array"}, {"type": "object"}
RISK = {"type": "string", "enum": ["LOW", "MEDIUM", "HIGH"]}


def one(schema: Any, value: Any) -> tuple[Any, tuple[str, ...]]:
    """What becomes of one argument ``x``."""
    result, notes = coerce({"x": value}, {"type": "object", "properties": {"x": schema}})
    return result["x"], notes


@pytest.mark.parametrize(
    ("schema", "text", "value", "note"),
    [
        (INTEGER, "200000", 200000, "string_to_integer"),
        (INTEGER, " -4 ", -4, "string_to_integer"),
        (INTEGER, "3.0", 3, "string_to_integer"),
        (
            INTEGER,
            "123456789012345678901234567890",
            123456789012345678901234567890,
            "string_to_integer",
        ),
        (NUMBER, "4.5", 4.5, "string_to_number"),
        (NUMBER, "4", 4, "string_to_number"),
        (NUMBER, "-1e5", -1e5, "string_to_number"),
        (NUMBER, "12345678901234567890123", 12345678901234567890123, "string_to_number"),
        (BOOLEAN, "true", True, "string_to_boolean"),
        (BOOLEAN, "False", False, "string_to_boolean"),
        (BOOLEAN, "TRUE", True, "string_to_boolean"),
        ({"type": "null"}, "null", None, "string_to_null"),
        ({"type": ["integer", "null"]}, "None", None, "string_to_null"),
        ({"type": ["integer", "null"]}, "7", 7, "string_to_integer"),
        ({"type": ["integer", "number"]}, "5.0", 5.0, "string_to_number"),
        (ARRAY, "[1, 2]", [1, 2], "string_to_array"),
        (ARRAY, "['a', True, None]", ["a", True, None], "string_to_array"),
        (ARRAY, "('a', 'b')", ["a", "b"], "string_to_array"),
        (ARRAY, "['a', true, null]", ["a", True, None], "string_to_array"),
        (OBJECT, '{"a": 1}', {"a": 1}, "string_to_object"),
        (OBJECT, "{'a': {'b': -1.5}}", {"a": {"b": -1.5}}, "string_to_object"),
        (OBJECT, ' {"a": [true]}\n\n', {"a": [True]}, "string_to_object"),
        (RISK, "low", "LOW", "enum_case"),
        (RISK, " High ", "HIGH", "enum_case"),
        ({"const": "Agent"}, "agent", "Agent", "enum_case"),
        ({"enum": ["True", "False", "any"]}, True, "True", "boolean_to_enum"),
        ({"type": "string", "enum": ["yes", "false"]}, False, "false", "boolean_to_enum"),
        ({"enum": [1, 2, 3]}, "2", 2, "string_to_integer"),
        ({"enum": [True]}, "true", True, "string_to_boolean"),
        ({"enum": ["a", None]}, "null", None, "string_to_null"),
        ({"enum": ["auto", 1, 2]}, "1", 1, "string_to_integer"),
        (INTEGER, 3.0, 3, "float_to_integer"),
        (INTEGER, 1e22, 10**22, "float_to_integer"),
    ],
)
def test_what_is_exact_and_wanted_is_converted(
    schema: Any, text: Any, value: Any, note: str
) -> None:
    result, notes = one(schema, text)
    assert (result, type(result)) == (value, type(value))
    assert notes == (f"{note} $.x",)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (STRING, "12345"),
        (STRING, "true"),
        (STRING, "007"),
        (STRING, "null"),
        (STRING, "[1]"),
        ({}, "12345"),
        ({"type": ["integer", "string"]}, "12345"),
        ({"anyOf": [INTEGER, STRING]}, "12345"),
        ({"type": ["string", "null"]}, "null"),
        ({"enum": ["LOW", "low"]}, "low"),
    ],
)
def test_a_string_that_may_be_a_string_stays_one(schema: Any, value: str) -> None:
    assert one(schema, value) == (value, ())


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INTEGER, "007"),
        (INTEGER, "+5"),
        (INTEGER, "1e3"),
        (INTEGER, "3.5"),
        (INTEGER, "1,000"),
        (INTEGER, "٣"),
        (INTEGER, "0x10"),
        (INTEGER, "1_000"),
        (INTEGER, ""),
        (INTEGER, "9" * 5000),
        (INTEGER, 3.5),
        (INTEGER, True),
        (INTEGER, [3]),
        (INTEGER, "three"),
        (NUMBER, "NaN"),
        (NUMBER, "Infinity"),
        (NUMBER, "1e999"),
        (NUMBER, ".5"),
        (NUMBER, "0.1234567890123456789012345"),
        (NUMBER, "12 km"),
        (BOOLEAN, "yes"),
        (BOOLEAN, "1"),
        (BOOLEAN, 1),
        (BOOLEAN, "on"),
        (STRING, 12345),
        (STRING, True),
        (STRING, None),
        (ARRAY, "a"),
        (ARRAY, "a, b"),
        (ARRAY, 3),
        (ARRAY, '{"a": 1}'),
        (ARRAY, "[1, 2"),
        (ARRAY, "[x]"),
        (ARRAY, "[f()]"),
        (ARRAY, "[1] + [2]"),
        (ARRAY, "[__import__('os')]"),
        (ARRAY, "{1, 2}"),
        (ARRAY, "(1)"),
        (ARRAY, "[NaN]"),
        (ARRAY, "[1e999]"),
        (ARRAY, "['a', 1e999]"),
        (ARRAY, "[{1, 2}, 'a']"),
        (ARRAY, "[b'x']"),
        (ARRAY, "[" * 5000 + "]" * 5000),
        (ARRAY, "['" + "x" * 60_000 + "']"),
        (ARRAY, '["\\ud800"]'),
        (OBJECT, '{"a": 1, "a": 2}'),
        (OBJECT, "{'a': 1, 'a': 2}"),
        (OBJECT, "{1: 2}"),
        (OBJECT, '"{}"'),
        (OBJECT, "a: 1"),
        (OBJECT, "{**{}}"),
        (RISK, "lowest"),
        (RISK, "MEDIUM!"),
        ({"enum": ["Low", "low"]}, "LOW"),
        ({"enum": ["1", "2"]}, 1),
        ({"const": 5}, 6.0),
        ({"type": "integer", "enum": [1]}, "2"),
    ],
)
def test_what_would_lose_or_guess_is_left_for_a_violation(schema: Any, value: Any) -> None:
    assert one(schema, value) == (value, ())
    assert violations({"type": "object", "properties": {"x": schema}}, {"x": value})


def test_a_scalar_is_not_wrapped_into_an_array() -> None:
    assert one({"type": "array", "items": STRING}, "Oslo") == ("Oslo", ())


def test_conversion_reaches_nested_places_and_names_them() -> None:
    schema = {
        "type": "object",
        "properties": {
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"line": INTEGER, "odd key": BOOLEAN},
                    "additionalProperties": NUMBER,
                },
            },
            "pair": {"type": "array", "prefixItems": [INTEGER, STRING]},
        },
        "patternProperties": {"^n_": INTEGER},
    }
    value = {
        "edits": '[{"line": "4", "odd key": "true", "ratio": "0.5"}, {"line": 5}]',
        "pair": ["1", "2", "3"],
        "n_1": "9",
        "other": "9",
    }
    result, notes = coerce(value, schema)
    assert result == {
        "edits": [{"line": 4, "odd key": True, "ratio": 0.5}, {"line": 5}],
        "pair": [1, "2", "3"],
        "n_1": 9,
        "other": "9",
    }
    assert notes == (
        "string_to_array $.edits",
        "string_to_integer $.edits[0].line",
        'string_to_boolean $.edits[0]["odd key"]',
        "string_to_number $.edits[0].ratio",
        "string_to_integer $.pair[0]",
        "string_to_integer $.n_1",
    )


AGENT = {
    "type": "object",
    "properties": {"kind": {"const": "agent"}, "name": STRING},
    "required": ["kind", "name"],
}
CHAIN = {
    "type": "object",
    "properties": {"kind": {"const": "chain"}, "id": INTEGER},
    "required": ["kind", "id"],
}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_the_alternative_that_fits_afterwards_decides(keyword: str) -> None:
    schema = {keyword: [AGENT, CHAIN]}
    assert one(schema, '{"kind": "agent", "name": "7"}') == (
        {"kind": "agent", "name": "7"},
        ("string_to_object $.x",),
    )
    assert one(schema, {"kind": "chain", "id": "7"}) == (
        {"kind": "chain", "id": 7},
        ("string_to_integer $.x.id",),
    )


def test_alternatives_that_give_different_values_leave_it_alone() -> None:
    assert one({"anyOf": [INTEGER, {"type": "array"}]}, "[7]")[0] == [7]
    both = {"anyOf": [{"enum": ["Low"]}, {"enum": ["LOW"]}]}
    assert one(both, "low") == ("low", ())


def test_alternatives_that_give_the_same_value_agree() -> None:
    assert one({"anyOf": [INTEGER, NUMBER]}, "7") == (7, ("string_to_integer $.x",))


def test_an_optional_structure_is_decoded_even_if_something_in_it_stays_wrong() -> None:
    schema = {"anyOf": [{"type": "object", "properties": {"n": INTEGER}}, {"type": "null"}]}
    result, _ = one(schema, '{"n": "many"}')
    assert result == {"n": "many"}
    [found] = violations({"properties": {"x": schema}}, {"x": result})
    assert found.path == "$.x.n"


def test_whole_numbers_inside_valid_alternatives_become_integers() -> None:
    assert one({"anyOf": [INTEGER, {"type": "null"}]}, 3.0) == (3, ("float_to_integer $.x",))
    assert one({"anyOf": [NUMBER, {"type": "null"}]}, 3.0) == (3.0, ())


def test_references_are_followed_and_loops_end() -> None:
    schema = {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"n": INTEGER, "next": {"$ref": "#/$defs/Node"}},
                "allOf": [{"$ref": "#/$defs/Node"}],
                "anyOf": [{"$ref": "#"}],
            }
        },
    }
    value = {"n": "1", "next": {"n": "2", "next": '{"n": "3"}'}}
    assert coerce(value, schema)[0] == {"n": 1, "next": {"n": 2, "next": {"n": 3}}}


def test_all_of_is_applied_in_turn() -> None:
    schema = {"allOf": [{"type": "object"}, {"properties": {"n": INTEGER}}]}
    assert one(schema, '{"n": "1"}')[0] == {"n": 1}


def test_nothing_is_changed_in_place() -> None:
    schema = normalise(
        {"properties": {"a": {"items": INTEGER}, "b": {"properties": {"c": BOOLEAN}}}}
    )
    value = {"a": [1, "2"], "b": {"c": "true"}, "d": {"e": 1}}
    before = copy.deepcopy(value)
    result, notes = coerce(value, schema)
    assert value == before
    assert result == {"a": [1, 2], "b": {"c": True}, "d": {"e": 1}}
    assert result["d"] is value["d"]
    assert len(notes) == 2


def test_text_inside_text_cannot_make_a_value_too_deep() -> None:
    inner = "[" * 60 + "]" * 60
    schema = {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}},
    }
    for _ in range(3):
        inner = "[" * 60 + json.dumps(inner) + "]" * 60
    result, notes = coerce(inner, schema)
    assert result == inner
    assert notes == ()


def test_many_alternatives_at_many_places_come_to_an_end() -> None:
    schema: dict[str, Any] = {
        "anyOf": [{"items": {"$ref": "#"}}, {"type": "integer"}, BOOLEAN, AGENT]
    }
    value: Any = "5"
    for _ in range(40):
        value = [value, "x"]
    coerce(value, schema)


def test_a_bound_does_not_keep_a_value_from_being_converted() -> None:
    result, notes = one({"type": "integer", "maximum": 7}, "9")
    assert (result, notes) == (9, ("string_to_integer $.x",))


def test_a_schema_that_is_just_true_or_false_changes_nothing() -> None:
    schema = {"properties": {"a": True, "b": INTEGER}, "additionalProperties": False}
    assert coerce({"a": "1", "b": "2", "c": "3"}, schema)[0] == {"a": "1", "b": 2, "c": "3"}
    assert one({"anyOf": [False, INTEGER]}, "x") == ("x", ())


def test_the_one_alternative_of_the_right_type_is_found_through_references() -> None:
    schema = {
        "properties": {"x": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}, False]}},
        "$defs": {
            "A": {"$ref": "#/$defs/B"},
            "B": {"type": "object", "properties": {"n": INTEGER}, "required": ["m"]},
        },
    }
    assert coerce({"x": '{"n": "1"}'}, schema)[0] == {"x": {"n": 1}}


def test_a_value_that_the_validator_cannot_see_is_left_alone() -> None:
    schema = {"properties": {"n": INTEGER, "t": STRING}}
    for odd in ("\ud800", {1, 2}, {1: "a"}):
        value = {"n": "1", "t": odd}
        assert coerce(value, schema)[0]["t"] is odd


def test_a_chain_of_references_that_nobody_checked_ends() -> None:
    links = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(2000)}
    schema = {"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": links | {"d2000": INTEGER}}
    assert coerce({"x": "1"}, schema) == ({"x": "1"}, ())


def test_branches_are_not_tried_without_end() -> None:
    schema = {"items": {"anyOf": [INTEGER, BOOLEAN, {"type": "null"}]}}
    value = ["1"] * 3400
    result, _ = coerce(value, schema)
    assert result[:3] == [1, 1, 1]
    assert result[-1] == "1"
