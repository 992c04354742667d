"""The text level: what is prose, what is quoted, what is thought, and where a call may begin.

Theory. Prose is passed over at C speed from one *trigger character* to the next. At a trigger the
line in front of it says whether it is quoted (inline code, block quote, another fence) and so only
text. Otherwise a *body* is read by :mod:`fallback.parsing.items`. Behind a marker a body counts
wherever it stands (reading rule 2). Without one it counts only if it begins or ends the reply as a
paragraph of its own (rule 3), so one that follows prose is held back until it is known what follows
it. Whatever turns out not to be a call is handed on as text, in order; a rejected candidate is
skipped whole, so that nothing inside it is ever taken for a call.

Every index is into ``source.buf``. Nothing is dropped from the buffer while a reader holds an
index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Protocol

from fallback.catalogue import Catalogue
from fallback.dialects import markers
from fallback.dialects.markers import CALL_FENCES, RESULT_FENCES, Marker
from fallback.dialects.tags import OPENERS, OPENERS_BEGIN
from fallback.limits import Limits
from fallback.messages import SegmentKind
from fallback.parsing.bodies import Body, Fault, Item, truncated
from fallback.parsing.channels import Channels
from fallback.parsing.fences import FENCE_INFO, RUN, Fences
from fallback.parsing.framing import Framer
from fallback.parsing.items import BodyReader
from fallback.parsing.labelled import Labels
from fallback.parsing.named import NAME, SEPARATORS
from fallback.parsing.source import END_ARRIVES, AnyOf, Reader, Source, Waiter

Steps = Generator[Waiter | None, None, None]

_ALL_REASONING_CLOSERS = tuple(
    dict.fromkeys(c for m in markers.MARKERS if m.role == "reasoning" for c in m.closers)
)
_NEXT_TURN = re.compile(
    r"<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|(?:user|assistant|system)\|>|\[INST\]"
)
_TRIGGERS = ("<", "[", "{", "(", "`", "~", "Action")
_TRIGGERS_AFTER_CALL = (*_TRIGGERS, "Observation")
_LINE_START_ONLY = "{(~"
_LOOK_BACK = 200  # characters of a line that may stand before a call; names end at 128
_NUMBER_BEHIND = re.compile(r":\d*$")
_QUOTED = re.compile(r">[ \t]?")
_BLANKS = " \t"  # what may stand between the start of a line and a call on it
_MARKER_STARTS = frozenset(text[0] for text in markers.table())
_OTHER_WORDS = (
    "functions.", "function.", "tools.", "default_api.", "functools", "action", "observation",
    "call", "assistantcommentary", "assistantanalysis", "commentary", "analysis",
)  # fmt: skip
_INFO_WORDS = ("json", "python", "tool_call", "tool_code")
# A name with the separators of Kimi's and Gemma's forms, whose special tokens were stripped.
_NAME_BEFORE = re.compile(
    rf"(?:call\s*:\s*)?{NAME.pattern}\s*(?:{'|'.join(map(re.escape, SEPARATORS))})?\s*"
)
_HEADER_BEFORE = re.compile(
    r"\s*(?:assistant)?(?:commentary|analysis)?\s*to=[\w.\-]+\s*(?:\w+\s*)?"
)
_HELD_WORD = re.compile(
    r"[ \t]*\**[\"'`]?(?:call\s*:\s*)?([^\W\d][\w.\-/\\:]*)?[\"'`]?[ \t]*"
    r"(?:[<\[][^<>\[\]\n]{0,40}[>\]]?)?[ \t]*"
    r"|(?:assistant)?(?:commentary|analysis)?\s*(?:t(?:o(?:=[\w.\-]*\s*\w*\s*)?)?)?"
)
_HELD_NAME = re.compile(r"(?:^|\n)[ \t]*([^\W\d][\w.\-/]*)[ \t]*\n\s*$")


def _nothing() -> Generator[Waiter | None, None, None]:
    return None
    yield


class Sink(Protocol):
    """Where the scanner's findings go."""

    def text(self, text: str, start: int) -> None:
        """Prose for the user."""

    def reasoning(self, text: str, start: int) -> None:
        """Thinking."""

    def segment(self, kind: SegmentKind, start: int, end: int) -> None:
        """Characters that are neither prose nor thinking, and what became of them."""

    def calls(self, body: Body, dialect: str) -> None:
        """A body that is meant as calls; its items may still be at fault."""

    def quoted(self, reason: str, text: str, start: int) -> None:
        """Text that is shown as text although it may hold a call."""

    def suppressed(self, reason: str, text: str, start: int) -> None:
        """Text that states a call and is shown as text."""

    def batch_over(self) -> None:
        """Something other than a call follows the calls."""


