"""What the lines of a folder of results have to have, and what is wrong with one that has not.

A file can be damaged and be JSON all the same: a line that was edited, merged or cut by a tool.
What is read of a line is described here once, as plain data, and nothing else has to doubt it. Keys
that are not described may be there.

A description is one of the words below, ``Maybe`` of a description, a list with one description for
an array of them, a tuple for an array of exactly these, or a dict for an object with these keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from fallback.parsing.strict import depth_exceeds

__all__ = ["CASE", "RECORD", "RUN", "wrong"]

_MOST = 10**12
"""The largest number that can be meant: tokens or seconds of one reply stay far below, and what is
added up over all records stays a number."""

_MAX_DEPTH = 160
"""Nesting of values that are not described: a call's arguments are read down to 128."""


class Word(Enum):
    """What a value is; how it is told that it is not."""

    TEXT = "is no text"
    KEY = "is no text, or an empty one"
    FLAG = "is neither true nor false"
    COUNT = "is no whole number from 0 to 10^12"
    WHOLE = "is no whole number"
    NUMBER = "is no number, or too large a one"
    ANY = "is nested deeper than 160"


@dataclass(frozen=True, slots=True)
class Maybe:
    """A description, or ``null``."""

    shape: Shape


Shape = Word | Maybe | list["Shape"] | tuple["Shape", ...] | dict[str, "Shape"]

_CALL: Shape = {
    "name": Word.TEXT,
    "arguments": {},
    "repairs": [Word.TEXT],
    "status": Word.TEXT,
    "copy": Word.FLAG,
    "result": Word.TEXT,
}
_USAGE: Shape = {
    "prompt_tokens": Word.COUNT,
    "cached_tokens": Maybe(Word.COUNT),
    "completion_tokens": Word.COUNT,
    "seconds": Word.NUMBER,
    "load_seconds": Word.NUMBER,
    "first_token_seconds": Maybe(Word.NUMBER),
}
_OPTIONS: Shape = {"temperature": Word.NUMBER, "seed": Word.WHOLE, "num_predict": Word.WHOLE}
_STEP: Shape = {
    "mode": Word.TEXT,
    "path": Word.TEXT,
    "source": Word.TEXT,
    "raw": Word.TEXT,
    "reasoning": Word.TEXT,
    "segments": [(Word.TEXT, Word.COUNT, Word.COUNT, Word.TEXT)],
    "calls": [_CALL],
    "problems": [{"kind": Word.TEXT, "message": Word.TEXT}],
    "suppressed": [Word.TEXT],
    "notes": [Word.TEXT],
    "usage": _USAGE,
}
RECORD: Shape = {
    "v": Word.COUNT,
    "key": Word.KEY,
    "model": Word.KEY,
    "digest": Word.TEXT,
    "way": Word.KEY,
    "suite": Word.KEY,
    "case": Word.KEY,
    "case_digest": Word.KEY,
    "kind": Word.TEXT,
    "repeat": Word.COUNT,
    "version": Word.TEXT,
    "at": Word.TEXT,
    "options": _OPTIONS,
    "prompt": [(Word.TEXT, Word.TEXT)],
    "answer": Word.TEXT,
    "stop": Word.TEXT,
    "error": Maybe({"kind": Word.TEXT, "message": Word.TEXT}),
    "steps": [_STEP],
}
"""A line of ``results.jsonl``, as :func:`fallback.compare.units.run_unit` makes it."""

CASE: Shape = {"digest": Word.KEY, "suite": Word.KEY, "case": {"id": Word.KEY}}
"""A line of ``cases.jsonl``; :func:`fallback.compare.cases.read_case` reads the case itself."""

RUN: Shape = {"at": Word.TEXT, "command": Word.TEXT, "where": Word.TEXT}
"""A line of ``runs.jsonl``."""


def wrong(value: Mapping[str, Any], shape: Shape) -> str:
    """What is wrong with a decoded line: ``'steps[0].raw' is no text``; empty if nothing is."""
    return _wrong(value, shape, "")


def _wrong(value: Any, shape: Shape, place: str) -> str:
    if isinstance(shape, Maybe):
        return "" if value is None else _wrong(value, shape.shape, place)
    if isinstance(shape, Word):
        return "" if _is(value, shape) else f"{place!r} {shape.value}"
    if isinstance(shape, dict):
        return _wrong_object(value, shape, place)
    if not isinstance(value, list):
        return f"{place!r} is no array"
    if isinstance(shape, tuple) and len(value) != len(shape):
        return f"{place!r} is no array of {len(shape)}"
    shapes = shape if isinstance(shape, tuple) else shape * len(value)
    for number, (held, wanted) in enumerate(zip(value, shapes, strict=True)):
        if found := _wrong(held, wanted, f"{place}[{number}]"):
            return found
    return ""


def _wrong_object(value: Any, shape: Mapping[str, Shape], place: str) -> str:
    if not isinstance(value, dict):
        return f"{place!r} is no object"
    before = f"{place}." if place else ""
    for key, wanted in shape.items():
        if key not in value:
            return f"{before + key!r} is missing"
        if found := _wrong(value[key], wanted, before + key):
            return found
    for key, held in value.items():
        if key not in shape and not _is(held, Word.ANY):
            return f"{before + key!r} {Word.ANY.value}"
    return ""


def _is(value: Any, word: Word) -> bool:
    match word:
        case Word.TEXT:
            return isinstance(value, str)
        case Word.KEY:
            return isinstance(value, str) and bool(value)
        case Word.FLAG:
            return isinstance(value, bool)
        case Word.COUNT:
            return type(value) is int and 0 <= value <= _MOST
        case Word.WHOLE:
            return type(value) is int
        case Word.NUMBER:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return number and abs(value) <= _MOST
        case Word.ANY:
            return not depth_exceeds(value, _MAX_DEPTH - 2)  # it leaves an empty last one out
