"""A schema as a server is given it to hold a reply to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from fallback.schema.shape import subschemas

__all__ = ["held", "held_call"]

_MOST = 2**62
"""Bound of whole numbers. llama.cpp takes the ends of 64 bits for no bound, and drops the whole
schema with what lies beyond them."""

_COMBINING = ("allOf", "if", "dependentSchemas", "dependencies", "$dynamicRef")
"""With these, members that belong to one object may be named in several places."""

_OTHERS = frozenset(
    {"$ref", "additionalProperties", "patternProperties", "unevaluatedProperties", "minProperties"}
)
"""What else may be said of the members of an object."""

_CONDITIONS = ("not", "if", "contains")
"""Here a narrower schema would allow more."""

_DEFINING = ("$defs", "definitions")
"""Where a schema keeps what it refers to."""

_ELSEWHERE = ('"$id"', '"$anchor"', '"$dynamicRef"', '"$recursiveRef"')
"""With these in a schema, what a reference means depends on more than the root."""

_REFERENCE = re.compile(r'"\$ref": "([^"]*)"')


def held(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with an end to numbers and objects: for writing, not for checking.

    Without bounds some servers let a number go on for ever, and a small model that has begun to
    write zeros writes them up to its limit of tokens. With members that no schema names it is the
    same: ``qwen2.5-coder:0.5b`` invented one after another. So an object that names its members is
    held to them, unless the schema says something about others or describes one object in several
    places.
    """
    text = json.dumps(schema)
    return _held(schema, closing=not any(f'"{keyword}"' in text for keyword in _COMBINING))


def held_call(tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """The schema of a call, ``{"name": ..., "arguments": {...}}``, of any of these tools.

    References are read from the root, so what the schemas refer to is put there.

    Args:
        tools: the schema of the arguments, by name.

    Returns:
        ``None`` where a reference leads elsewhere, or two schemas define one name differently.
    """
    defined: dict[str, dict[str, Any]] = {}
    calls = []
    for name, parameters in tools.items():
        arguments = held(parameters)
        if not _refers_to_its_own(arguments):
            return None
        for place in _DEFINING:
            for key, schema in arguments.pop(place, {}).items():
                if defined.setdefault(place, {}).setdefault(key, schema) != schema:
                    return None
        calls.append(_call(name, arguments))
    return {**(calls[0] if len(calls) == 1 else {"anyOf": calls}), **defined}


def _call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _refers_to_its_own(schema: Mapping[str, Any]) -> bool:
    """Whether every reference is to something that the schema defines at its root."""
    text = json.dumps(schema)
    targets = _REFERENCE.findall(text)
    own = all(target.startswith(("#/$defs/", "#/definitions/")) for target in targets)
    return own and not (targets and any(word in text for word in _ELSEWHERE))


def _held(schema: Mapping[str, Any], *, closing: bool) -> dict[str, Any]:
    made = dict(schema)
    either = "anyOf" in schema or "oneOf" in schema
    if closing and not either and _names_all(schema):
        made["additionalProperties"] = False
    if "integer" in _types(schema) and "enum" not in schema and "const" not in schema:
        if not ({"minimum", "exclusiveMinimum"} & schema.keys()) and _below(schema):
            made["minimum"] = -_MOST
        if not ({"maximum", "exclusiveMaximum"} & schema.keys()) and _above(schema):
            made["maximum"] = _MOST
    for (keyword, *key), sub in subschemas(schema):
        if keyword in _CONDITIONS or not isinstance(sub, Mapping):
            continue
        inside = closing and not (keyword in ("anyOf", "oneOf") and "properties" in schema)
        if not key:
            made[str(keyword)] = _held(sub, closing=inside)
            continue
        if made[str(keyword)] is schema[str(keyword)]:
            made[str(keyword)] = schema[str(keyword)].copy()
        made[str(keyword)][key[0]] = _held(sub, closing=inside)
    return made


def _names_all(schema: Mapping[str, Any]) -> bool:
    """Whether an object can consist of its named members, and nothing is said of others."""
    named, required = schema.get("properties"), schema.get("required", ())
    return (
        bool(named)
        and isinstance(named, dict)
        and not _OTHERS & schema.keys()
        and isinstance(required, list | tuple)
        and all(name in named for name in required)
    )


def _types(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    named = schema.get("type")
    return tuple(named) if isinstance(named, list) else (named,)


def _below(schema: Mapping[str, Any]) -> bool:
    """Whether our lower bound lies below the upper one that is there."""
    bounds = (schema.get(name) for name in ("maximum", "exclusiveMaximum"))
    return all(bound > -_MOST for bound in bounds if isinstance(bound, int | float))


def _above(schema: Mapping[str, Any]) -> bool:
    bounds = (schema.get(name) for name in ("minimum", "exclusiveMinimum"))
    return all(bound < _MOST for bound in bounds if isinstance(bound, int | float))
