"""Calls in running text, ``[tool(args) → result]``, for replies to a prompt that asked for them.

Nothing sets such a call apart from a sentence about one, so it is read only where it was asked for,
and only if it names a declared tool. It is a call as soon as its arrow is written: what stands
behind that is a result, and no model knows it, so the rest of the reply is dropped. Source of the
form: Schick et al., *Toolformer* (2023), section 2.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from fallback.dialects.record import ARROW, INLINE
from fallback.parsing.bodies import Body
from fallback.parsing.source import Waiter

if TYPE_CHECKING:
    from fallback.parsing.scanner import Scanner, Steps

__all__ = ["Inline"]

_ARROWS = (ARROW, "->", "=>")
_OPEN_QUOTES = ('"', "“", "«", "‘")


class Inline:
    """The scanner's reader of calls in running text."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner, self.source, self.cursor = scanner, scanner.source, scanner.cursor

    def call(self, hit: int) -> Generator[Waiter | None, None, bool]:
        """Read what the bracket at ``hit`` opens, if it calls; says whether it was dealt with."""
        if not (yield from self._opens_call(hit)):
            return False
        if (yield from self.scanner.quoting.quotes(hit)):
            return True
        quoted = self.cursor.line_before(hit)[-1:] in _OPEN_QUOTES
        body = yield from self.scanner.reader.body(
            hit, enveloped=False, hit=None if quoted else hit
        )
        if not body.items:
            return False
        arrow, end = yield from self._behind(body)
        closed = end > body.end or self.source.buf[body.end - 1] == "]"
        ends = end == len(self.source.buf)
        if quoted or not (closed or arrow or ends):
            self._mention(hit, body)
            return True
        self.scanner.envelopes.accept(hit, body, end, INLINE.name, closed=closed)
        yield from self._drop_rest(end)
        return True

    def _opens_call(self, hit: int) -> Generator[Waiter | None, None, bool]:
        named = yield from self.scanner.reader.names.whole_name(hit + 1)
        if named is None or self.scanner.catalogue.resolve(named[0]) is None:
            return False
        while len(self.source.buf) == named[1] and not self.source.final:
            yield None
        return self.source.buf.startswith("(", named[1])

    def _behind(self, body: Body) -> Generator[Waiter | None, None, tuple[str, int]]:
        """The arrow behind the calls, if there is one, and the end of it, or of the calls."""
        source = self.source
        at = yield from source.solid(body.end)
        while source.buf[at:] in ("-", "=") and not source.final:
            yield None
        arrow = next((sign for sign in _ARROWS if source.buf.startswith(sign, at)), "")
        if arrow:
            return arrow, at + len(arrow)
        return "", at if at == len(source.buf) else body.end

    def _mention(self, hit: int, body: Body) -> None:
        text = self.source.buf[hit : body.end]
        self.cursor.sink.suppressed("inside_a_sentence", text, self.source.base + hit)
        self.scanner.reader.frames.rejected(body)
        self.cursor.text(body.end)

    def _drop_rest(self, end: int) -> Steps:
        if self.cursor.enough:
            return
        yield from self.scanner.passages.drop(end)
