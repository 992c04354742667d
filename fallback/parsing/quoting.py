"""Calls that are quoted over several lines without a fence: they are text.

What quotes them is an element or an environment that is closed behind them (one that never is
quotes nothing, as with inline code), the row of a table, or indentation: a literal block behind
``::``, or a code block with prose on both sides of it. Sources: CommonMark 0.31 (4.4, 4.6), GitHub
Flavored Markdown (tables), the reStructuredText specification, the AsciiDoc language.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TYPE_CHECKING

from fallback.parsing.source import SOLID_ARRIVES, AnyOf, Waiter

if TYPE_CHECKING:
    from fallback.parsing.scanner import Scanner

_FARTHEST = 20_000  # characters behind a candidate within which a quotation of it has to end
_LONGEST_CLOSER = 100
_CLOSER_ARRIVES = AnyOf(">]}-.+=_\"'\n")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_BLANKS = re.compile(r"[ \t]*")
_LITERAL = re.compile(r"(?:.*::|[ \t]*\.\. [\w-]+::.*)[ \t]*")
_LOOKED_BACK = 40  # lines in front of an indented candidate among which the one above it is


class Quoting:
    """The scanner's judge of what stands around a candidate."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner, self.source, self.cursor = scanner, scanner.source, scanner.cursor
        self.passed = scanner.cursor.passed

    def quotes(self, hit: int) -> Generator[Waiter | None, None, bool]:
        """Whether the candidate at ``hit`` is quoted; then the quotation is passed on as text."""
        cursor, passed = self.cursor, self.passed
        passed.look(self.source.buf[cursor.pos : hit], self.source.base + cursor.pos)
        if passed.speaks_for_others:
            yield from self.scanner.passages.others(hit)
            return True
        if passed.open:
            return (yield from self._block(hit))
        before = passed.tail[passed.tail.rfind("\n") + 1 :]
        if not before:
            return False
        if before.isspace():
            return (yield from self._indented(hit, before))
        return before.lstrip().startswith("|") and (yield from self._row(hit, before))

    def _block(self, hit: int) -> Generator[Waiter | None, None, bool]:
        """Up to what closes one of the open constructs, if anything does."""
        source, passed = self.source, self.passed
        closers = {f"c{n}": name for n, name in enumerate(passed.open)}
        pattern = re.compile(
            "|".join(f"(?P<{key}>{passed.open[name]})" for key, name in closers.items()),
            re.IGNORECASE | re.MULTILINE | re.ASCII,
        )
        limit = hit + _FARTHEST
        search = hit
        while True:
            close = pattern.search(source.buf, search, limit)
            if close and (close.end() < len(source.buf) or source.final):
                passed.close(closers[close.lastgroup or "c0"])
                self._quote("quoted_block", hit, close.start(), close.end())
                return True
            if source.final or len(source.buf) > limit:
                break
            search = max(hit, len(source.buf) - _LONGEST_CLOSER)
            yield _CLOSER_ARRIVES if close is None else None
        passed.open.clear()
        if source.cut_short and len(source.buf) <= limit:
            self._quote("quoted_block", hit, len(source.buf), len(source.buf))
            return True
        return False

    def _row(self, hit: int, before: str) -> Generator[Waiter | None, None, bool]:
        """The rest of a table's row."""
        source, search = self.source, hit
        while (line := source.buf.find("\n", search)) < 0 and not source.final:
            search = len(source.buf)
            yield AnyOf("\n")
        end = line if line >= 0 else len(source.buf)
        if before.count("|") < 2 and not source.buf[hit:end].rstrip().endswith("|"):
            return False
        self._quote("table_row", hit, end, end)
        return True

    def _indented(self, hit: int, before: str) -> Generator[Waiter | None, None, bool]:
        """An indented block behind a paragraph and an empty line."""
        least = self._least_indent(_columns(before))
        if least is None:
            return False
        columns, literal = least
        end = yield from self._dedent(hit, columns)
        if end < 0:
            return False
        if not literal and not (yield from self._prose_at(end)):
            return False
        self._quote("indented_code", hit, end, end)
        return True

    def _least_indent(self, columns: int) -> tuple[int, bool] | None:
        """The indentation that a line of the block needs, and whether it is a literal one; ``None``
        if what stands that far to the right is in no such block."""
        lines = self.passed.tail.split("\n")[-2 : -2 - _LOOKED_BACK : -1]
        empty = False
        for line in lines:
            if not line.strip():
                empty = True
                continue
            left = _columns(line)
            if left >= columns:
                empty = False
                continue
            if not empty:
                return None
            if _LITERAL.fullmatch(line):
                return left + 1, True
            item = _ITEM.match(line)
            least = (len(item.group().expandtabs(4)) if item else left) + 4
            return (least, False) if columns >= least else None
        return None

    def _dedent(self, at: int, columns: int) -> Generator[Waiter | None, None, int]:
        """Where the first line begins that stands further left, or the end of the reply; negative
        if it is too far away."""
        source, search, limit = self.source, at, at + _FARTHEST
        pattern = re.compile(rf"\n {{0,{columns - 1}}}(?=\S)")
        while True:
            line = pattern.search(source.buf, search, limit)
            if line:
                return line.start() + 1
            if source.final or len(source.buf) > limit:
                return len(source.buf) if len(source.buf) <= limit else -1
            last = source.buf.rfind("\n", at)
            search = last if last >= 0 else at
            blank = last >= 0 and not source.buf[last:].strip()
            yield SOLID_ARRIVES if blank else AnyOf("\n")

    def _prose_at(self, at: int) -> Generator[Waiter | None, None, bool]:
        """Whether neither the reply ends there nor calls, a result or markup follow."""
        at = yield from self.source.solid(at)
        if self.source.buf[at : at + 1] in ("", "<", "[", "{"):
            return False
        return not (yield from self.scanner.bare.call_or_result_at(at))

    def _quote(self, reason: str, hit: int, end: int, behind: int) -> None:
        """Text up to ``behind``; up to ``end`` it is quoted."""
        source, cursor = self.source, self.cursor
        text, start = source.buf[hit:end], source.base + hit
        cursor.text(behind)
        cursor.sink.quoted(reason, text, start)
        self.passed.skip(source.base + behind)


def _columns(line: str) -> int:
    """How far to the right a line begins; a tab reaches to the next multiple of four."""
    blanks = _BLANKS.match(line)
    return len(blanks.group().expandtabs(4)) if blanks else 0
