"""Which values of an argument are right: patterns, and whether a value matches one.

A pattern is written as JSON. A plain value stands for itself; an object with one key that begins
with ``$`` stands for more:

``{"$any_of": [p, ...]}``
    one of these.
``{"$optional": p}``
    as a field of an object or an argument: may be left out; if it is there, it matches ``p``.
``{"$contains": ["word", ...]}``
    text in which all of these occur, in any case.
``{"$any": true}``
    anything.

Text is compared loosely unless a pattern is made ``exact``: case, spaces and the marks
``, . / - _ * ^`` do not count and ``'`` is ``"``. That is what the Berkeley leaderboard's checker
does (``bfcl-eval`` 2026.3.23, ``ast_checker``), because "April 1, 2024" is no worse than
"April 1 2024". Numbers are compared by value, but ``true`` is no number, and a float is no integer
where the schema asks for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fallback.errors import ConfigurationError

__all__ = ["Alternatives", "Anything", "Contains", "Exactly", "Fields", "Items", "Pattern", "read"]

_IGNORED = re.compile(r"[ ,./\-_*^]")
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Anything:
    """Every value matches."""


@dataclass(frozen=True, slots=True)
class Exactly:
    """One scalar; ``loose`` is how text is compared, ``whole`` refuses a float."""

    value: str | int | float | bool | None
    loose: bool = True
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Contains:
    """Text that holds all of these words."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of these."""

    options: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """An array, item by item."""

    items: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """An object; ``optional`` are the fields that may be left out, others may not be there."""

    fields: Mapping[str, Pattern]
    optional: frozenset[str] = frozenset()


Pattern = Anything | Exactly | Contains | Alternatives | Items | Fields


def read(value: Any, schema: Any = None, *, loose: bool = True, depth: int = 0) -> Pattern:
    """Make a pattern of JSON.

    Args:
        value: the pattern as JSON has it, without ``$optional``, which belongs to a field.
        schema: JSON Schema of what is matched, as far as it is known: it tells integers apart.
        loose: how text is compared.
        depth: nesting so far.

    Raises:
        ConfigurationError: an object begins with ``$`` and is none of those above.
    """
    if depth > _MAX_DEPTH:
        raise ConfigurationError(f"an expected value is nested deeper than {_MAX_DEPTH}")
    if isinstance(value, list):
        inner = _items_of(schema)
        return Items(tuple(read(v, inner, loose=loose, depth=depth + 1) for v in value))
    if not isinstance(value, Mapping):
        kind = _type_of(schema)
        # Text where something else is declared is the name of a variable: every letter counts.
        text = kind is None or kind == "string" or (isinstance(kind, list) and "string" in kind)
        return Exactly(value, loose=loose and text, whole=kind == "integer")
    special = next((key for key in value if key.startswith("$")), None)
    if special is None:
        return read_fields(value, schema, loose=loose, depth=depth)
    return _special(special, value, schema, loose=loose, depth=depth)


def read_fields(
    value: Mapping[str, Any], schema: Any = None, *, loose: bool = True, depth: int = 0
) -> Fields:
    """Make a pattern of an object, such as the arguments of a call; see :func:`read`."""
    declared = schema.get("properties") if isinstance(schema, Mapping) else None
    declared = declared if isinstance(declared, Mapping) else {}
    fields: dict[str, Pattern] = {}
    optional = set()
    for name, held in value.items():
        given = held
        if isinstance(held, Mapping) and held.keys() == {"$optional"}:
            optional.add(name)
            given = held["$optional"]
        fields[name] = read(given, declared.get(name), loose=loose, depth=depth + 1)
    return Fields(fields, frozenset(optional))


def _special(
    key: str, value: Mapping[str, Any], schema: Any, *, loose: bool, depth: int
) -> Pattern:
    held = value[key]
    if len(value) == 1:
        if key == "$any" and held is True:
            return Anything()
        if key == "$any_of" and isinstance(held, list) and held:
            options = (read(v, schema, loose=loose, depth=depth + 1) for v in held)
            return Alternatives(tuple(options))
        if key == "$contains" and isinstance(held, list) and all(isinstance(w, str) for w in held):
            return Contains(tuple(held))
    raise ConfigurationError(
        f"{key!r} is no expectation of this form; there are {{'$any_of': [...]}},"
        " {'$optional': value}, {'$contains': ['word']} and {'$any': true}"
    )


def _type_of(schema: Any) -> Any:
    return schema.get("type") if isinstance(schema, Mapping) else None


def _items_of(schema: Any) -> Any:
    return schema.get("items") if isinstance(schema, Mapping) else None


def matches(pattern: Pattern, value: Any) -> bool:
    """Whether a value is one of those that the pattern stands for."""
    match pattern:
        case Anything():
            return True
        case Exactly():
            return _same(pattern, value)
        case Contains(words):
            return isinstance(value, str) and holds_all(value, words)
        case Alternatives(options):
            return any(matches(option, value) for option in options)
        case Items(items):
            return (
                isinstance(value, list | tuple)
                and len(value) == len(items)
                and all(map(matches, items, value))
            )
        case Fields():
            return isinstance(value, Mapping) and not wrong_fields(pattern, value)


def wrong_fields(pattern: Fields, value: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with an object: field to ``missing``, ``unexpected`` or ``value``."""
    wrong = {name: "unexpected" for name in value if name not in pattern.fields}
    for name, wanted in pattern.fields.items():
        if name not in value:
            if name not in pattern.optional:
                wrong[name] = "missing"
        elif not matches(wanted, value[name]):
            wrong[name] = "value"
    return wrong


def holds_all(text: str, words: Iterable[str]) -> bool:
    """Whether all words occur in the text, whatever their case."""
    folded = text.casefold()
    return all(word.casefold() in folded for word in words)


def loosened(text: str) -> str:
    """Text as it is compared loosely."""
    return _IGNORED.sub("", text).lower().replace("'", '"')


def _same(pattern: Exactly, value: Any) -> bool:
    wanted = pattern.value
    if isinstance(wanted, str):
        if not isinstance(value, str):
            return False
        return loosened(value) == loosened(wanted) if pattern.loose else value == wanted
    if isinstance(wanted, bool) or isinstance(value, bool) or wanted is None:
        return value is wanted
    if not isinstance(value, int | float) or (pattern.whole and isinstance(value, float)):
        return False
    return value == wanted


def shown(pattern: Pattern) -> Any:
    """The pattern as JSON again, for people to read."""
    match pattern:
        case Anything():
            return {"$any": True}
        case Exactly(value):
            return value
        case Contains(words):
            return {"$contains": list(words)}
        case Alternatives(options):
            return {"$any_of": [shown(option) for option in options]}
        case Items(items):
            return [shown(item) for item in items]
        case Fields(fields, optional):
            return {
                name: {"$optional": shown(held)} if name in optional else shown(held)
                for name, held in fields.items()
            }
