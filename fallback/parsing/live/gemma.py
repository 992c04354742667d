"""Gemma's values as they arrive; see :mod:`fallback.parsing.gemma`."""

from __future__ import annotations

import re

from fallback.parsing.gemma import DELIMITERS
from fallback.parsing.live.follow import LONGEST_WORD, Follower
from fallback.parsing.live.shape import LITERALS, NUMBER
from fallback.parsing.source import begun

_SPACE = re.compile(r"\s*")
_MARKS = frozenset("{}[],:")
_WORD = re.compile(r'[^{}\[\],:<"]+')


class GemmaFollower(Follower):
    """Feeds a shape with what a value in Gemma's syntax holds."""

    def _outside(self, text: str, pos: int) -> int:
        space = _SPACE.match(text, pos)
        pos = space.end() if space else pos
        char = text[pos : pos + 1]
        if not char:
            return pos
        if char in _MARKS:
            self.shape.mark(char)
            return pos + 1
        if char == '"':
            self._open(char)
            return pos + 1
        if char == "<":
            return self._delimiter(text, pos)
        word = _WORD.match(text, pos)
        end = word.end() if word else pos + 1
        if end < len(text):
            self._bare(text[pos:end].strip())
        else:
            self.carry = text[pos:]
            if end - pos > LONGEST_WORD:
                self.shape.stop()
        return end

    def _delimiter(self, text: str, pos: int) -> int:
        for delimiter in DELIMITERS:
            if text.startswith(delimiter, pos):
                self._open(delimiter)
                return pos + len(delimiter)
            if delimiter.startswith(text[pos:]):
                self.carry = text[pos:]
                return len(text)
        self.shape.stop()
        return pos

    def _bare(self, word: str) -> None:
        if self.shape.at_key:
            self.shape.key(word)
        elif word in LITERALS or NUMBER.fullmatch(word):
            self.shape.word(word)
        else:
            self.shape.text(word.strip("'"))

    def _string(self, text: str, pos: int) -> int:
        if self.quote == '"':
            return super()._string(text, pos)
        size = len(self.quote)
        end = text.find(self.quote, pos)
        if end < 0:
            end = len(text) - begun(text, self.quote, pos)
            self.carry = text[end:]
        if end > pos:
            self._take(text[pos:end])
        if self.carry or end == len(text):
            return len(text)
        self._close()
        return end + size
