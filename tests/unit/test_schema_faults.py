from __future__ import annotations

import json
from typing import Any

import pytest

from fallback.limits import Limits
from fallback.schema import CompiledSchema, Violation, normalise, violations

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "unit": {"type": "string", "enum": ["c", "f"]},
        "when": {"type": "string", "format": "date"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": True},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                "required": ["old", "new"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["city"],
    "additionalProperties": False,
}

NAMES = "city, days, unit, when, tags, edits"


def said(schema: Any, arguments: Any) -> list[str]:
    return [v.message for v in violations(schema, arguments)]


def about(schema: Any, value: Any) -> list[Violation]:
    """What is said about one argument ``x``."""
    return list(violations({"type": "object", "properties": {"x": schema}}, {"x": value}))


def test_good_arguments_have_no_violations() -> None:
    assert violations(WEATHER, {"city": "Oslo", "days": 3, "unit": "c"}) == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"days": 3}, "`city` is required: string"),
        ({"city": "Oslo", "days": "soon"}, '`$.days`: expected integer, got string "soon"'),
        ({"city": "Oslo", "days": 3.5}, "`$.days`: expected integer, got number 3.5"),
        ({"city": None}, "`$.city`: expected string, got null"),
        ({"city": True}, "`$.city`: expected string, got boolean true"),
        ({"city": ["Oslo"]}, '`$.city`: expected string, got array ["Oslo"]'),
        ({"city": {"a": 1}}, '`$.city`: expected string, got object {"a": 1}'),
        ({"city": "Oslo", "days": 9}, "`$.days`: expected at most 7, got integer 9"),
        ({"city": "Oslo", "days": 0}, "`$.days`: expected at least 1, got integer 0"),
        ({"city": "O"}, "`$.city`: expected at least 2 characters, got 1 characters"),
        ({"city": "Oslo", "unit": "k"}, '`$.unit`: expected one of "c", "f", got string "k"'),
        (
            {"city": "Oslo", "when": "friday"},
            '`$.when`: expected a date such as "2026-01-31", got string "friday"',
        ),
        (
            {"city": "Oslo", "tags": ["a", "b", "c"]},
            "`$.tags`: expected at most 2 items, got 3 items",
        ),
        (
            {"city": "Oslo", "tags": ["a", "a"]},
            '`$.tags`: expected each item once, got array ["a", "a"]',
        ),
        (
            {"city": "Oslo", "tags": "a"},
            '`$.tags`: expected array (string[]), got string "a"; write the array itself, not text',
        ),
        ({"city": "Oslo", "edits": [{"old": "a"}]}, "`$.edits[0].new` is required: string"),
        (
            {"city": "Oslo", "edits": [{"old": "a", "new": "b", "nwe": "c"}]},
            "`$.edits[0]`: unknown member `nwe`; did you mean `new`? allowed: old, new",
        ),
        (
            {"city": "Oslo", "cities": 1},
            f"unknown argument `cities`; did you mean `city`? allowed: {NAMES}",
        ),
        (
            {"city": "Oslo", "country": 1},
            f"unknown argument `country`; allowed: {NAMES}",
        ),
    ],
)
def test_each_fault_is_one_sentence_with_place_wish_and_value(arguments: Any, message: str) -> None:
    assert said(WEATHER, arguments) == [message]


def test_a_missing_choice_lists_its_values() -> None:
    schema = {"properties": {"risk": {"enum": ["LOW", "MEDIUM", "HIGH"]}}, "required": ["risk"]}
    [found] = violations(schema, {})
    assert found == Violation(
        path="$.risk",
        keyword="required",
        message='`risk` is required: one of "LOW", "MEDIUM", "HIGH"',
        expected='one of "LOW", "MEDIUM", "HIGH"',
        allowed=('"LOW"', '"MEDIUM"', '"HIGH"'),
    )


@pytest.mark.parametrize(
    ("arguments", "kind"), [("query = 1", "string"), (5, "integer"), (None, "null"), ([], "array")]
)
def test_arguments_that_are_no_object_are_one_violation(arguments: Any, kind: str) -> None:
    schema = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
    [found] = violations(schema, arguments)
    assert found.path == "$"
    assert found.message.startswith(f"arguments: expected object {{code: string}}, got {kind}")


