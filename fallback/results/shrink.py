"""Large data made small enough to be shown: fewer records, shorter texts, less depth.

Data that is cut like text ends in the middle of a record and is no JSON any more. Here whole
records are left out, from the middle, and what is missing is said where it is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["shrink"]

_STEPS = ((2_000, 12), (500, 8), (200, 6), (80, 4), (80, 2))
"""Longest text and greatest depth, tried in turn until enough records fit."""

_ENOUGH = 4
"""Records of a list that make it worth showing; with fewer, shorter texts are tried first."""

_MOST_CHARS = 20_000_000
"""Longer data is not taken apart: it would be parsed for seconds to be shown for a page."""


def shrink(text: str, limit: int) -> tuple[str, str] | None:
    """Reduce JSON to at most ``limit`` characters.

    Returns:
        The smaller JSON and a sentence on what is missing; ``None`` where ``text`` is no array or
        object, or even the smallest form does not fit.
    """
    if len(text) > _MOST_CHARS or text[:1] not in ("[", "{"):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    most = _longest(data)
    for chars, depth in _STEPS:
        records = _most_that_fit(data, most, chars, depth, limit)
        if records >= min(_ENOUGH, most) or (chars, depth) == _STEPS[-1]:
            if not records:
                return None
            reducer = _Reducer(records, chars, depth, room=limit)
            return _dumped(reducer.reduced(data)), reducer.told
    return None


def _most_that_fit(data: Any, most: int, chars: int, depth: int, limit: int) -> int:
    """How many records of each list can be kept; 0 for none."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(data, _Reducer(middle, chars, depth, room=limit), limit):
            low = middle
        else:
            high = middle - 1
    return low


def _fits(data: Any, reducer: _Reducer, limit: int) -> bool:
    try:
        return len(_dumped(reducer.reduced(data))) <= limit
    except _TooLargeError:
        return False


class _TooLargeError(Exception):
    """Ends a try as soon as it is clear that it does not fit, so that each costs the same."""


def _dumped(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)


def _longest(data: Any) -> int:
    """The number of members of the longest list or object anywhere inside."""
    longest, waiting = 1, [data]
    for value in waiting:
        if isinstance(value, dict | list):
            longest = max(longest, len(value))
            waiting += value.values() if isinstance(value, dict) else value
    return longest


@dataclass(slots=True)
class _Reducer:
    records: int
    chars: int
    depth: int
    room: int
    left_out: int = 0
    shortened: int = 0
    closed: int = 0

    @property
    def told(self) -> str:
        return "; ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        if self.left_out:
            yield f"{self.left_out} records left out"
        if self.shortened:
            yield f"{self.shortened} texts shortened"
        if self.closed:
            yield f"{self.closed} objects not opened"

    def reduced(self, value: Any, depth: int = 0) -> Any:
        self.room -= min(len(value), self.chars) if isinstance(value, str) else 1
        if self.room < 0:
            raise _TooLargeError
        if isinstance(value, str) and len(value) > self.chars:
            self.shortened += 1
            tail = self.chars // 3
            missing = len(value) - self.chars
            return f"{value[: self.chars - tail]} [... {missing} characters ...] {value[-tail:]}"
        if not isinstance(value, dict | list) or not value:
            return value
        if depth >= self.depth:
            self.closed += 1
            kind = "members" if isinstance(value, dict) else "records"
            return f"[... {len(value)} {kind} ...]"
        if isinstance(value, dict):
            return self._object(value, depth)
        return self._list(value, depth)

    def _object(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        # A record's own fields are worth more than further records.
        kept = list(value.items())[: max(self.records, _ENOUGH * 4)]
        missing = len(value) - len(kept)
        self.left_out += missing
        made = {key: self.reduced(inner, depth + 1) for key, inner in kept}
        if missing:
            made["..."] = f"{missing} of {len(value)} members left out"
        return made

    def _list(self, value: list[Any], depth: int) -> list[Any]:
        missing = len(value) - self.records
        if missing <= 0:
            return [self.reduced(inner, depth + 1) for inner in value]
        self.left_out += missing
        tail = self.records // 3
        head = value[: self.records - tail]
        note = f"... {missing} of {len(value)} records left out; ask for less to see more ..."
        return [
            *(self.reduced(inner, depth + 1) for inner in head),
            note,
            *(self.reduced(inner, depth + 1) for inner in value[len(value) - tail :]),
        ]
