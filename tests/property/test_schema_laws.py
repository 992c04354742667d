"""What holds for every schema and every value."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fallback.schema import (
    CompiledSchema,
    coerce,
    normalise,
    signature,
    skeleton,
    violations,
)
from fallback.schema.shape import holds_float
from fallback.tools import Tool

NAMES = st.sampled_from(["a", "b", "city", "days", "odd key", "größe", "from", "$ref", "type"])
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [
            "3",
            "007",
            "4.5",
            "true",
            "False",
            "null",
            "None",
            "[1]",
            '{"a": "1"}',
            "{'a': True}",
            "LOW",
        ]
    ),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([3.0, -0.0, 1e300]),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)


def _numbers(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": draw(st.sampled_from(["integer", "number"]))}
    if draw(st.booleans()):
        schema["minimum"] = draw(st.integers(-5, 5))
    if draw(st.booleans()):
        schema["maximum"] = schema.get("minimum", 0) + draw(st.integers(1, 9))
    if draw(st.integers(0, 3)) == 0:
        schema["multipleOf"] = draw(st.sampled_from([1, 2, 0.5]))
    return schema


def _strings(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if draw(st.booleans()):
        schema["minLength"] = draw(st.integers(0, 12))
    if draw(st.booleans()):
        schema["maxLength"] = schema.get("minLength", 0) + draw(st.integers(0, 20))
    if len(schema) == 1 and draw(st.booleans()):
        kind = draw(st.sampled_from(["pattern", "format"]))
        patterns = ["^[a-z]+$", r"^\d{4}-\d{2}$", "^(on|off)$", "^[A-Z]{2,3}[0-9]?x*$", "b"]
        formats = ["date", "date-time", "uuid", "email", "uri", "ipv4", "time", "phone"]
        schema[kind] = draw(st.sampled_from(patterns if kind == "pattern" else formats))
    return schema


def _choices() -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(["string", "integer", "number", "boolean", "null", "array"])
    return st.one_of(
        st.builds(lambda v: {"enum": v}, st.lists(SCALARS, min_size=1, max_size=4)),
        st.builds(lambda v: {"const": v}, SCALARS),
        st.builds(lambda v: {"type": v}, st.lists(names, min_size=1, max_size=3, unique=True)),
        st.sampled_from([{}, {"type": "boolean"}, {"type": "null"}]),
    )


def _composed(depth: int, refs: bool) -> st.SearchStrategy[dict[str, Any]]:
    inner, held = schemas(depth=depth - 1, refs=refs), objects(depth=depth - 1, refs=refs)
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        held,
        st.builds(lambda s: {"type": "array", "items": s}, inner),
        st.builds(lambda s: {"type": "array", "items": s, "minItems": 2}, inner),
        st.builds(lambda s: {"type": "array", "prefixItems": s}, several),
        st.builds(lambda k, s: {k: s}, st.sampled_from(["anyOf", "oneOf"]), several),
        st.builds(lambda s: {"allOf": [s]}, held),
    )


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3, *, refs: bool = False) -> dict[str, Any]:
    """A schema as tools have them; every one can be satisfied."""
    kinds = ["number", "string", "choice"] + ["composed"] * 3 * bool(depth) + ["ref"] * refs
    kind = draw(st.sampled_from(kinds))
    if kind in ("number", "string"):
        schema = _numbers(draw) if kind == "number" else _strings(draw)
    elif kind == "choice":
        schema = draw(_choices())
    elif kind == "composed":
        schema = draw(_composed(depth, refs))
    else:
        schema = {"$ref": draw(st.sampled_from(["#/$defs/Leaf", "#/$defs/Tree"]))}
    return {**schema, "description": draw(st.text(max_size=20))} if draw(st.booleans()) else schema


@st.composite
def objects(draw: st.DrawFn, depth: int = 3, *, refs: bool = False) -> dict[str, Any]:
    properties = draw(st.dictionaries(NAMES, schemas(depth=max(depth, 0), refs=refs), max_size=4))
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if properties and draw(st.booleans()):
        schema["required"] = draw(st.lists(st.sampled_from(sorted(properties)), unique=True))
    rest = draw(st.sampled_from([None, False, True, {"type": "integer"}]))
    return schema if rest is None else {**schema, "additionalProperties": rest}


@st.composite
def parameters(draw: st.DrawFn) -> dict[str, Any]:
    """The parameters of a tool, with definitions, one of which contains itself."""
    schema = draw(objects(refs=True))
    tree = {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        },
    }
    return {**schema, "$defs": {"Leaf": draw(schemas(depth=1)), "Tree": tree}}


def tool_of(schema: Any) -> Tool:
    return Tool(name="f", parameters=schema)


@st.composite
def shaped(draw: st.DrawFn, schema: Any, root: dict[str, Any], depth: int = 6) -> Any:
    """A value that is often valid, and else nearly so: numbers as text, odd members."""
    if not isinstance(schema, dict) or not depth or draw(st.integers(0, 11)) == 0:
        return draw(VALUES)
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in schema:
            return draw(shaped(draw(st.sampled_from(schema[keyword])), root, depth - 1))
    if "enum" in schema or "const" in schema:
        return draw(st.sampled_from(schema.get("enum", [schema.get("const")])))
    kind = schema.get("type")
    kind = draw(st.sampled_from(kind)) if isinstance(kind, list) else kind
    if kind in ("object", "array"):
        value: Any = draw(members(schema, root, depth - 1))
    else:
        plain = {
            "integer": st.integers(-5, 9),
            "number": st.one_of(st.integers(-5, 9), st.floats(-5, 9)),
            "boolean": st.booleans(),
            "string": TEXTS,
        }
        value = draw(plain.get(str(kind), VALUES))
    return json.dumps(value) if draw(st.integers(0, 3)) == 0 else value


@st.composite
def members(draw: st.DrawFn, schema: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    if schema["type"] == "object":
        return {
            name: draw(shaped(sub, root, depth))
            for name, sub in schema.get("properties", {}).items()
            if name in schema.get("required", ()) or draw(st.booleans())
        }
    every = [schema["items"]] * 2 if "items" in schema else []
    return [draw(shaped(sub, root, depth)) for sub in [*schema.get("prefixItems", ()), *every]]


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    schema = normalise(draw(parameters()))
    return schema, draw(shaped(schema, schema))


SLOW_TO_MAKE = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


# --- coercion


@SLOW_TO_MAKE
@given(cases())
def test_a_valid_value_is_left_as_it_is(case: tuple[dict[str, Any], Any]) -> None:
    schema, value = case
    ready = CompiledSchema(schema)
    assume(ready.accepts(value))
    result, notes = coerce(value, ready)
    assert result == value
    assert all(note.startswith("float_to_integer ") for note in notes)
    if not holds_float(value):
        assert result is value
        assert not notes


@SLOW_TO_MAKE
@given(cases())
def test_coercion_changes_nothing_the_second_time(case: tuple[dict[str, Any], Any]) -> None:
    schema, value = case
    once, _ = coerce(value, schema)
    twice, notes = coerce(once, schema)
    assert (twice, notes) == (once, ())


@SLOW_TO_MAKE
@given(cases())
def test_coercion_never_changes_its_argument(case: tuple[dict[str, Any], Any]) -> None:
    schema, value = case
    before, schema_before = copy.deepcopy(value), copy.deepcopy(schema)
    coerce(value, schema)
    assert json.dumps(value) == json.dumps(before)
    assert json.dumps(schema) == json.dumps(schema_before)


@SLOW_TO_MAKE
@given(cases())
def test_what_is_changed_is_noted_and_what_is_noted_is_changed(
    case: tuple[dict[str, Any], Any],
) -> None:
    schema, value = case
    result, notes = coerce(value, schema)
    assert (json.dumps(result) != json.dumps(value)) == bool(notes)


@SLOW_TO_MAKE
@given(cases())
def test_coercion_never_makes_a_valid_value_invalid(case: tuple[dict[str, Any], Any]) -> None:
    schema, value = case
    if not violations(schema, value):
        assert not violations(schema, coerce(value, schema)[0])


# --- violations


def oracle(schema: dict[str, Any], value: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def without_formats(schema: Any) -> Any:
    """The oracle is asked without formats: which are checked is our own choice."""
    if isinstance(schema, dict):
        return {
            k: without_formats(v)
            for k, v in schema.items()
            if k != "format" or not isinstance(v, str)
        }
    return [without_formats(v) for v in schema] if isinstance(schema, list) else schema


@SLOW_TO_MAKE
@given(cases())
def test_violations_agree_with_another_validator(case: tuple[dict[str, Any], Any]) -> None:
    schema, value = without_formats(case[0]), case[1]
    # Fractions of fractions are where implementations round differently.
    assume("0.5" not in json.dumps(schema) or not holds_float(value))
    assert (not violations(schema, value)) == oracle(schema, value)


@SLOW_TO_MAKE
@given(cases())
def test_violations_can_be_shown(case: tuple[dict[str, Any], Any]) -> None:
    schema, value = case
    found = violations(schema, value)
    assert len({(v.path, v.keyword, v.message) for v in found}) == len(found)
    for violation in found:
        assert violation.path.startswith("$")
        assert violation.message
        assert "\n" not in violation.message
        assert len(violation.message) < 1200
        violation.message.encode("utf-8")


# --- signature and skeleton


@SLOW_TO_MAKE
@given(parameters())
def test_a_skeleton_of_a_satisfiable_schema_is_valid(schema: dict[str, Any]) -> None:
    tool = tool_of(schema)
    for optional in (False, True):
        made = skeleton(tool, optional=optional)
        json.dumps(made, allow_nan=False)
        if not tool.compiled.accepts(made):
            # Only ``oneOf`` can ask for what no part says: that the others do not fit.
            assert "oneOf" in json.dumps(schema)


@SLOW_TO_MAKE
@given(parameters())
def test_a_signature_names_every_argument(schema: dict[str, Any]) -> None:
    tool = tool_of(schema)
    text = signature(tool)
    assert text.startswith("f(")
    first = text.partition("\n")[0]
    for name in tool.parameters["properties"]:
        mark = ":" if name in tool.parameters.get("required", ()) else "?:"
        shown = name if name.isidentifier() else json.dumps(name, ensure_ascii=False)
        assert f"{shown}{mark} " in first
    assert len(text) <= 6 * len(json.dumps(schema)) + 200


@given(parameters())
@SLOW_TO_MAKE
def test_normalising_twice_is_normalising_once(schema: dict[str, Any]) -> None:
    once = normalise(schema)
    assert normalise(once) == once