def test_every_fault_of_a_call_is_told_at_once() -> None:
    found = violations(WEATHER, {"days": "x", "unit": 1, "more": 2})
    assert {v.path for v in found} == {"$.city", "$.days", "$.unit", "$.more"}


def test_an_argument_that_the_schema_lets_pass_is_named_beside_the_missing_one() -> None:
    schema = {"properties": {"city": {"type": "string"}}, "required": ["city"]}
    assert said(schema, {"location": "Oslo"}) == [
        "`city` is required: string; `location` is not known"
    ]


def test_arguments_of_a_tool_without_any_are_refused() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    assert said(schema, {"a": 1}) == ["unknown argument `a`; none is allowed"]


def test_a_long_list_of_names_and_values_is_cut() -> None:
    schema = {
        "properties": {f"argument_{i}": {} for i in range(100)},
        "additionalProperties": False,
    }
    [message] = said(schema, {"x": 1})
    assert message.endswith("argument_19 …")
    [message] = said({"properties": {"x": {"enum": list(range(500))}}}, {"x": -1})
    assert len(message) < 400
    assert "…" in message


def test_a_long_value_is_cut() -> None:
    [found] = about({"type": "integer"}, "a" * 100_000)
    assert found.got.startswith('string "aaa')
    assert len(found.got) <= 90


# --- alternatives

CUT = r'"{\"kind\": \"agent\""'
KINDS = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "agent"}, "name": {"type": "string"}},
            "required": ["kind", "name"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "chain"}, "id": {"type": "integer"}},
            "required": ["kind", "id"],
        },
    ]
}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"kind": "agent", "name": 3}, "`$.x.name`: expected string, got integer 3"),
        ({"kind": "chain", "id": "a"}, '`$.x.id`: expected integer, got string "a"'),
        ({"kind": "chain"}, "`$.x.id` is required: integer"),
        ({"kind": "tree"}, '`$.x.kind`: expected one of "agent", "chain", got string "tree"'),
        (
            json.loads(CUT),
            f"`$.x`: expected object, got string {CUT}; write the object itself, not text",
        ),
        (5, "`$.x`: expected object, got integer 5"),
    ],
)
def test_of_alternatives_only_the_one_that_was_meant_is_explained(value: Any, message: str) -> None:
    assert [v.message for v in about(KINDS, value)] == [message]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (
            {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]},
            1,
            "`$.x`: expected at least 3, got integer 1",
        ),
        (
            {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
            "z",
            '`$.x`: expected one of "a", "b", got string "z"',
        ),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "z",
            '`$.x`: expected integer or null, got string "z"',
        ),
        (
            {"anyOf": [{"const": "a"}, {"const": "b"}, {"type": "integer"}]},
            "z",
            '`$.x`: expected one of "a", "b" or integer, got string "z"',
        ),
        (
            {"anyOf": [{"type": "array"}, {"type": "object"}]},
            "z",
            '`$.x`: expected array or object, got string "z"; write the array itself, not text',
        ),
        (
            {"oneOf": [{"type": "integer"}, {"minimum": 0}]},
            3,
            "`$.x`: fits more than one of the alternatives; say less or more",
        ),
        (
            {"anyOf": [{"anyOf": [{"type": "integer"}]}, {"type": "boolean"}]},
            "z",
            '`$.x`: expected integer or boolean, got string "z"',
        ),
    ],
)
def test_alternatives_of_one_value_are_told_together(schema: Any, value: Any, message: str) -> None:
    assert [v.message for v in about(schema, value)] == [message]


def test_alternatives_at_the_top_are_told_like_arguments() -> None:
    schema = {
        "type": "object",
        "properties": {"mode": {"type": "string"}},
        "oneOf": [
            {
                "properties": {"mode": {"const": "by_id"}, "id": {"type": "integer"}},
                "required": ["id"],
            },
            {"properties": {"mode": {"const": "by_name"}}, "required": ["name"]},
        ],
    }
    assert said(schema, {"mode": "by_id"}) == ["`id` is required: integer"]
    assert said(schema, {"mode": "by_name"}) == ["`name` is required"]


