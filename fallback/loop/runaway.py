"""A number that does not end, in a reply that is held to a schema.

A grammar lets a fraction have any number of digits, and a small model that has begun to write zeros
goes on with them up to its limit of tokens, which takes minutes.
"""

from __future__ import annotations

__all__ = ["Runaway"]

_MOST_DIGITS = 64
"""Digits in a row of one number. A float has 17 that mean anything, and 64 bits have 20."""


class Runaway:
    """Reads JSON that is being written; says when a number has run away. Texts may hold any."""

    def __init__(self) -> None:
        self._in_text = self._escaped = False
        self._digits = 0

    def feed(self, piece: str) -> bool:
        """Take the next piece; says whether a number has become too long by now."""
        for char in piece:
            if self._in_text:
                self._in_text = self._escaped or char != '"'
                self._escaped = char == "\\" and not self._escaped
            else:
                self._in_text = char == '"'
                self._digits = self._digits + 1 if char in "0123456789" else 0
                if self._digits > _MOST_DIGITS:
                    return True
        return False