class Scanner:
    """Reads one reply. Made for one parser and driven by its source."""

    def __init__(
        self,
        source: Source,
        catalogue: Catalogue,
        limits: Limits,
        sink: Sink,
        *,
        reasoning_open: bool = False,
    ) -> None:
        self.source, self.catalogue, self.sink = source, catalogue, sink
        self.reader = BodyReader(source, catalogue, limits)
        self.fences = Fences(self)
        self.channels = Channels(self)
        self.labels = Labels(self)
        self.pos = 0  # everything before it is accounted for
        self.look = 0  # everything before it has been searched for triggers
        self.head = ""  # the part of the current line that lies before the buffer, cut
        self.prose = False  # whether any prose has been seen
        self.called = False  # whether any body of calls has been seen
        self.closed_call = False  # whether nothing but space has followed the last one
        self.found: dict[str, int] = {}
        self.size = 0  # length of the buffer that ``found`` speaks of
        self.words: tuple[str, ...] = ()  # what a held word may become; made when first needed
        self.start = self._reply(reasoning_open=reasoning_open)

    # -- prose

    def _reply(self, *, reasoning_open: bool) -> Reader:
        source = self.source
        if reasoning_open:
            yield from self.reasoning(_ALL_REASONING_CLOSERS)
        while True:
            hit, char = self._next_trigger()
            if hit >= 0:
                yield from self._at_trigger(hit, char)
                continue
            if source.final:
                self.text(len(source.buf))
                return
            self.text(self._safe_end())
            self.forget()
            yield None

    def _next_trigger(self) -> tuple[int, str]:
        """The next trigger character at or behind ``look``; remembers where the others are."""
        buf, look, found = self.source.buf, self.look, self.found
        best, which = len(buf), ""
        if self.size != best:
            found.clear()
            self.size = best
        for char in _TRIGGERS_AFTER_CALL if self.called else _TRIGGERS:
            at = found.get(char, -2)
            if at != -1 and at < look:
                at = found[char] = buf.find(char, look)
            if 0 <= at < best:
                best, which = at, char
        return (best, which) if which else (-1, "")

    def forget(self) -> int:
        """Let go of what is accounted for, where no index is held; returns how much that is."""
        gone = self.pos
        if gone:
            self.source.drop(gone)
            self.look = max(0, self.look - gone)
            self.pos = 0
        self.found.clear()
        return gone

    def text(self, end: int) -> None:
        """Hand on everything up to ``end`` as prose."""
        buf, start = self.source.buf, self.pos
        if end > start:
            if self.closed_call:
                solid = end - len(buf[start:end].lstrip())
                if solid > start:
                    self.segment("markup", start, solid)
                    start = solid
            if end > start:
                self.closed_call = False
                self.prose = self.prose or not buf[start:end].isspace()
                if self.called:
                    self.sink.batch_over()
                self.sink.text(buf[start:end], self.source.base + start)
                self._advance(end)
        self.look = max(self.look, self.pos)

    def segment(self, kind: SegmentKind, start: int, end: int) -> None:
        """Account for characters that are not shown."""
        if end > start:
            self.sink.segment(kind, self.source.base + start, self.source.base + end)
            self._advance(end)

    def fresh_line(self) -> None:
        """What follows markup begins a line, and what was passed over on this one may count now."""
        self.head = ""
        self.found.clear()

    def _advance(self, end: int) -> None:
        line = self.source.buf.rfind("\n", self.pos, end)
        if line >= 0:
            self.head = self.source.buf[line + 1 : end][:_LOOK_BACK]
        else:
            self.head = (self.head + self.source.buf[self.pos : end])[:_LOOK_BACK]
        self.pos = end
        self.look = max(self.look, end)

    def _line_before(self, at: int) -> str:
        """The line up to ``at``; anything as long as the look-back is only known to be prose."""
        low = max(self.pos, at - _LOOK_BACK)
        line = self.source.buf.rfind("\n", low, at)
        if line >= 0:
            return self.source.buf[line + 1 : at]
        if low > self.pos:
            return "…"
        return self.head + self.source.buf[self.pos : at]

    def _safe_end(self) -> int:
        """Up to where the text can be handed on: what may still grow into a call stays."""
        buf = self.source.buf
        if self._lone_info_word(buf[self.pos : self.pos + _LOOK_BACK], whole=False):
            return self.pos
        line = buf.rfind("\n", self.pos) + 1 or self.pos
        if line == self.pos and self.head.strip():
            return len(buf)
        match = _HELD_WORD.fullmatch(buf, line)
        if match and (not match.group(1) or self._may_be_name(match.group(1))):
            return line
        named = _HELD_NAME.search(buf, max(self.pos, len(buf) - _LOOK_BACK))
        if named and self.catalogue.resolve(named.group(1)) is not None:
            return named.start()
        return len(buf)

    def _lone_info_word(self, text: str, *, whole: bool) -> bool:
        """Whether a reply begins with the info word of a fence whose ticks were lost."""
        word = text.strip().lower()
        if self.prose or self.called or not word:
            return False
        return word in _INFO_WORDS if whole else any(info.startswith(word) for info in _INFO_WORDS)

    def _may_be_name(self, word: str) -> bool:
        self.words = self.words or tuple(
            name.casefold() for name in (*self.catalogue.names, *_OTHER_WORDS)
        )
        folded = _NUMBER_BEHIND.sub("", word.replace("\\", "").casefold().removeprefix("call:"))
        plain = folded.replace("-", "_").rstrip("_")
        return any(
            name.startswith(folded) or name.replace("-", "_").startswith(plain) or "." in folded
            for name in self.words
        )

    # -- triggers

    def _at_trigger(self, hit: int, char: str) -> Steps:
        before = self._line_before(hit)
        if before.lstrip().startswith(">"):
            yield from self._block_quote(hit, before)
        elif char in "`~":
            yield from self.fences.ticks(hit, char, before)
        elif char == "{":
            yield from self._brace(hit, before)
        elif char == "(":
            yield from self._parenthesis(hit, before)
        elif char == "Action":
            yield from self.labels.action(hit, before)
        elif char == "Observation":
            yield from self.labels.observation(hit, before)
        else:
            yield from self._marker(hit, char, before)

    def _block_quote(self, hit: int, before: str) -> Steps:
        """A block quote is text, whatever it holds; it is passed on line by line."""
        source = self.source
        pieces = [before.lstrip()[1:]]
        start = source.base + hit - len(before)
        self.text(hit)
        while True:
            line = source.buf.find("\n", self.pos)
            pieces.append(source.buf[self.pos : line if line >= 0 else len(source.buf)])
            self.text(line + 1 if line >= 0 else len(source.buf))
            if line >= 0:
                while len(source.buf) == self.pos and not source.final:
                    self.forget()
                    yield None
                sign = _QUOTED.match(source.buf, self.pos)
                if sign is None:
                    break
                pieces.append("\n")
                self.text(sign.end())
            elif source.final:
                break
            else:
                self.forget()
                yield None
        self.sink.quoted("block_quote", "".join(pieces), start)

    def pass_over(self, hit: int, char: str) -> None:
        """Not here. What counts only at the start of a line need not be looked for before the
        next."""
        self.look = hit + 1
        if char in _LINE_START_ONLY:
            line = self.source.buf.find("\n", hit)
            self.found[char] = self.source.buf.find(char, line) if line >= 0 else -1

    def _brace(self, hit: int, before: str) -> Steps:
        if before.strip(_BLANKS):
            name = _NAME_BEFORE.fullmatch(before.strip(_BLANKS))
            start = hit - len(before.lstrip(_BLANKS))
            if name is None and _HEADER_BEFORE.fullmatch(before):
                yield from self.channels.bare_header(start, hit, before)
                return
            if name and start >= self.pos and self.catalogue.resolve(name.group(1)) is not None:
                yield from self._bare(start, hit)
            else:
                self.pass_over(hit, "{")
            return
        start = hit
        pending = self.source.buf[self.pos : hit]
        named = _HELD_NAME.search(pending)
        if named and self.catalogue.resolve(named.group(1)) is not None:
            start = self.pos + named.start(1)
        elif self._lone_info_word(pending, whole=True):
            self.text(self.pos + len(pending) - len(pending.lstrip()))
            self.segment("markup", self.pos, hit)
        yield from self._bare(start, hit)

    def _parenthesis(self, hit: int, before: str) -> Steps:
        written = before.strip(_BLANKS)
        name = NAME.fullmatch(written)
        declared = written if written in self.catalogue else name and name.group(1)
        if not declared or self.catalogue.resolve(declared) is None or hit - len(before) < self.pos:
            self.pass_over(hit, "(")
            return
        yield from self._bare(hit - len(before.lstrip(_BLANKS)), hit)

    def _marker(self, hit: int, char: str, before: str) -> Steps:
        buf, source = self.source.buf, self.source
        start = hit
        if char == "[" and before.strip() == "functools" and hit - 9 >= self.pos:
            start = hit - 9
        match = markers.pattern().match(buf, start)
        if match is None:
            if not source.final and buf[hit : hit + 40] in markers.prefixes():
                yield None
                return  # the trigger is found again in the longer buffer
            if char == "<" and (yield from self._tagged(hit)):
                return
            if char == "[" and not before.strip():
                yield from self._bare(hit, hit)
            else:
                self.look = hit + 1
            return
        marker = markers.table()[match.group()]
        yield from self._marked(start, match.end(), marker, before)

    def _marked(self, hit: int, behind: int, marker: Marker, before: str) -> Steps:
        if marker.role == "call":
            yield from self.envelope(hit, behind, marker, at_line_start=not before.strip())
        elif marker.role == "channel":
            yield from self.channels.header(hit, behind, before)
        elif marker.role == "reasoning":
            self.text(hit)
            self.segment("markup", hit, behind)
            yield from self.reasoning(marker.closers)
        elif marker.role == "result":
            if self.called:
                yield from self.drop(hit)
            else:
                self.look = behind
        elif marker.role == "close":
            if marker.text in _ALL_REASONING_CLOSERS or self.called or not before.strip():
                self.text(hit)
                self.segment("markup", hit, behind)
            else:
                self.look = behind
        else:
            solid = yield from self.source.solid(behind)
            follower = yield from self.marker_at(solid)
            channel = follower is not None and follower.role in ("channel", "end")
            if solid == len(self.source.buf) or self.called or channel:
                self.text(hit)
                self.segment("markup", hit, behind)
            elif _NEXT_TURN.match(self.source.buf, solid):
                yield from self.drop(hit)
            else:
                self.look = behind

    def drop(self, hit: int) -> Steps:
        """From here on it is not this reply's business: an invented result, or the next turn."""
        self.text(hit)
        self.sink.batch_over()
        while not self.source.final:
            yield END_ARRIVES
        self.segment("dropped", hit, len(self.source.buf))

    def marker_at(self, at: int) -> Generator[Waiter | None, None, Marker | None]:
        """The marker at an index, once it is whole."""
        source = self.source
        while True:
            match = markers.pattern().match(source.buf, at)
            if match:
                return markers.table()[match.group()]
            head = source.buf[at : at + 40]
            if source.final or (head and head not in markers.prefixes()):
                return None
            yield None

    def _tagged(self, hit: int) -> Generator[Waiter | None, None, bool]:
        """``<function=name>`` whose envelope was left out: its own tags are envelope enough."""
        source = self.source
        while not source.final and OPENERS_BEGIN.fullmatch(source.buf, hit):
            yield None
        if not OPENERS.match(source.buf, hit):
            return False
        body = yield from self.reader.body(hit, enveloped=True)
        declared = [c for c in body.calls if self.catalogue.resolve(c.name) is not None]
        cut = any(i.fault is not None and self.catalogue.resolve(i.fault.name) for i in body.items)
        if not declared and not cut:
            self.look = hit + 1
            return True
        end = yield from self.behind_body(body.end)
        self.accept(hit, body, end, "", closed=source.buf[body.end - 1 : body.end] == ">")
        return True

    # -- reasoning

    def reasoning(self, closers: tuple[str, ...], *, keep: str = "") -> Steps:
        """Pass everything up to a closer on as thinking, as it arrives; ``keep`` closes and
        stays."""
        yield from self._pass_on(closers, self._thinking, keep)
        self.fresh_line()

    def answer(self, closers: tuple[str, ...]) -> Steps:
        """Pass everything up to a closer on as text: a channel that holds the answer, not calls."""
        start = self.source.base + self.pos
        pieces: list[str] = []

        def give(end: int) -> None:
            pieces.append(self.source.buf[self.pos : end])
            self.text(end)

        yield from self._pass_on(closers, give, "<|start|>")
        self.sink.quoted("final_channel", "".join(pieces), start)

    def _thinking(self, end: int) -> None:
        if end > self.pos:
            self.sink.reasoning(self.source.buf[self.pos : end], self.source.base + self.pos)
            self._advance(end)

    def _pass_on(self, closers: tuple[str, ...], give: Callable[[int], None], keep: str) -> Steps:
        source = self.source
        pattern = re.compile("|".join(re.escape(closer) for closer in closers))
        while True:
            match = pattern.search(source.buf, self.pos)
            if match:
                give(match.start())
                if match.group() != keep:
                    self.segment("markup", match.start(), match.end())
                return
            give(len(source.buf) if source.final else self._partial(closers))
            if source.final:
                return
            self.forget()
            yield None

    def _partial(self, closers: tuple[str, ...]) -> int:
        """Where a suffix begins that may still become a closer."""
        buf = self.source.buf
        longest = max(map(len, closers)) - 1
        for at in range(max(self.pos, len(buf) - longest), len(buf)):
            tail = buf[at:]
            if any(closer.startswith(tail) for closer in closers):
                return at
        return len(buf)

    # -- bodies behind a marker

    def envelope(
        self, hit: int, behind: int, marker: Marker, *, at_line_start: bool, ticks: int = 0
    ) -> Steps:
        """Read what stands behind a call marker; ``ticks`` is the fence around it, if any."""
        source = self.source
        at = yield from source.solid(behind)
        if source.buf.startswith("`", at):
            run = yield from self.fences.whole_run(at, "`")
            if run >= 3:
                # A fence inside the tag: the tag has already said that this is a call.
                ticks = run
                _, at = yield from self.fences.info(at + run)
                at = yield from source.solid(at)
        nested = yield from self.marker_at(at)
        if nested is not None and nested.role == "call":
            # <tool_calls><tool_call>: the inner one opens the body.
            self.text(hit)
            self.segment("markup", hit, at)
            return
        body = yield from self.reader.body(at - marker.keeps, enveloped=True)
        if not body.items:
            yield from self._empty_envelope(hit, behind, marker, at_line_start=at_line_start)
            return
        end = yield from self.behind_body(body.end, closers=marker.closers, ticks=ticks)
        closed = any(closer in source.buf[body.end : end] for closer in (*marker.closers, "```"))
        self.accept(hit, body, end, marker.dialect, closed=closed)

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
            if char and char in "]})>":
                at = solid + 1
                continue
            if char == "`" and ticks:
                run = yield from self.fences.whole_run(solid, "`")
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

    def _empty_envelope(
        self, hit: int, behind: int, marker: Marker, *, at_line_start: bool
    ) -> Steps:
        """A marker with nothing behind it that can be decoded."""
        if marker.soft or not at_line_start:
            self.look = behind
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
            search = max(at, len(source.buf) - 40)
            yield waiter

    def accept(self, hit: int, body: Body, end: int, dialect: str, *, closed: bool = True) -> None:
        """Take a body as calls: text before it is text, the rest is accounted for.

        One that is not ``closed`` and reaches the end of a reply that ran out of tokens is cut off,
        however complete it looks (rule 6).
        """
        self.text(hit)
        if not closed and self.source.cut_short and not self.source.buf[end:].strip("` \t\r\n"):
            name = body.calls[-1].name if body.calls else ""
            body.items[-1] = Item(hit, end, fault=truncated(name))
        self.sink.calls(body, dialect)
        self.segment("call" if body.calls else "rejected", hit, end)
        self.called = self.closed_call = True
        self.fresh_line()

    # -- bodies without a marker

    def _bare(self, start: int, hit: int) -> Steps:
        """A JSON object, a list or a call at the start of a line; ``hit`` is what gave it away."""
        body = yield from self.reader.body(start, enveloped=False)
        if body.data:
            yield from self._data(start)
        elif not body.items:
            self.pass_over(hit, self.source.buf[hit])
        else:
            end = yield from self.behind_body(body.end)
            yield from self.settle(start, body, body.end, end)

    def settle(self, start: int, body: Body, body_end: int, end: int) -> Steps:
        """Decide what a body without a marker is, once it is known what follows it.

        ``start`` to ``body_end`` is what is shown if it is none; up to ``end`` there is only
        markup.
        """
        buf = self.source.buf
        begins = not self.prose and not buf[self.pos : start].strip()
        solid = yield from self.source.solid(end)
        buf = self.source.buf
        whole = solid == len(buf)
        alone = whole or "\n" in buf[body_end:solid] or (body.bracketed and solid == body_end)
        ends = whole or self._call_or_result_at(solid)
        if not alone:
            reason = "inside_a_sentence"
        else:
            reason = "" if begins or ends else "prose_on_both_sides"
        if not reason and self._worth_it(body, whole=begins and whole):
            self.accept(start, body, end, "", closed=not whole)
            return
        if any(self.catalogue.resolve(call.name) is not None for call in body.calls):
            self.sink.suppressed(reason, buf[start:body_end], self.source.base + start)
        self.text(body_end)

    def _worth_it(self, body: Body, *, whole: bool) -> bool:
        """Whether a body without a marker speaks of a declared tool, or is the whole reply."""
        if any(self.catalogue.resolve(call.name) is not None for call in body.calls):
            return True
        if any(item.fault is not None and item.fault.name for item in body.items):
            return whole or all(
                item.fault is None or item.fault.kind != "invalid_arguments" for item in body.items
            )
        return bool(body.calls) and whole

    def _call_or_result_at(self, at: int) -> bool:
        buf = self.source.buf
        match = markers.pattern().match(buf, at)
        if match:
            return markers.table()[match.group()].role in ("result", "call")
        run = RUN["`"].match(buf, at)
        info = FENCE_INFO.match(buf, run.end()) if run else None
        return info is not None and info.group(1).lower() in RESULT_FENCES | CALL_FENCES

    def _data(self, start: int) -> Steps:
        """An object or list that is an answer: pass it on as it arrives, to its own end."""
        framer = Framer(self.reader.limits.max_depth)
        at = start
        while not framer.feed(self.source.buf, at):
            self.text(len(self.source.buf))
            if self.source.final:
                return
            start -= self.forget()
            yield None
            at = 0
        self.text(start + (framer.fault_at if framer.end is None else framer.end))
