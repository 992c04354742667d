"""The text that has arrived and is not yet accounted for, and the way to wait for more.

The readers are generators. One that needs more text yields: ``None`` to be woken by any chunk, or
an object whose ``feed(chunk)`` says when it is worth waking, so that a reader that waits for the
end of a long value costs a few instructions per chunk and nothing that grows with the text.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Protocol

_SOLID = re.compile(r"\S")


def begun(text: str, mark: str, start: int = 0) -> int:
    """How many characters at the end, behind ``start``, may be the beginning of a mark."""
    sizes = range(min(len(mark) - 1, len(text) - start), 0, -1)
    return next((size for size in sizes if text.endswith(mark[:size], start)), 0)


class Waiter(Protocol):
    """Says whether a chunk is worth waking a reader for."""

    def feed(self, chunk: str, /) -> bool:
        """Look at the next chunk, exactly once."""
        ...


Reader = Generator[Waiter | None, None, None]


class _Space:
    def feed(self, chunk: str, /) -> bool:
        return not chunk.isspace()


class _Never:
    def feed(self, chunk: str, /) -> bool:
        return False


class AnyOf:
    """Wakes when one of some characters arrives."""

    def __init__(self, characters: str) -> None:
        self._characters = characters

    def feed(self, chunk: str, /) -> bool:
        """See :class:`Waiter`."""
        return any(character in chunk for character in self._characters)


class Until:
    """Wakes when a chunk holds something that an expression finds."""

    def __init__(self, pattern: str) -> None:
        self._search = re.compile(pattern).search

    def feed(self, chunk: str, /) -> bool:
        """See :class:`Waiter`."""
        return self._search(chunk) is not None


SOLID_ARRIVES: Waiter = _Space()
END_ARRIVES: Waiter = _Never()


class Source:
    """A window on the reply.

    Attributes:
        buf: the window; indices of the readers count from its start.
        base: offset in the reply of ``buf[0]``.
        final: whether nothing will follow.
        cut_short: whether the reply ended because the tokens ran out.
    """

    __slots__ = ("_parts", "_reader", "_waiter", "base", "buf", "cut_short", "final")

    def __init__(self) -> None:
        self.buf = ""
        self.base = 0
        self.final = False
        self.cut_short = False
        self._parts: list[str] = []
        self._waiter: Waiter | None = None
        self._reader: Reader | None = None

    def drive(self, reader: Reader) -> None:
        """Use ``reader`` from now on, and run it up to its first wait."""
        self._reader = reader
        self._resume()

    def feed(self, chunk: str) -> None:
        """Add a chunk and let the reader go on, if it is worth it."""
        if self._waiter is not None:
            self._parts.append(chunk)
            if not self._waiter.feed(chunk):
                return
            chunk = "".join(self._parts)
            self._parts.clear()
        self.buf += chunk
        self._resume()

    def close(self, *, cut_short: bool = False) -> None:
        """Let the reader finish with what there is."""
        self.cut_short = cut_short
        self.buf += "".join(self._parts)
        self._parts.clear()
        self.final = True
        self._resume()

    def _resume(self) -> None:
        if self._reader is not None:
            try:
                self._waiter = next(self._reader)
            except StopIteration:
                self._reader = self._waiter = None

    def drop(self, count: int) -> None:
        """Forget the first ``count`` characters; readers that hold indices must not be waiting."""
        self.buf = self.buf[count:]
        self.base += count

    def blank_end(self, low: int) -> int:
        """Where the last line begins, with its line break, if it is blank so far; or the end.

        It may yet become a blank line, which counts whole although only its beginning has come.
        """
        line = self.buf.rfind("\n", low)
        return line if line >= 0 and not self.buf[line:].strip("\n \t") else len(self.buf)

    def solid(self, at: int) -> Generator[Waiter | None, None, int]:
        """Index of the next character that is not white space, or the end of the text."""
        while True:
            match = _SOLID.search(self.buf, at)
            if match:
                return match.start()
            if self.final:
                return len(self.buf)
            at = len(self.buf)
            yield SOLID_ARRIVES
