"""Which keywords of a JSON Schema hold schemas, and how big and deep a JSON value may be.

The tables follow JSON Schema 2020-12, core sections 10 and 11, with the older names that are still
met (``definitions``). Everything that walks a schema uses them, so that data under ``default``,
``enum`` or ``examples`` is never mistaken for a schema.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from fallback.errors import InvalidToolError
from fallback.limits import Limits
from fallback.schema.places import child

IN_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
IN_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
ALONE = (
    "items",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
)
ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
    | {"$comment", "$defs", "definitions"}
)
"""Keywords that say something about a schema without restricting any value."""

_MOST_BITS = 13_000
"""Of a whole number; Python writes no number of more than 4,300 digits."""

Step = tuple[str | int, ...]


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[Step, Any]]:
    """The schemas directly inside one schema, each with the keys that lead to it."""
    for keyword in IN_MAPS:
        held = schema.get(keyword)
        if isinstance(held, dict):
            for name, sub in held.items():
                yield (keyword, name), sub
    for keyword in IN_LISTS:
        held = schema.get(keyword)
        if isinstance(held, list):
            for position, sub in enumerate(held):
                yield (keyword, position), sub
    for keyword in ALONE:
        if isinstance(schema.get(keyword), dict):
            yield (keyword,), schema[keyword]


class JsonCopier:
    """Copies a value that should be JSON, and refuses what is not, or is too much.

    One pass does both because the check has to come before anything recursive touches the value.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits, self._room = limits, limits.max_schema_chars

    def copy(self, value: Any, path: str = "$", depth: int = 0) -> Any:
        """A deep copy with tuples as lists.

        Raises:
            InvalidToolError: not JSON, deeper than ``max_depth`` or larger than
                ``max_schema_chars``.
        """
        if isinstance(value, str):
            self._take(len(value) + 2)
            return self._text(value, path)
        if value is None or isinstance(value, bool | int | float):
            self._take(8)
            return self._number(value, path)
        if depth >= self._limits.max_depth:
            deep = f"nested deeper than {self._limits.max_depth} levels (max_depth)"
            raise InvalidToolError(f"the schema is {deep}")
        self._take(2)
        if isinstance(value, Mapping):
            return {
                self._key(key, path): self.copy(item, child(path, str(key)), depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.copy(v, child(path, i), depth + 1) for i, v in enumerate(value)]
        raise InvalidToolError(f"{path} is {type(value).__name__}, which is not JSON")

    def _key(self, key: Any, path: str) -> str:
        if not isinstance(key, str):
            raise InvalidToolError(f"{path} has the key {key!r}; the keys of JSON are strings")
        self._take(len(key) + 4)
        return self._text(key, path)

    @staticmethod
    def _text(text: str, path: str) -> str:
        if not is_text(text):
            raise InvalidToolError(f"{path} holds half a surrogate pair, not text")
        return str.__str__(text)  # a member of a string enumeration becomes its value

    @staticmethod
    def _number(value: Any, path: str) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidToolError(f"{path} is {value}, which is not JSON")
        if isinstance(value, int) and not isinstance(value, bool):
            if value.bit_length() > _MOST_BITS:
                raise InvalidToolError(f"{path} is a number of more than 4,000 digits")
            return int(value)
        return value

    def _take(self, chars: int) -> None:
        self._room -= chars
        if self._room < 0:
            most = self._limits.max_schema_chars
            raise InvalidToolError(f"the schema is longer than {most} characters as JSON")


def too_deep(value: Any, limit: int) -> bool:
    """Whether arrays and objects are nested more than ``limit`` deep."""
    return flaw(value, limit) == "depth"


def flaw(value: Any, limit: int) -> Literal["depth", "unicode"] | None:
    """Why a value must not go any further: nested too deeply, or text that is not text.

    Half a surrogate pair is what a cut ``\\ud83d`` escape leaves; it cannot be written as UTF-8, so
    it breaks whatever stores or sends the value later.
    """
    layer = [value]
    for depth in range(limit + 2):
        below: list[Any] = []
        for item in layer:
            kind = type(item)
            if kind is str:
                if not item.isascii() and not is_text(item):
                    return "unicode"
            elif kind is dict:
                below += item
                below += item.values()
            elif kind is list:
                below += item
        if not below and depth <= limit:
            return None
        layer = below
    return "depth"


def is_text(text: str) -> bool:
    """Whether the text can be written as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def holds_float(value: Any) -> bool:
    """Whether a number with a fraction or an exponent stands anywhere in the value."""
    if type(value) is dict:
        return any(map(holds_float, value.values()))
    if type(value) is list:
        return any(map(holds_float, value))
    return type(value) is float
