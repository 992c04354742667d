"""Small valid values of one type: words, numbers, and text that fits a simple pattern.

The words are plain English made of the parameter's own name (``some search query``): a placeholder
such as ``<city>`` or ``your_city`` comes back from small models as if it were a value, and an
invented word could be taken for the name of a tool.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fallback.schema.formats import EXAMPLES, HINTS

_LONGEST_NAME = 40
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_MOST_PATTERN = 200
_MOST_SAMPLE = 1000


def sample_text(name: str, keywords: Mapping[str, Any]) -> str:
    """Text that fits ``format``, ``pattern`` and the lengths, as far as that is simple."""
    form, pattern = keywords.get("format"), keywords.get("pattern")
    if isinstance(form, str) and (fixed := EXAMPLES.get(form) or HINTS.get(form)):
        return fixed
    if isinstance(pattern, str) and (made := sample_of_pattern(pattern)) is not None:
        return made
    low, high = int(keywords.get("minLength", 0)), keywords.get("maxLength", math.inf)
    words = " ".join(_WORDS.findall(name)).lower()
    text = f"some {words}" if words and len(words) <= _LONGEST_NAME else "text"
    if len(text) > high:
        text = "text"[: int(high)]
    if len(text) < low <= _MOST_SAMPLE:
        text = (text + " text" * low)[:low].rstrip().ljust(low, "t")
    return text


def sample_number(kind: str, keywords: Mapping[str, Any]) -> int | float:
    """One (one and a half where fractions are usual), or what the bounds allow that is near it."""
    usual: int | float = 1 if kind == "integer" else 1.5
    try:
        for number in _numbers(usual, kind == "integer", keywords):
            if _allowed(number, keywords):
                return number
    except OverflowError:  # bounds beyond what a double holds
        return next((keywords[k] for k in ("minimum", "maximum") if k in keywords), usual)
    return usual


def _numbers(usual: float, whole: bool, keywords: Mapping[str, Any]) -> Iterator[int | float]:
    """Numbers near the usual one and near each bound, on the steps if there are any."""
    low = max(keywords.get("minimum", -math.inf), keywords.get("exclusiveMinimum", -math.inf))
    high = min(keywords.get("maximum", math.inf), keywords.get("exclusiveMaximum", math.inf))
    step = keywords.get("multipleOf") or whole
    near = [usual, *(bound for bound in (low, high) if math.isfinite(bound))]
    if not step:
        yield from near
        if math.isfinite(low) and math.isfinite(high):
            yield (low + high) / 2
        yield from (low + 1, high - 1)
        return
    if whole and not float(step).is_integer():
        step = 1
    for number in near:
        count = math.ceil(number / step)
        # A bound may be excluded, so the next step on either side is tried as well.
        yield from (_plain(n * step) for n in (count, count - 1, count + 1))


def _plain(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number


def _allowed(number: float, keywords: Mapping[str, Any]) -> bool:
    low, high = keywords.get("minimum", number), keywords.get("maximum", number)
    above, below = keywords.get("exclusiveMinimum"), keywords.get("exclusiveMaximum")
    return bool(
        low <= number <= high
        and (above is None or above < number)
        and (below is None or number < below)
        and math.isfinite(number)
    )


def sample_of_pattern(pattern: str) -> str | None:
    """Text that matches a simple regular expression; ``None`` if it is not simple.

    Simple: literals, classes, groups, alternatives and repetitions. The caller checks the result.
    """
    if len(pattern) > _MOST_PATTERN:
        return None
    reader = _Pattern(pattern)
    try:
        text = reader.alternatives()
    except _NotSimpleError:
        return None
    return text if reader.at_end and len(text) <= _MOST_SAMPLE else None


class _NotSimpleError(Exception):
    """The pattern uses something that is not followed here."""


_CLASSES = {"d": "1", "w": "a", "s": " ", "D": "a", "W": " ", "S": "a"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_REPEAT = re.compile(r"\{(\d+)(?:,\d*)?\}")
_CANDIDATES = "a1A-_ .@/:x0Zz%#"


class _Pattern:
    """Reads a pattern from left to right and writes the shortest text for it."""

    def __init__(self, pattern: str) -> None:
        self._text, self._here, self._depth = pattern, 0, 0

    @property
    def at_end(self) -> bool:
        return self._here == len(self._text)

    def alternatives(self) -> str:
        first = self._sequence()
        while self._peek() == "|":
            self._here += 1
            self._sequence()
        return first

    def _sequence(self) -> str:
        made: list[str] = []
        while self._peek() not in ("", "|", ")"):
            piece = self._atom()
            made.append(piece * self._times())
            if sum(map(len, made)) > _MOST_SAMPLE:
                raise _NotSimpleError
        return "".join(made)

    def _peek(self) -> str:
        return self._text[self._here : self._here + 1]

    def _next(self) -> str:
        char = self._peek()
        if not char:
            raise _NotSimpleError
        self._here += 1
        return char

    def _atom(self) -> str:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char in "^$":
            return ""
        if char in "*+?{":
            raise _NotSimpleError
        return "a" if char == "." else char

    def _group(self) -> str:
        self._depth += 1
        if self._peek() == "?":
            if not self._text.startswith("?:", self._here):
                raise _NotSimpleError
            self._here += 2
        if self._depth > 20:
            raise _NotSimpleError
        made = self.alternatives()
        if self._next() != ")":
            raise _NotSimpleError
        self._depth -= 1
        return made

    def _escape(self) -> str:
        char = self._next()
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in "bB":
            return ""
        if char.isalnum():
            raise _NotSimpleError
        return char

    def _class(self) -> str:
        start = self._here
        if self._peek() == "^":
            self._here += 1
        if self._peek() == "]":
            self._here += 1
        while (char := self._next()) != "]":
            if char == "[":
                raise _NotSimpleError
            self._here += char == "\\"
        body = self._text[start : self._here - 1]
        try:
            member = re.compile(f"[{body}]")
        except re.error:
            raise _NotSimpleError from None
        letters: list[str] = [*_CANDIDATES, *(c for c in body if c not in "^\\-")]
        for char in letters:
            if member.match(char):
                return char
        raise _NotSimpleError

    def _times(self) -> int:
        char = self._peek()
        times = 1
        if found := _REPEAT.match(self._text, self._here):
            times, self._here = int(found[1]), found.end()
        elif char and char in "*?":
            times, self._here = 0, self._here + 1
        elif char == "+":
            self._here += 1
        if char and char in "*?+{" and self._peek() in ("?", "+"):
            self._here += 1
        if times > _MOST_SAMPLE:
            raise _NotSimpleError
        return times
