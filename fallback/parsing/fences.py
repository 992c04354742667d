"""Code fences and inline code: what is quoted, and the fences that say "call".

The rules are CommonMark's (sections 4.5 and 6.1) where they matter here, with the liberties that
models
take: a fence may open in the middle of a line, its content may begin on the line of the info word,
and it may never be closed.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import cache
from typing import TYPE_CHECKING

from fallback.dialects.markers import CALL_FENCES, RESULT_FENCES
from fallback.parsing.bodies import Body, Fault, Item
from fallback.parsing.frames import CANDIDATE
from fallback.parsing.source import AnyOf, Until, Waiter

if TYPE_CHECKING:
    from fallback.parsing.scanner import Scanner, Steps

RUN = {"`": re.compile("`+"), "~": re.compile("~+")}
FENCE_INFO = re.compile(r"[ \t]*([\w+.\-]*)[ \t]*")
_NOT_INFO = Until(r"[^\w+.\- \t]")
_NOT_TICKS = {"`": Until("[^`]"), "~": Until("[^~]")}
_INDENT = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?")
_CODE_SPAN = 4000  # characters an inline code span may have; beyond, its back-tick is literal
_QUOTED = re.compile(r">[ \t]?")
_LONGEST_TOLD = 16  # back-ticks at the end of the text behind which nothing is looked up
_CODE = r"[^`\n{(<\[]{1,200}+"  # code of one line with nothing in it to look at
_SIMPLE_SPANS = re.compile(
    rf"(?:(?:`{_CODE}(?:`{{2,9}}+{_CODE}){{0,9}}+`(?!`)"
    rf"|``{_CODE}(?:(?:`(?!`)|`{{3,9}}+){_CODE}){{0,9}}+``(?!`)"
    rf"|```{_CODE}(?:(?:`{{1,2}}+(?!`)|`{{4,9}}+){_CODE}){{0,9}}+```(?!`))"
    r"[^`\n{(<\[~:✿]*+)++"
)
_PARAGRAPH = re.compile(r"\n[ \t]*\n")


@cache
def _closing(char: str, run: int) -> re.Pattern[str]:
    """A line that closes a fence of ``run`` characters."""
    return re.compile(rf"^[ \t]*{char}{{{run},}}[ \t]*$", re.MULTILINE)


@cache
def _exact(run: int) -> re.Pattern[str]:
    return re.compile(rf"(?<!`)`{{{run}}}(?!`)")


class Fences:
    """The scanner's reader of back-ticks and tildes."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner, self.source = scanner, scanner.source

    def ticks(self, hit: int, char: str, before: str) -> Steps:
        """A run of back-ticks or tildes: a fence, inline code, or nothing."""
        run = yield from self.whole_run(hit, char)
        if run >= 3 and _INDENT.fullmatch(before):
            yield from self._fence(hit, run, char)
            return
        simple = _SIMPLE_SPANS.match(self.source.buf, hit, self._whole_runs(hit))
        if simple:
            # Several spans on one line, with nothing in them or between them to look at.
            self.scanner.cursor.look = simple.end()
            return
        if char == "~":
            self.scanner.cursor.pass_over(hit, char)
            self.scanner.cursor.look = hit + run
            return
        if run >= 3:
            word, at = yield from self.info(hit + run)
            if word in CALL_FENCES and self.source.buf[at : at + 1] in ("\n", "{", "[", ""):
                yield from self._call_fence(hit, at, run, at_line_start=False)
                return
        yield from self._code_span(hit, run)

    def whole_run(self, at: int, char: str) -> Generator[Waiter | None, None, int]:
        """Length of the run at ``at``, once it cannot grow."""
        source = self.source
        while True:
            match = RUN[char].match(source.buf, at)
            end = match.end() if match else at
            if end < len(source.buf) or source.final:
                return end - at
            yield _NOT_TICKS[char]

    def _whole_runs(self, hit: int) -> int:
        """Up to where no run of back-ticks can grow any more; ``hit`` if that is not soon told."""
        buf = self.source.buf
        if self.source.final or not buf.endswith("`"):
            return len(buf)
        last = buf[-_LONGEST_TOLD:]
        tail = last.rstrip("`")
        return len(buf) - len(last) + len(tail) if tail else hit

    def info(self, at: int) -> Generator[Waiter | None, None, tuple[str, int]]:
        """The info word of a fence in lower case, and the index behind it and its blanks."""
        source = self.source
        while True:
            match = FENCE_INFO.match(source.buf, at)
            end = match.end() if match else at
            if end < len(source.buf) or source.final:
                return (match.group(1).lower() if match else ""), end
            yield _NOT_INFO

    def _fence(self, hit: int, run: int, char: str) -> Steps:
        word, at = yield from self.info(hit + run)
        follower = self.source.buf[at : at + 1]
        if word in CALL_FENCES:
            yield from self._call_fence(hit, at, run, at_line_start=True)
        elif word in RESULT_FENCES and self.scanner.cursor.called:
            yield from self.scanner.passages.drop(hit)
        elif follower in ("", "\n", "\r", "{", "["):
            if word not in ("json", "") or not (yield from self._arguments_fence(hit, at)):
                yield from self._plain_fence(hit, at, run, char)
        else:
            yield from self._attributes(hit, at, run, char)

    def _attributes(self, hit: int, at: int, run: int, char: str) -> Steps:
        """More than a word behind the opening: the rest of the info line, or an inline code
        span."""
        source = self.source
        search = at
        while True:
            line = source.buf.find("\n", search)
            tick = source.buf.find("`", at) if char == "`" else -1
            if tick >= 0 and (line < 0 or tick < line):
                yield from self._code_span(hit, run)
                return
            if line >= 0 or source.final:
                yield from self._quoted_fence(
                    hit, line if line >= 0 else len(source.buf), run, char
                )
                return
            search = len(source.buf)
            yield AnyOf("\n`")

    # -- fences that say "call"

    def _call_fence(self, hit: int, at: int, run: int, *, at_line_start: bool) -> Steps:
        scanner, source = self.scanner, self.source
        if (yield from scanner.quoting.quotes(hit)):
            return
        at = yield from source.solid(at)
        marker = yield from scanner.envelopes.marker_at(at)
        if marker is not None and marker.role == "call":
            behind = at + len(marker.text)
            yield from scanner.envelopes.envelope(
                hit, behind, marker, at_line_start=at_line_start, ticks=run
            )
            return
        body = yield from scanner.reader.body(at, enveloped=True, hit=scanner.envelopes.sure(hit))
        if not body.items and not at_line_start:
            scanner.cursor.look = hit + run
            return
        end = yield from self._close_call_fence(body, at, run)
        if (yield from scanner.envelopes.mentioned(hit, body, end)):
            return
        scanner.envelopes.accept(hit, body, end, "fenced", closed=end > body.end)

    def _close_call_fence(
        self, body: Body, at: int, run: int
    ) -> Generator[Waiter | None, None, int]:
        """Past the closing fence; what stands between the calls and it becomes a fault of the
        body."""
        source = self.source
        end = yield from self.scanner.envelopes.behind_body(
            body.end if body.items else at, ticks=run
        )
        solid = yield from source.solid(end)
        if solid == len(source.buf) or ("`" in source.buf[end - 1 : end] and body.items):
            if not body.items:
                self._add_fault(body, at, solid, "the block is empty")
            return end
        search = line = solid
        paragraph: re.Match[str] | None = None
        while True:
            close = _closing("`", run).search(source.buf, line)
            paragraph = paragraph or _PARAGRAPH.search(source.buf, line)
            whole = close and (close.end() < len(source.buf) or source.final)
            first = close and (not paragraph or close.start() < paragraph.start())
            if close and whole and (first or not body.items):
                message = "the block holds something that is neither a JSON object nor a call"
                self._add_fault(body, solid, close.start(), message)
                return close.end()
            # A block with nothing else in it is one up to its closing line.
            if (paragraph and body.items) or source.final:
                if not body.items:
                    end = paragraph.start() if paragraph else len(source.buf)
                    message = "the block holds neither a JSON object nor a call"
                    self._add_fault(body, solid, end, message)
                return end
            line = max(line, source.buf.rfind("\n", search))
            search = len(source.buf)
            yield AnyOf("\n`")

    def _add_fault(self, body: Body, start: int, end: int, message: str) -> None:
        body.items.append(Item(start, end, fault=Fault("invalid_json", message)))

    # -- fences that quote, unless they hold nothing but calls

    def _plain_fence(self, hit: int, at: int, run: int, char: str) -> Steps:
        scanner = self.scanner
        begins = scanner.cursor.begins_reply(hit)
        body = yield from scanner.reader.body(at, enveloped=False, hit=hit if begins else None)
        if (
            body.items
            and not body.data
            and not self._swallowed_close(body, run, char)
            and not self._other_code(body)
        ):
            end = yield from self._closed_at(body.end, run, char)
            if end is not None:
                yield from scanner.bare.settle(hit, body, end, end)
                return
        yield from self._quoted_fence(hit, at, run, char)

    def _other_code(self, body: Body) -> bool:
        """Whether statements that call declared tools stand beside others: then it is a program."""
        if body.bracketed or not all(call.dialect == "pythonic" for call in body.calls):
            return False
        names = [call.name for call in body.calls]
        names += [item.fault.name for item in body.items if item.fault]
        declared = [self.scanner.catalogue.resolve(name) is not None for name in names]
        return any(declared) and not all(declared)

    def _arguments_fence(self, hit: int, at: int) -> Generator[Waiter | None, None, bool]:
        """A declared name on a line of its own and its arguments in the fence: what is left of
        DeepSeek's form without its tokens."""
        scanner = self.scanner
        named = scanner.holding.name_in_front(hit)
        if named is None:
            return False
        inner = yield from self.source.solid(at)
        if not self.source.buf.startswith("{", inner):
            return False
        begin, start = named
        begins = scanner.cursor.begins_reply(begin)
        body = yield from scanner.reader.body(start, enveloped=False, hit=start if begins else None)
        if body.data or not body.calls or any(item.fault for item in body.items):
            return False
        end = yield from scanner.envelopes.behind_body(body.end)
        yield from scanner.bare.settle(start, body, body.end, end)
        return True

    def _swallowed_close(self, body: Body, run: int, char: str) -> bool:
        """Whether an open string behind the calls has taken the closing line for its own."""
        last = body.items[-1]
        if last.fault is None or not body.calls:
            return False
        return _closing(char, run).search(self.source.buf, last.start, last.end) is not None

    def _closed_at(
        self, at: int, run: int, char: str
    ) -> Generator[Waiter | None, None, int | None]:
        """Index behind the closing fence if it is what comes next, or the end of the reply."""
        source = self.source
        solid = yield from source.solid(at)
        if solid == len(source.buf):
            return solid
        if source.buf[solid] != char:
            return None
        length = yield from self.whole_run(solid, char)
        return solid + length if length >= run else None

    def _quoted_fence(self, hit: int, at: int, run: int, char: str) -> Steps:
        """Everything up to the closing line is text, and is passed on as it arrives."""
        scanner, source = self.scanner, self.source
        scanner.reader.frames.spent += CANDIDATE // 2
        pieces: list[str] = []
        start = source.base + at
        scanner.cursor.text(hit)
        scanner.cursor.passed.look()
        scanner.cursor.text(min(at, len(source.buf)))
        while True:
            close = self._closing_line(scanner.cursor.pos, run, char)
            end = close.end() if close else self._open_line(char)
            if end > scanner.cursor.pos:
                pieces.append(source.buf[scanner.cursor.pos : close.start() if close else end])
                scanner.cursor.text(end)
            if close or source.final:
                scanner.cursor.sink.quoted("fence", "".join(pieces), start)
                scanner.cursor.passed.skip(source.base + scanner.cursor.pos)
                return
            scanner.cursor.forget()
            yield None

    def _closing_line(self, at: int, run: int, char: str) -> re.Match[str] | None:
        source = self.source
        while True:
            close = _closing(char, run).search(source.buf, at)
            if close is None:
                return None
            if close.end() == len(source.buf) and not source.final:
                return None
            if close.start() > self.scanner.cursor.pos or not self.scanner.cursor.head.strip(" \t"):
                return close
            at = close.end() + 1

    def _open_line(self, char: str) -> int:
        """Up to where the text of the fence is safe: a last line that may yet close it stays."""
        buf = self.source.buf
        if self.source.final:
            return len(buf)
        line = buf.rfind("\n", self.scanner.cursor.pos) + 1 or self.scanner.cursor.pos
        if line == self.scanner.cursor.pos and self.scanner.cursor.head.strip(" \t"):
            return len(buf)
        return len(buf) if buf[line:].strip(" \t" + char) else line

    # -- block quotes

    def block_quote(self, hit: int, before: str) -> Steps:
        """A block quote is text, whatever it holds; it is passed on line by line."""
        cursor, source = self.scanner.cursor, self.source
        pieces = [before.partition(">")[2]]
        start = source.base + hit - len(before)
        cursor.text(hit)
        cursor.passed.look()
        while True:
            line = source.buf.find("\n", cursor.pos)
            pieces.append(source.buf[cursor.pos : line if line >= 0 else len(source.buf)])
            cursor.text(line + 1 if line >= 0 else len(source.buf))
            if line >= 0:
                # Also the blank behind the sign belongs to it, so it has to be here.
                while source.buf[cursor.pos :] in ("", ">") and not source.final:
                    cursor.forget()
                    yield None
                sign = _QUOTED.match(source.buf, cursor.pos)
                if sign is None:
                    break
                pieces.append("\n")
                cursor.text(sign.end())
            elif source.final:
                break
            else:
                cursor.forget()
                yield None
        cursor.sink.quoted("block_quote", "".join(pieces), start, source.base + cursor.pos)
        cursor.passed.skip(source.base + cursor.pos)

    # -- inline code

    def _code_span(self, hit: int, run: int) -> Steps:
        """Inline code is text. A single back-tick ends on its line or is none, but for a marker."""
        scanner, source = self.scanner, self.source
        inside = hit + run
        while inside == len(source.buf) and not source.final:
            yield None
        limit = hit + _CODE_SPAN
        long = run > 1 or source.buf[inside : inside + 1] in ("<", "[", "{")
        boundary = _PARAGRAPH if long else _LINE
        search = inside
        while True:
            close = _exact(run).search(source.buf, search, limit)
            line = boundary.search(source.buf, search, close.start() if close else limit)
            if close and line is None:
                if close.end() < len(source.buf) or source.final:
                    text = source.buf[inside : close.start()]
                    scanner.cursor.sink.quoted("inline_code", text, source.base + inside)
                    scanner.cursor.look = close.end()
                    return
            elif line or source.final or len(source.buf) >= limit:
                scanner.cursor.look = inside
                return
            search = min(max(inside, len(source.buf) - run - 1), source.blank_end(inside))
            yield AnyOf("\n`") if close is None else None


_LINE = re.compile(r"\n")
