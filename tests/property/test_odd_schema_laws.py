"""What holds for whatever may be sent in place of a schema, or of arguments."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.errors import InvalidToolError
from fallback.schema import check, coerce, normalise, signature, skeleton, violations
from fallback.tools import Tool

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=20,
)
KEYWORDS = [
    "type",
    "properties",
    "items",
    "required",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "$defs",
    "default",
    "examples",
    "additionalProperties",
    "minimum",
    "pattern",
    "format",
    "description",
    "nullable",
    "prefixItems",
    "not",
    "if",
    "then",
]


@given(JSON)
def test_violations_of_anything_never_raise(value: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    violations(schema, value)
    coerce(value, schema)


ODD = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([*KEYWORDS, "object", "#"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*KEYWORDS, "a", "b"]), inner, max_size=4),
    ),
    max_leaves=25,
)


@given(st.one_of(ODD, JSON))
def test_any_schema_is_either_refused_clearly_or_usable(schema: Any) -> None:
    refusal, tool = "", None
    try:
        tool = Tool(name="f", parameters=schema)
    except InvalidToolError as error:
        refusal = str(error)
    if tool is None:
        assert refusal.startswith("tool 'f': ")
        assert "\n" not in refusal
        return
    assert len(signature(tool)) <= 6 * len(json.dumps(schema)) + 200
    skeleton(tool)
    violations(tool.compiled, {"a": 1})
    coerce({"a": "1"}, tool.compiled)


@given(ODD)
def test_normalising_never_changes_its_argument(schema: Any) -> None:
    before = copy.deepcopy(schema)
    try:
        once = normalise(schema)
    except InvalidToolError:
        once = None
    assert schema == before
    if once is not None:
        assert normalise(once) == once


@pytest.mark.parametrize("depth", [50, 120, 200, 10_000])
def test_a_deep_schema_is_usable_or_refused(depth: int) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    if depth == 50:
        check(schema)
        assert signature(Tool(name="f", parameters=schema))
    else:
        with pytest.raises(InvalidToolError, match="nested deeper than 128 levels"):
            check(schema)
