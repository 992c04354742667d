"""What a line of somebody's own suite may not say: what nobody can meet, and what means nothing.

A model that is judged by an expectation that cannot be met looks bad whatever it does, and nobody
notices. So a suite is read more strictly than a record of a case: the leaderboard's cases, two of
which break their tools' own schemas, and those that lie in a folder of results are not checked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from fallback.compare.faults import CaseError
from fallback.parsing.strict import DuplicateKeyError, unique_pairs
from fallback.schema import Violation, violations
from fallback.schema.places import child
from fallback.tools import Tool

__all__ = ["MAX_PADDING", "MAX_WINDOW", "check_expectations", "check_numbers", "strict_json"]

MAX_WINDOW = 2**24
"""Tokens of the largest window: 16 million; the largest that a model has been trained for is 10."""

MAX_PADDING = 100_000_000
"""Characters of padding: more than fill the largest window."""

_MAX_CANDIDATES = 64
"""Values of one argument that are held against its schema; what has more is taken as it is."""

_OPENING = frozenset(
    {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas",
     "patternProperties", "unevaluatedProperties"}
)  # fmt: skip
"""Keywords of a schema that may name further properties, or allow some."""


def strict_json(text: str) -> Any:
    """Decode JSON in which every key counts and every number is one.

    Raises:
        CaseError: a key occurs twice in an object, or a number is not finite or endless.
        ValueError: it is no JSON; ``RecursionError`` where it is nested too deep.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=unique_pairs,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
    except DuplicateKeyError as error:
        raise CaseError(f"the key {str(error)!r} occurs twice in one object") from error


def _no_constant(name: str) -> Any:
    raise CaseError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise CaseError(f"the number {text:.40} is too large")
    return value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:  # Python's own bound, some thousands of digits
        raise CaseError(f"a number has {len(text):,} digits") from error


def check_numbers(value: Mapping[str, Any]) -> None:
    """Check the numbers of a line.

    Raises:
        CaseError: a window or a padding is no whole number, or not of a size that can be.
    """
    for key, least, most, unit in (
        ("num_ctx", 1, MAX_WINDOW, "tokens"),
        ("padding", 0, MAX_PADDING, "characters"),
    ):
        held = value.get(key)
        if held is None:
            continue
        whole = isinstance(held, int) and not isinstance(held, bool)
        if not whole or not least <= held <= most:
            raise CaseError(f"{key!r} is a number of {unit} from {least} to {most:,}")


def check_expectations(value: Mapping[str, Any], tools: Mapping[str, Tool]) -> None:
    """Check what a line expects, and what its tools return.

    Args:
        value: the line, of which a case could be made.
        tools: the tools of the case by their names.

    Raises:
        CaseError: something that nobody can meet, or that means nothing.
    """
    if not isinstance(value.get("ordered", False), bool):
        raise CaseError("'ordered' is true or false")
    _check_answer(value.get("answer") or {})
    for kind, what in (("calls", "an expected call"), ("results", "a result")):
        for entry in value.get(kind, ()):
            if kind == "calls" or entry.get("arguments") is not None:
                _check_arguments(entry.get("arguments", {}), tools[entry["name"]], what)


def _check_answer(answer: Mapping[str, Any]) -> None:
    for key in ("has", "not"):
        for entry in answer.get(key, ()):
            if not all(text.strip() for text in ([entry] if isinstance(entry, str) else entry)):
                raise CaseError(f"a text in {key!r} is empty: every answer says that")


def _check_arguments(arguments: Mapping[str, Any], tool: Tool, what: str) -> None:
    schema = tool.parameters
    declared = schema.get("properties")
    closed = schema.get("additionalProperties", False) is False and not _OPENING & schema.keys()
    if closed and isinstance(declared, Mapping):
        for name in (name for name in arguments if name not in declared):
            has = f"it has {', '.join(declared)}" if declared else "it has none"
            raise CaseError(f"{what} of {tool.name!r} has an argument {name!r}; {has}")
    for name in schema.get("required", ()):
        if name not in arguments:
            raise CaseError(
                f"{what} of {tool.name!r} lacks {name!r}, which the tool requires;"
                ' {"$any": true} stands for any value'
            )
    for name, expected in arguments.items():
        _check_words(expected)
        if (fault := _refused(name, expected, schema)) is not None:
            raise CaseError(f"{what} of {tool.name!r} breaks the tool's schema: {fault.message}")


def _check_words(expected: Any) -> None:
    """Find a ``$contains`` that every text meets."""
    if isinstance(expected, Mapping):
        words = expected.get("$contains")
        if isinstance(words, list) and not (words and all(word.strip() for word in words)):
            raise CaseError("'$contains' is a list of words, none of them empty")
        expected = list(expected.values())
    for inner in expected if isinstance(expected, list) else ():
        _check_words(inner)


def _refused(name: str, expected: Any, schema: Mapping[str, Any]) -> Violation | None:
    """What the schema has against every value that is expected of an argument."""
    try:
        values = list(islice(_values(expected), _MAX_CANDIDATES + 1))
    except _Open:
        return None
    if len(values) > _MAX_CANDIDATES:
        return None
    alone = {key: held for key, held in schema.items() if key != "required"}
    first = None
    for value in values:
        if (fault := _fault(name, value, alone)) is None:
            return None
        first = first or fault
    return first


def _fault(name: str, value: Any, schema: Mapping[str, Any]) -> Violation | None:
    """What the schema has against the value itself, whatever other arguments there are."""
    place = child("$", name)
    for fault in violations(schema, {name: value}):
        if fault.path == place or fault.path.startswith((f"{place}.", f"{place}[")):
            return fault
    return None


class _Open(Exception):  # no error: the values that are meant cannot be listed
    """A pattern stands for more values than can be listed."""


def _values(expected: Any) -> Iterator[Any]:
    """The values that an expectation stands for, those that may be left out included.

    Raises:
        _Open: they cannot be listed.
    """
    if isinstance(expected, list):
        yield from map(list, _combined(expected))
    elif not isinstance(expected, Mapping):
        yield expected
    elif "$any_of" in expected:
        for option in expected["$any_of"]:
            yield from _values(option)
    elif "$optional" in expected:
        yield from _values(expected["$optional"])
    elif any(key.startswith("$") for key in expected):
        raise _Open
    else:
        for values in _combined(list(expected.values())):
            yield dict(zip(expected, values, strict=True))


def _combined(parts: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    yield from product(*(list(islice(_values(part), _MAX_CANDIDATES + 1)) for part in parts))
