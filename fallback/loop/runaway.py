"""What does not end in a reply that is held to a schema: a number, or a gap in front of a value.

A grammar lets a fraction have any number of digits, and a small model that has begun to write zeros
goes on with them up to its limit of tokens, which takes minutes. Some grammars allow as many blanks
between the pieces of a value, and a model that would write what the schema forbids (``25`` for
``"25"``) writes those.
"""

from __future__ import annotations

__all__ = ["Runaway"]

_MOST_DIGITS = 64
"""Digits in a row of one number. A float has 17 that mean anything, and 64 bits have 20."""

_MOST_BLANKS = 128
"""Blanks in a row, more than the deepest line of a call is indented by."""


class Runaway:
    """Reads JSON that is being written; says when it has run away. Texts may hold any."""

    def __init__(self) -> None:
        self._in_text = self._escaped = False
        self._digits = self._blanks = 0

    def feed(self, piece: str) -> bool:
        """Take the next piece; says whether a number or a gap has become too long by now."""
        for char in piece:
            if self._in_text:
                self._in_text = self._escaped or char != '"'
                self._escaped = char == "\\" and not self._escaped
            else:
                self._in_text = char == '"'
                self._digits = self._digits + 1 if char in "0123456789" else 0
                self._blanks = self._blanks + 1 if char in " \t\r\n" else 0
                if self._digits > _MOST_DIGITS or self._blanks > _MOST_BLANKS:
                    return True
        return False
