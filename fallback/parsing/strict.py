"""Strict JSON, at C speed, with the three things the standard decoder lets through refused.

JSON is RFC 8259. Refused beyond it: duplicate keys (two readers would run two different calls),
``NaN`` and
``Infinity`` (no JSON reader downstream takes them), and nesting beyond the limit.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from fallback.limits import DEFAULT_LIMITS


class DuplicateKeyError(ValueError):
    """An object names a key twice, so there is no one value to run."""


def unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object, for ``json``; raises :class:`DuplicateKeyError`."""
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value] # add() is always falsy, that is the point
        raise DuplicateKeyError(twice)
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_STRICT = json.JSONDecoder(object_pairs_hook=unique_pairs, parse_constant=_refuse)
_CONTROL = json.JSONDecoder(object_pairs_hook=unique_pairs, parse_constant=_refuse, strict=False)


def decode_at(text: str, pos: int, *, control_characters: bool = False) -> tuple[Any, int]:
    """Decode the JSON value that starts at ``pos`` and say where it ended.

    Args:
        text: the text; what follows the value does not matter.
        pos: offset of the value's first character.
        control_characters: let raw newlines and the like stand inside strings.

    Raises:
        DuplicateKeyError: the value is JSON but not one value.
        ValueError: there is no complete value here.
    """
    decoder = _CONTROL if control_characters else _STRICT
    try:
        value, end = decoder.raw_decode(text, pos)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        if str(error).startswith("Exceeds the limit"):  # of sys.set_int_max_str_digits
            raise ValueError("an integer with too many digits") from None
        raise
    limit = DEFAULT_LIMITS.max_depth
    # A value that deep has as many closers as openers, so a short one cannot be.
    if end - pos > 2 * limit and depth_exceeds(value, limit):
        raise ValueError("nested too deeply")
    return value, end


def merge(named: dict[str, Any], others: list[dict[str, Any]], places: list[int]) -> dict[str, Any]:
    """The members of an object and of others that were written between them, in that order.

    Args:
        named: the object.
        others: what is put in.
        places: how many members of the object stand before each of them.

    Raises:
        DuplicateKeyError: a key stands in more than one.
    """
    items, taken = list(named.items()), 0
    merged: dict[str, Any] = {}
    for other, place in zip(others, places, strict=True):
        merged.update(items[taken:place])
        taken = place
        for key, value in other.items():
            if key in merged or key in named:
                raise DuplicateKeyError(key)
            merged[key] = value
    merged.update(items[taken:])
    return merged


def depth_exceeds(value: Any, limit: int) -> bool:
    """Whether containers are nested more than ``limit`` deep; never recurses."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True
