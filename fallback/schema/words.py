"""The short words in which a schema's values and bounds are shown to a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fallback.schema.places import PREVIEW_CHARS, printable

_LONGEST_PATTERN = 60
_LONGEST_DEFAULT = 60
_MOST_EXAMPLES = 2
# OpenAPI's sizes of numbers and the like say nothing that the type does not.
_SILENT_FORMATS = frozenset({"int32", "int64", "float", "double", "number", "string", "password"})


def literal(value: Any) -> str:
    """A value as compact JSON, every character as it is."""
    return printable(json.dumps(value, ensure_ascii=False))


def default(value: Any) -> str:
    """`` = 3`` behind a type; nothing where the default is ``null`` or too long to be of use."""
    if value is None:
        return ""
    text = literal(value)
    return f" = {text}" if len(text) <= _LONGEST_DEFAULT else ""


def bounds(keywords: Mapping[str, Any]) -> list[str]:
    """What a value must keep to besides its type, such as ``1 to 7`` or ``at most 5 items``."""
    return [word for part in _PARTS for word in part(keywords)]


def _range(keywords: Mapping[str, Any]) -> Iterator[str]:
    low, high = keywords.get("minimum"), keywords.get("maximum")
    if low is not None and high is not None:
        yield f"{literal(low)} to {literal(high)}"
    elif low is not None:
        yield f"at least {literal(low)}"
    elif high is not None:
        yield f"at most {literal(high)}"
    if "exclusiveMinimum" in keywords:
        yield f"more than {literal(keywords['exclusiveMinimum'])}"
    if "exclusiveMaximum" in keywords:
        yield f"less than {literal(keywords['exclusiveMaximum'])}"
    if "multipleOf" in keywords:
        yield f"a multiple of {literal(keywords['multipleOf'])}"


def _sizes(keywords: Mapping[str, Any]) -> Iterator[str]:
    for what, unit in (("Length", "characters"), ("Items", "items"), ("Properties", "members")):
        low, high = keywords.get(f"min{what}") or None, keywords.get(f"max{what}")
        if low is not None and low == high:
            yield f"exactly {literal(low)} {unit}"
        elif low is not None and high is not None:
            yield f"{literal(low)} to {literal(high)} {unit}"
        elif high is not None:
            yield f"at most {literal(high)} {unit}"
        elif low == 1:
            yield "not empty"
        elif low is not None:
            yield f"at least {literal(low)} {unit}"
    if keywords.get("uniqueItems") is True:
        yield "no item twice"


def _forms(keywords: Mapping[str, Any]) -> Iterator[str]:
    form, pattern = keywords.get("format"), keywords.get("pattern")
    if isinstance(form, str) and form not in _SILENT_FORMATS and len(form) <= _LONGEST_PATTERN:
        yield f"format {form}"
    if isinstance(pattern, str) and len(pattern) <= _LONGEST_PATTERN:
        yield f"matches {pattern}"
    examples = keywords.get("examples")
    if isinstance(examples, list) and examples:
        shown = [literal(e) for e in examples[:_MOST_EXAMPLES]]
        if sum(map(len, shown)) <= PREVIEW_CHARS:
            yield f"such as {', '.join(shown)}"


_PARTS: tuple[Callable[[Mapping[str, Any]], Iterator[str]], ...] = (_range, _sizes, _forms)
