"""A schema as a server is given it to hold a reply to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fallback.schema.shape import subschemas

__all__ = ["held"]

_MOST = 2**62
"""Bound of whole numbers. llama.cpp takes the ends of 64 bits for no bound, and drops the whole
schema with what lies beyond them."""

_CONDITIONS = ("not", "if", "contains")
"""Here a narrower schema would allow more."""


def held(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with whole numbers bounded; it is for writing, not for checking what was written.

    Without bounds some servers let a number go on for ever, and a small model that has begun to
    write zeros writes them up to its limit of tokens.
    """
    made = dict(schema)
    if "integer" in _types(schema) and "enum" not in schema and "const" not in schema:
        if not ({"minimum", "exclusiveMinimum"} & schema.keys()) and _below(schema):
            made["minimum"] = -_MOST
        if not ({"maximum", "exclusiveMaximum"} & schema.keys()) and _above(schema):
            made["maximum"] = _MOST
    for (keyword, *key), sub in subschemas(schema):
        if keyword in _CONDITIONS or not isinstance(sub, Mapping):
            continue
        if not key:
            made[str(keyword)] = held(sub)
            continue
        if made[str(keyword)] is schema[str(keyword)]:
            made[str(keyword)] = schema[str(keyword)].copy()
        made[str(keyword)][key[0]] = held(sub)
    return made


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