# --- the other keywords


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"exclusiveMinimum": 3}, 3, "expected more than 3"),
        ({"exclusiveMaximum": 3}, 3, "expected less than 3"),
        ({"multipleOf": 5}, 3, "expected a multiple of 5"),
        ({"maxLength": 2}, "abc", "expected at most 2 characters, got 3 characters"),
        ({"minItems": 2}, [1], "expected at least 2 items, got 1 items"),
        ({"minProperties": 2}, {"a": 1}, "expected at least 2 members, got 1 members"),
        ({"maxProperties": 0}, {"a": 1}, "expected at most 0 members, got 1 members"),
        ({"pattern": "^b+$"}, "a", "expected text that matches ^b+$"),
        ({"const": 5}, 6, "expected 5, got integer 6"),
        ({"not": {"type": "string"}}, "a", "expected something else"),
        ({"contains": {"const": 1}}, [2], "expected at least one item of the right kind"),
        ({"contains": {"const": 1}, "minContains": 2}, [1], "expected more items"),
        ({"contains": {"const": 1}, "maxContains": 1}, [1, 1], "expected fewer items"),
        ({"propertyNames": {"pattern": "^a"}}, {"b": 1}, "expected other names of members"),
        ({"prefixItems": [{}], "items": False}, [1, 2], "`$.x[1]` is not allowed"),
        (False, 3, "`$.x` is not allowed"),
        ({"unevaluatedProperties": False}, {"b": 1}, "`$.x`: unknown member `b`; none is allowed"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "`$.x.b` is required with the other"),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, "`$.x.b` is required"),
    ],
)
def test_every_keyword_has_its_words(schema: Any, value: Any, words: str) -> None:
    [found] = about(schema, value)
    assert words in found.message


# --- hostile values


def test_half_a_character_is_named_with_its_place() -> None:
    schema = {"properties": {"a": {"items": {"type": "string"}}}}
    [found] = violations(schema, {"a": ["fine", "\ud83d"]})
    assert (found.path, found.keyword) == ("$.a[1]", "unicode")
    [found] = violations(
        schema | {"additionalProperties": {"type": "string"}}, {"\ud83d": "\ud83d"}
    )
    assert found.keyword == "unicode"


def test_odd_names_and_values_cannot_break_a_sentence() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "additionalProperties": False,
    }
    arguments = {"x\n```\ny": 1, "y" * 10_000: 2, "a": "line\n\x00\u2028" * 500}
    for found in violations(schema, arguments):
        assert "\n" not in found.message
        assert len(found.message) < 400


def test_there_is_a_limit_to_what_is_explained() -> None:
    schema = normalise({"properties": {"a": {"items": {"type": "integer"}}}})
    arguments = {"a": ["x"] * 1000}
    assert len(violations(schema, arguments)) == 20
    few = CompiledSchema(schema, limits=Limits(max_violations=3))
    assert [v.path for v in violations(few, arguments)] == ["$.a[0]", "$.a[1]", "$.a[2]"]


def test_forbidden_arguments_are_refused_even_if_the_schema_is_open() -> None:
    ready = CompiledSchema(
        normalise({"properties": {"query": {"type": "string"}}}), forbidden=frozenset({"user_id"})
    )
    assert not violations(ready, {"query": "a", "more": 1})
    [found] = violations(ready, {"query": "a", "user_id": "secret-7"})
    assert found.path == "$.user_id"
    assert found.message == "unknown argument `user_id`; allowed: query"
    assert "secret-7" not in repr(found)


def test_a_large_structure_that_is_missing_is_named_by_its_kind() -> None:
    held = {f"property_{i}": {"type": "string"} for i in range(20)}
    schema = {"properties": {"a": {"type": "object", "properties": held}}, "required": ["a"]}
    assert said(schema, {}) == ["`a` is required: object"]


def test_what_is_refused_by_a_schema_that_stands_elsewhere_is_still_said() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/components/schemas/A~1B"}},
        "components": {
            "schemas": {"A/B": {"type": "object", "properties": {"n": {"type": "null"}}}}
        },
    }
    assert said(schema, {"a": {"n": 1}}) == ["`$.a.n`: expected null, got integer 1"]
    assert said(schema, {"a": 1}) == ["`$.a`: expected object {n?: null}, got integer 1"]


def test_what_json_has_no_form_for_is_refused() -> None:
    for odd in ({1, 2}, object(), float("nan")):
        assert violations({"properties": {"a": {"type": "object"}}}, {"a": odd})
