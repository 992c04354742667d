"""Calls in running text, ``[tool(args) → result]``, for replies to a prompt that asked for them.

Nothing sets such a call apart from a sentence about one, so it is read only where it was asked for.
It is a call as soon as its arrow is written: what stands behind that is a result, and no model
knows it, so the rest of the reply is dropped. A name that is not declared is called only by the
whole form, with arguments as calls have them: links, citations and formulas are text. Source of the
form: Schick et al., *Toolformer* (2023), section 2.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TYPE_CHECKING

from fallback.dialects.record import ARROW, INLINE
from fallback.parsing.bodies import Body
from fallback.parsing.source import Waiter

if TYPE_CHECKING:
    from fallback.parsing.scanner import Scanner, Steps

__all__ = ["Inline"]

_ARROWS = (ARROW, "->", "=>")
_SURE = (ARROW, "->")
_NAME = r"\[[^\W\d][\w.\-]{0,127}"
_CALLED = re.compile(_NAME + r"\(\s{0,8}(?:\)|['\"]|[^\W\d]\w{0,127}\s{0,8}=(?!=))")
_CALLED_BEGIN = re.compile(_NAME + r"(?:\(\s{0,8}(?:[^\W\d]\w{0,127}\s{0,8}=?)?)?")
_OPEN_QUOTES = ('"', "“", "«", "‘")


class Inline:
    """The scanner's reader of calls in running text."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner, self.source, self.cursor = scanner, scanner.source, scanner.cursor

    def call(self, hit: int) -> Generator[Waiter | None, None, bool]:
        """Read what the bracket at ``hit`` opens, if it calls; says whether it was dealt with."""
        declared = yield from self._opens_call(hit)
        if declared is None or not (declared or (yield from self._has_arguments(hit))):
            return False
        if declared and (yield from self.scanner.quoting.quotes(hit)):
            return True
        quoted = self.cursor.line_before(hit)[-1:] in _OPEN_QUOTES
        body = yield from self.scanner.reader.body(
            hit, enveloped=False, hit=hit if declared and not quoted else None
        )
        if not body.items:
            return False
        arrow, end = yield from self._behind(body)
        if not declared:
            return (yield from self._unknown(hit, body, end, quoted=quoted or arrow not in _SURE))
        closed = end > body.end or self.source.buf[body.end - 1] == "]"
        ends = end == len(self.source.buf)
        if quoted or not (closed or arrow or ends):
            self._mention(hit, body)
            return True
        self.scanner.envelopes.accept(hit, body, end, INLINE.name, closed=closed)
        yield from self._drop_rest(end)
        return True

    def _unknown(
        self, hit: int, body: Body, end: int, *, quoted: bool
    ) -> Generator[Waiter | None, None, bool]:
        """A call of a tool that there is not: to be refused by name, if it is one."""
        mended = any(call.repairs for call in body.calls)
        if quoted or mended or any(item.fault is not None for item in body.items):
            self.scanner.reader.frames.rejected(body)
            return False
        if (yield from self.scanner.quoting.quotes(hit)):
            return True
        self.scanner.envelopes.accept(hit, body, end, INLINE.name)
        yield from self._drop_rest(end)
        return True

    def _opens_call(self, hit: int) -> Generator[Waiter | None, None, bool | None]:
        """Whether the name that is called behind the bracket is declared; ``None`` for no call."""
        named = yield from self.scanner.reader.names.whole_name(hit + 1)
        if named is None:
            return None
        while len(self.source.buf) == named[1] and not self.source.final:
            yield None
        if not self.source.buf.startswith("(", named[1]):
            return None
        return self.scanner.catalogue.resolve(named[0]) is not None

    def _has_arguments(self, hit: int) -> Generator[Waiter | None, None, bool]:
        """Whether the name at the bracket is called with nothing, a keyword or a text."""
        source = self.source
        if not len(self.scanner.catalogue):
            return False
        while not source.final and _CALLED_BEGIN.fullmatch(source.buf, hit):
            yield None
        return _CALLED.match(source.buf, hit) is not None

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
