"""Bodies behind a marker: what a tag or token that says "a call follows" is followed by."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TYPE_CHECKING

from fallback.dialects import markers
from fallback.dialects.markers import Marker
from fallback.dialects.tags import INVOKE, INVOKE_BEGIN, OPENERS, OPENERS_BEGIN, TOOL_TAG
from fallback.parsing.bodies import Body, Fault, Item, truncated
from fallback.parsing.source import AnyOf, Waiter

if TYPE_CHECKING:
    from fallback.parsing.scanner import Scanner, Steps

_OPEN_QUOTES = ('"', "'", "“", "‘", "«")
# What quotes a call in the markup of a document, and what ends it.
_WRAPPED = re.compile(r"(?:<!--|<(code|pre|kbd|samp)>|(~~))[ \t]*\Z")
_MARKER_STARTS = frozenset(text[0] for text in markers.table())


def _nothing() -> Generator[Waiter | None, None, None]:
    return None
    yield


def _closer(opener: re.Match[str] | None) -> str:
    if opener is None:
        return ""
    return f"</{opener.group(1)}>" if opener.group(1) else opener.group(2) or "-->"


class Envelopes:
    """The scanner's reader of marked bodies."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner, self.source, self.cursor = scanner, scanner.source, scanner.cursor

    def envelope(
        self, hit: int, behind: int, marker: Marker, *, at_line_start: bool, ticks: int = 0
    ) -> Steps:
        """Read what stands behind a call marker; ``ticks`` is the fence around it, if any."""
        source = self.source
        at = yield from source.solid(behind)
        if source.buf.startswith("`", at):
            run = yield from self.scanner.fences.whole_run(at, "`")
            if run >= 3:
                # A fence inside the tag: the tag has already said that this is a call.
                ticks = run
                _, at = yield from self.scanner.fences.info(at + run)
                at = yield from source.solid(at)
        nested = yield from self.marker_at(at)
        while nested is marker:
            # The same opener again is as good as one, and a run of them is passed only once.
            behind = at + len(marker.text)
            at = yield from source.solid(behind)
            nested = yield from self.marker_at(at)
        if nested is not None and nested.role == "call":
            # <tool_calls><tool_call>: the inner one opens the body.
            self.cursor.text(hit)
            self.cursor.segment("markup", hit, at)
            return
        body = yield from self.scanner.reader.body(
            at - marker.keeps, enveloped=True, hit=hit if "|" in marker.text else self.sure(hit)
        )
        if not body.items:
            yield from self._empty_envelope(hit, behind, marker, at_line_start=at_line_start)
            return
        end = yield from self.behind_body(body.end, closers=marker.closers, ticks=ticks)
        if "|" not in marker.text and (yield from self.mentioned(hit, body, end)):
            return
        closed = any(closer in source.buf[body.end : end] for closer in (*marker.closers, "```"))
        self.accept(hit, body, end, marker.dialect, closed=closed)

    def mentioned(self, hit: int, body: Body, end: int) -> Generator[Waiter | None, None, bool]:
        """Whether plain-text markup stands in a sentence or in quotation marks: then it is text.

        A sentence that is still open before the tag and goes on behind it speaks *about* the call.
        Special tokens are never mentioned: a model that writes one means it.
        """
        if self.sure(hit) is not None:
            return False
        quoted = self.cursor.line_before(hit)[-1:] in _OPEN_QUOTES
        wrapped = _WRAPPED.search(self.cursor.line_before(hit))
        solid = yield from self.source.solid(end)
        closer = _closer(wrapped)
        while wrapped and closer.startswith(self.source.buf[solid:]) and not self.source.final:
            yield None
        buf = self.source.buf
        follower = buf[solid : solid + 1]
        if not follower or "\n" in buf[end:solid]:
            return False
        if wrapped:
            if not buf.startswith(closer, solid):
                return False
        elif not (follower.islower() or follower in ",;" or (quoted and follower in "\"'”’»")):
            return False
        if any(self.scanner.catalogue.resolve(call.name) is not None for call in body.calls):
            text = buf[hit:end]
            self.cursor.sink.suppressed("inside_a_sentence", text, self.source.base + hit)
        self.scanner.reader.frames.rejected(body)
        self.cursor.text(end)
        return True

    def sure(self, hit: int) -> int | None:
        """``hit``, unless what follows decides whether plain-text markup there is mentioned."""
        before = self.cursor.line_before(hit)
        lead = before.rstrip()
        quoted = before[-1:] in _OPEN_QUOTES
        if _WRAPPED.search(before):
            return None
        if not lead or not (quoted or before[-1].isspace()):
            return hit  # text that runs into the tag is no sentence about it
        return hit if lead[-1] in ".:!?…" and not quoted else None

    def tagged(self, hit: int) -> Generator[Waiter | None, None, bool]:
        """``<function=name>`` whose envelope was left out: its own tags are envelope enough."""
        source = self.source
        while not source.final and (
            OPENERS_BEGIN.fullmatch(source.buf, hit) or INVOKE_BEGIN.fullmatch(source.buf, hit)
        ):
            yield None
        if not (OPENERS.match(source.buf, hit) or INVOKE.match(source.buf, hit)):
            return (yield from self._tool_tag(hit))
        if (yield from self.scanner.quoting.quotes(hit)):
            return True
        body = yield from self.scanner.reader.body(hit, enveloped=True, hit=self.sure(hit))
        declared = [c for c in body.calls if self.scanner.catalogue.resolve(c.name) is not None]
        cut = any(
            i.fault is not None and self.scanner.catalogue.resolve(i.fault.name) for i in body.items
        )
        if not declared and not cut:
            self.cursor.look = hit + 1
            return True
        end = yield from self.behind_body(body.end)
        if (yield from self.mentioned(hit, body, end)):
            return True
        self.accept(hit, body, end, "", closed=source.buf[body.end - 1 : body.end] == ">")
        return True

    def _tool_tag(self, hit: int) -> Generator[Waiter | None, None, bool]:
        """A tag that is named after a declared tool, at the start of a line."""
        if self.cursor.line_before(hit).strip():
            return False
        yield from self.scanner.reader.names.tags.whole_tag(hit)
        tag = TOOL_TAG.match(self.source.buf, hit)
        if tag is None or tag["name"] not in self.scanner.catalogue:
            return False
        if (yield from self.scanner.quoting.quotes(hit)):
            return True
        self.scanner.live.permit(hit)
        item = yield from self.scanner.reader.names.tool_tag(hit)
        if item is None:
            return False
        body = Body([item], hit, item.end)
        self.accept(hit, body, item.end, "", closed=item.fault is None)
        return True

    def behind_body(
        self, at: int, *, closers: tuple[str, ...] = (), ticks: int = 0
    ) -> Generator[Waiter | None, None, int]:
        """Past what closes a body: brackets too many, end-of-turn tokens, its own closers.

        Once the body's own ``closers`` and the fence of ``ticks`` have been seen nothing more is
        waited for, so that a call is ready the moment it is closed.
        """
        source = self.source
        waited_for = set(closers)
        while True:
            solid = yield from source.solid(at)
            char = source.buf[solid : solid + 1]
            if char == ">" and (yield from self.headed(solid)):
                return at
            if char and char in "]})>":
                at = solid + 1
                continue
            if char == "`" and ticks:
                run = yield from self.scanner.fences.whole_run(solid, "`")
                if run < ticks:
                    return at
                at, ticks = solid + run, 0
            else:
                marker = yield from self.marker_at(solid) if char in _MARKER_STARTS else _nothing()
                if marker is None and source.buf[solid:] in markers.prefixes():
                    return len(source.buf)  # the reply ends inside a closer
                if marker is None or marker.role not in ("close", "end"):
                    return at
                at = solid + len(marker.text)
                waited_for.discard(marker.text)
            if closers and not waited_for and not ticks:
                return at

    def headed(self, at: int) -> Generator[Waiter | None, None, bool]:
        """Whether ``>>>`` stands there, Functionary's sign in front of a name."""
        while self.source.buf[at:] in (">", ">>") and not self.source.final:
            yield None
        return self.source.buf.startswith(">>>", at)

    def marker_at(self, at: int) -> Generator[Waiter | None, None, Marker | None]:
        """The marker at an index, once it is whole."""
        source = self.source
        while True:
            match = markers.pattern().match(source.buf, at)
            head = source.buf[at : at + 40]
            if source.final or (head and head not in markers.prefixes()):
                return markers.table()[match.group()] if match else None
            yield None

    def _empty_envelope(
        self, hit: int, behind: int, marker: Marker, *, at_line_start: bool
    ) -> Steps:
        """A marker with nothing behind it that can be decoded."""
        if marker.soft or not at_line_start:
            self.cursor.look = behind
            return
        end = yield from self._end_of_garbage(behind, marker.closers)
        fault = Fault(
            "invalid_json", f"what follows `{marker.text}` is neither a JSON object nor a call"
        )
        stop = yield from self.behind_body(end, closers=marker.closers)
        body = Body([Item(hit, end, fault=fault)], hit, end)
        self.accept(hit, body, stop, marker.dialect)

    def _end_of_garbage(
        self, at: int, closers: tuple[str, ...]
    ) -> Generator[Waiter | None, None, int]:
        """The next closer, or else the end of the paragraph."""
        source = self.source
        pattern = re.compile("|".join([*(re.escape(c) for c in closers), r"\n[ \t]*\n"]))
        waiter = AnyOf(">]\n")
        search = at
        while True:
            match = pattern.search(source.buf, search)
            if match:
                return match.start()
            if source.final:
                return len(source.buf)
            search = min(max(at, len(source.buf) - 40), source.blank_end(at))
            yield waiter

    def accept(self, hit: int, body: Body, end: int, dialect: str, *, closed: bool = True) -> None:
        """Take a body as calls: text before it is text, the rest is accounted for.

        One that is not ``closed`` and reaches the end of a reply that ran out of tokens is cut off,
        however complete it looks (rule 6).
        """
        self.cursor.text(hit)
        self.scanner.reader.frames.credit()
        if not closed and self.source.cut_short and not self.source.buf[end:].strip("` \t\r\n"):
            name = body.calls[-1].name if body.calls else ""
            body.items = [Item(hit, end, fault=truncated(name))]
        self.cursor.enough = not self.cursor.sink.calls(body, dialect)
        self.cursor.segment("call", hit, end)
        self.cursor.called = self.cursor.closed_call = True
        self.cursor.fresh_line()
        self.cursor.passed.called()
