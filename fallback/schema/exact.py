"""Text that stands for exactly one value of another type, and nothing else.

Models write numbers, booleans and whole structures as strings. Each function here returns the value
that the text denotes, or :data:`NOT_EXACT` where that would lose something (``007``, a fraction
with more digits than a double holds, a key that occurs twice) or would need a guess (``1,000``,
``yes``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, Literal

from fallback.schema.literals import read_literal


class _NotExact:
    """The type of :data:`NOT_EXACT`; ``None`` is a value that text can stand for."""

    def __repr__(self) -> str:
        return "NOT_EXACT"


NOT_EXACT: Final = _NotExact()

TypeName = Literal["object", "array", "number", "integer", "string", "boolean", "null"]

_MOST_DIGITS = 4300
"""What Python converts without being told otherwise, see ``sys.set_int_max_str_digits``."""

_LONGEST_FRACTION = 64
_INTEGER = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0+)?\Z")
# RFC 8259, section 6. An exponent of more than three digits is out of a double's range anyway.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?\Z")
_BOOLEANS = {"true": True, "false": False}
_NULLS = frozenset({"null", "None"})


def as_integer(text: str) -> Any:
    """``200000`` and ``3.0``, of any size; not ``007``, ``1e3`` or ``+5``."""
    found = _INTEGER.match(text.strip()) if len(text) <= _MOST_DIGITS else None
    return int(found[1]) if found else NOT_EXACT


def as_number(text: str) -> Any:
    """A JSON number; whole ones stay whole, fractions must survive as a double."""
    text = text.strip()
    if len(text) <= _MOST_DIGITS and (found := _INTEGER.match(text)) and found[1] == text:
        return int(text)
    if len(text) > _LONGEST_FRACTION or not _NUMBER.match(text):
        return NOT_EXACT
    value = float(text)
    if not math.isfinite(value) or Decimal(text) != Decimal(repr(value)):
        return NOT_EXACT
    return value


def as_boolean(text: str) -> Any:
    """``true`` and ``false`` in any case; not ``yes`` or ``1``."""
    return _BOOLEANS.get(text.strip().casefold(), NOT_EXACT)


def as_null(text: str) -> Any:
    """``null`` and Python's ``None``."""
    return None if text.strip() in _NULLS else NOT_EXACT


def as_object(text: str) -> Any:
    """An object written as JSON, or as a Python literal."""
    return _structure(text, "{", dict)


def as_array(text: str) -> Any:
    """An array written as JSON, or as a Python literal."""
    return _structure(text, "[(", list)


def _structure(text: str, openers: str, kind: type) -> Any:
    text = text.strip()
    if not text or text[0] not in openers:
        return NOT_EXACT
    from jiter import from_json

    try:
        value = from_json(text.encode("utf-8"), allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError:  # jiter's error for bad JSON, and that for half a surrogate pair
        value = read_literal(text)
    return value if isinstance(value, kind) and _is_json(value) else NOT_EXACT


def _is_json(value: Any) -> bool:
    """Whether a decoded value can be written again: ``1e999`` and ``"\\ud800"`` cannot."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except ValueError:
        return False
    return True


READERS: dict[str, Callable[[str], Any]] = {
    "integer": as_integer,
    "number": as_number,
    "boolean": as_boolean,
    "null": as_null,
    "object": as_object,
    "array": as_array,
}
"""How text is read as each type but its own."""


def type_of(value: Any) -> TypeName:
    """The JSON type of a value; a whole number is an ``integer`` if Python says so."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "array" if isinstance(value, list | tuple) else "object"
