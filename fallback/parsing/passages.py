"""Passages that are handed on without being read: thinking, answers, and what is dropped."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from fallback.parsing.source import END_ARRIVES

if TYPE_CHECKING:
    from fallback.parsing.scanner import Scanner, Steps


_KEPT = 200  # characters of an unread rest that are shown where it is reported


@cache
def _any_of(closers: tuple[str, ...]) -> re.Pattern[str]:
    """Matches any of them, in any case: a model closes in one what it opened in another."""
    return re.compile("|".join(map(re.escape, closers)), re.IGNORECASE | re.ASCII)


class Passages:
    """The scanner's way through them."""

    def __init__(self, scanner: Scanner) -> None:
        self.source, self.cursor = scanner.source, scanner.cursor

    def reasoning(self, closers: tuple[str, ...], *, keep: str = "") -> Steps:
        """Everything up to a closer is thinking and leaves as it arrives; ``keep`` is not taken."""
        yield from self._pass_on(closers, self._thinking, keep)
        self.cursor.fresh_line()

    def answer(self, closers: tuple[str, ...]) -> Steps:
        """Pass everything up to a closer on as text: a channel that holds the answer, not calls."""
        start = self.source.base + self.cursor.pos
        pieces: list[str] = []

        def give(end: int) -> None:
            pieces.append(self.source.buf[self.cursor.pos : end])
            self.cursor.text(end)

        yield from self._pass_on(closers, give, "<|start|>")
        self.cursor.sink.quoted("final_channel", "".join(pieces), start)

    def result(self, hit: int, behind: int, closers: tuple[str, ...]) -> Steps:
        """A result that the model wrote without a call is shown, but nothing in it is a call."""
        start = self.source.base + behind
        pieces: list[str] = []
        self.cursor.text(behind)

        def give(end: int) -> None:
            pieces.append(self.source.buf[self.cursor.pos : end])
            self.cursor.text(end)

        yield from self._pass_on(closers, give, "".join(closers))
        self.cursor.sink.quoted("in_result", "".join(pieces), start)

    def others(self, hit: int) -> Steps:
        """From here on the model speaks for somebody else: text, but nothing in it is a call."""
        start = self.source.base + hit
        self.cursor.text(hit)
        pieces: list[str] = []
        while True:
            pieces.append(self.source.buf[self.cursor.pos :])
            self.cursor.text(len(self.source.buf))
            if self.source.final:
                break
            self.cursor.forget()
            yield None
        self.cursor.sink.quoted("next_turn", "".join(pieces), start)

    def drop(self, hit: int, note: str = "invented_result") -> Steps:
        """From here on it is not this reply's business; ``note`` says why."""
        self.cursor.text(hit)
        self.cursor.sink.batch_over()
        while not self.source.final:
            yield END_ARRIVES
        self.cursor.segment("dropped", hit, len(self.source.buf), note)

    def unread(self, place: int) -> Steps:
        """So much came to nothing that from ``place`` on, in the reply, everything is text."""
        self.cursor.text(place - self.source.base)
        start = self.source.base + self.cursor.pos
        kept = ""
        while True:
            kept += self.source.buf[self.cursor.pos : self.cursor.pos + _KEPT - len(kept)]
            self.cursor.text(len(self.source.buf))
            if self.source.final:
                break
            self.cursor.forget()
            yield None
        if kept.strip():
            self.cursor.sink.suppressed("too_many_false_starts", kept, start)

    def _thinking(self, end: int) -> None:
        if end > self.cursor.pos:
            self.cursor.sink.reasoning(
                self.source.buf[self.cursor.pos : end], self.source.base + self.cursor.pos
            )
            self.cursor.advance(end)

    def _pass_on(self, closers: tuple[str, ...], give: Callable[[int], None], keep: str) -> Steps:
        source = self.source
        pattern = _any_of(closers)
        while True:
            match = pattern.search(source.buf, self.cursor.pos)
            if match:
                give(match.start())
                if match.group() != keep:
                    self.cursor.segment("markup", match.start(), match.end())
                return
            give(len(source.buf) if source.final else self._partial(closers))
            if source.final:
                return
            self.cursor.forget()
            yield None

    def _partial(self, closers: tuple[str, ...]) -> int:
        """Where a suffix begins that may still become a closer."""
        buf = self.source.buf
        longest = max(map(len, closers)) - 1
        for at in range(max(self.cursor.pos, len(buf) - longest), len(buf)):
            tail = buf[at:].lower()
            if any(closer.lower().startswith(tail) for closer in closers):
                return at
        return len(buf)
