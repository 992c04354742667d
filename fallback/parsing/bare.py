"""Bodies without a marker: they count only if they begin or end the reply (reading rule 3)."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TYPE_CHECKING

from fallback.dialects.markers import CALL_FENCES, RESULT_FENCES
from fallback.parsing.bodies import Body
from fallback.parsing.framing import Framer
from fallback.parsing.named import NAME, SEPARATORS
from fallback.parsing.source import Waiter
from fallback.parsing.vocabulary import NAME_KEYS

if TYPE_CHECKING:
    from fallback.parsing.scanner import Scanner, Steps

_BLANKS = " \t"  # what may stand between the start of a line and a call on it
# A name with the separators of Kimi's and Gemma's forms, whose special tokens were stripped.
_NAME_BEFORE = re.compile(
    rf"(?:call\s*:\s*)?{NAME.pattern}[ \t]*(?:{'|'.join(map(re.escape, SEPARATORS))})?[ \t]*"
)
_CALL_LABEL = re.compile(r"[ \t]*Call[ \t]*:[ \t]*")  # NexusRaven's
_HEADER_BEFORE = re.compile(
    r"\s*(?:assistant)?(?:commentary|analysis)?\s*to=[\w.\-]+\s*(?:\w+\s*)?"
)
# An object that begins with one of the keys under which a name stands.
_NAME_FIRST = re.compile(rf"""\{{\s{{0,16}}["'](?:{"|".join(NAME_KEYS)}|type)["']\s{{0,16}}:""")
_NAME_FIRST_BEGIN = re.compile(r"""\{\s{0,16}(?:["'][a-z_]{0,16}["']?\s{0,16})?""")
# ``get_weather(city, unit?)``, ``get_weather(city: string, days: int | None)``
_SIGNATURE = re.compile(r"[^(]*+\((?:\s*+[^\W\d]\w*+\??\s*+(?::[^,()=]*+)?(?:,|(?=\))))++\s*+\)")
_PARAMETER = re.compile(r"[(,]\s*+([^\W\d]\w*+)")
_FAR = 2000  # characters of a line that are searched at once for an object in it
_NEAR = 100  # what may be the beginning of one at the end of them
_NAME_FIRST_AT_END = re.compile(_NAME_FIRST_BEGIN.pattern + r"\Z")


class Bare:
    """The scanner's reader of unmarked bodies."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner, self.source, self.cursor = scanner, scanner.source, scanner.cursor
        self.catalogue = scanner.catalogue

    def brace(self, hit: int, before: str) -> Steps:
        """An opening brace: an object, or the arguments of the name in front of it."""
        if before.strip(_BLANKS):
            name = _NAME_BEFORE.fullmatch(before.strip(_BLANKS))
            start = hit - len(before.lstrip(_BLANKS))
            if name is None and _HEADER_BEFORE.fullmatch(before):
                yield from self.scanner.channels.bare_header(start, hit, before)
                return
            if (
                name
                and start >= self.cursor.pos
                and self.catalogue.resolve(name.group(1)) is not None
            ):
                yield from self.read(start, hit)
            else:
                yield from self._inside_a_sentence(hit)
            return
        start = hit
        pending = self.source.buf[self.cursor.pos : hit]
        named = self.scanner.holding.name_in_front(hit)
        if named:
            _, start = named
            if self.source.buf.endswith(">>>", self.cursor.pos, start):
                self.cursor.text(start - 3)
                self.cursor.segment("markup", start - 3, start)
        elif self.scanner.holding.lone_info_word(pending, whole=True):
            self.cursor.text(self.cursor.pos + len(pending) - len(pending.lstrip()))
            self.cursor.segment("markup", self.cursor.pos, hit)
        yield from self.read(start, hit)

    def _inside_a_sentence(self, hit: int) -> Steps:
        """An object in the middle of a line is never a call; one that states a call is reported."""
        while not self.source.final and _NAME_FIRST_BEGIN.fullmatch(self.source.buf, hit):
            yield None
        if not _NAME_FIRST.match(self.source.buf, hit):
            self._pass_over_brace(hit)
            return
        body = yield from self.scanner.reader.body(hit, enveloped=False)
        if body.data:
            yield from self._data(hit)
        elif not body.calls:
            self._pass_over_brace(hit)
        else:
            if any(self.catalogue.resolve(call.name) is not None for call in body.calls):
                text, start = self.source.buf[hit : body.end], self.source.base + hit
                self.cursor.sink.suppressed("inside_a_sentence", text, start)
            self.scanner.reader.frames.rejected(body)
            self.cursor.text(body.end)

    def _pass_over_brace(self, hit: int) -> None:
        buf = self.source.buf
        line = buf.find("\n", hit)
        far = hit + _FAR
        if len(buf) > far and not hit < line <= far:
            # The rest of a long line is not searched again for every brace in it.
            near = _NAME_FIRST.search(buf, hit + 1, far)
            self.cursor.pass_over(hit, "{", near.start() if near else buf.find("{", far - _NEAR))
            return
        # A brace on this line may have its first key, or the colon, on a later one.
        end = line if line >= 0 else len(buf)
        another = _NAME_FIRST.search(buf, hit + 1, end + _NEAR)
        if another is None and len(buf) < end + _NEAR and not self.source.final:
            another = _NAME_FIRST_AT_END.search(buf, hit + 1)
        start = another.start() if another and another.start() < end else None
        self.cursor.pass_over(hit, "{", start)

    def parenthesis(self, hit: int, before: str) -> Steps:
        """An opening parenthesis: a call, if a declared name stands alone in front of it."""
        label = _CALL_LABEL.match(before)
        if label:
            before = before[label.end() :]
        written = before.strip(_BLANKS)
        name = NAME.fullmatch(written)
        declared = written if written in self.catalogue else name and name.group(1)
        if (
            not declared
            or self.catalogue.resolve(declared) is None
            or hit - len(before) < self.cursor.pos
        ):
            self.cursor.pass_over(hit, "(")
            return
        start = hit - len(before.lstrip(_BLANKS))
        if label and start - label.end() >= self.cursor.pos:
            self.cursor.text(start - label.end())
            self.cursor.segment("markup", start - label.end(), start)
        yield from self.read(start, hit)

    def read(self, start: int, hit: int) -> Steps:
        """A JSON object, a list or a call at the start of a line; ``hit`` is what gave it away."""
        # Behind prose only the end of the reply says whether it is a call.
        begins = self.cursor.begins_reply(start)
        body = yield from self.scanner.reader.body(
            start, enveloped=False, hit=start if begins else None
        )
        if body.data:
            yield from self._data(start)
        elif not body.items:
            self.scanner.reader.frames.spent += 2
            self.cursor.pass_over(hit, self.source.buf[hit])
        else:
            end = yield from self.scanner.envelopes.behind_body(body.end)
            yield from self.settle(start, body, body.end, end)

    def settle(self, start: int, body: Body, body_end: int, end: int) -> Steps:
        """Decide what a body without a marker is, once it is known what follows it.

        ``start`` to ``body_end`` is what is shown if it is none; up to ``end`` there is only
        markup.
        """
        buf = self.source.buf
        begins = self.cursor.begins_reply(start)
        solid = yield from self.source.solid(end)
        buf = self.source.buf
        whole = solid == len(buf)
        headed = buf.startswith(">>>", solid)
        alone = (
            whole
            or headed
            or "\n" in buf[body_end:solid]
            # A list with an address behind it is a link.
            or (body.bracketed and solid == body_end and not buf.startswith("(", solid))
        )
        ends = whole or headed or (yield from self.call_or_result_at(solid))
        buf = self.source.buf
        if not alone:
            reason = "inside_a_sentence"
        else:
            reason = "" if begins or ends else "prose_on_both_sides"
        if not reason and not begins:
            reason = self._spoken_of(start, whole=whole)
        if not reason and self._lists_signatures(body):
            reason = "among_signatures"
        if not reason and self._worth_it(body, whole=begins and whole):
            self.scanner.envelopes.accept(start, body, end, "", closed=not whole)
            return
        if any(self.catalogue.resolve(call.name) is not None for call in body.calls):
            self.cursor.sink.suppressed(reason, buf[start:body_end], self.source.base + start)
        self.scanner.reader.frames.rejected(body)
        self.cursor.text(body_end)

    def _spoken_of(self, start: int, *, whole: bool) -> str:
        """Why the text in front of a body that ends the reply says that it is not meant, if so."""
        passed = self.cursor.passed
        passed.look(self.source.buf[self.cursor.pos : start], self.source.base + self.cursor.pos)
        if passed.speaks_for_others:
            return "next_turn"
        return "supposed" if whole and passed.supposes else ""

    def _lists_signatures(self, body: Body) -> bool:
        """Whether calls stand beside a signature, ``get_weather(city: string)``: then all of it
        says what there is."""
        if not body.calls:
            return False
        for item in body.items:
            if item.fault is None or item.fault.kind != "invalid_arguments":
                continue
            tool = self.catalogue.resolve(item.fault.name)
            written = self.source.buf[item.start : min(item.end, item.start + _FAR)]
            if tool is not None and _SIGNATURE.fullmatch(written):
                declared = tool.parameters.get("properties") or {}
                if all(name in declared for name in _PARAMETER.findall(written)):
                    return True
        return False

    def _worth_it(self, body: Body, *, whole: bool) -> bool:
        """Whether a body without a marker speaks of a declared tool, or is the whole reply."""
        if any(self.catalogue.resolve(call.name) is not None for call in body.calls):
            return True
        if any(item.fault is not None and item.fault.name for item in body.items):
            return whole or all(
                item.fault is None or item.fault.kind != "invalid_arguments" for item in body.items
            )
        return bool(body.calls) and whole

    def call_or_result_at(self, at: int) -> Generator[Waiter | None, None, bool]:
        """Whether calls go on there, or a result that the model wrote itself begins."""
        marker = yield from self.scanner.envelopes.marker_at(at)
        if marker is not None:
            return marker.role in ("result", "call", "turn", "other_turn")
        if not self.source.buf.startswith("`", at):
            return False
        run = yield from self.scanner.fences.whole_run(at, "`")
        word, _ = yield from self.scanner.fences.info(at + run)
        return run >= 3 and word in RESULT_FENCES | CALL_FENCES

    def _data(self, start: int) -> Steps:
        """An object or list that is an answer: pass it on as it arrives, to its own end."""
        self.scanner.reader.frames.spent += 1
        framer = Framer(self.scanner.reader.limits.max_depth)
        at = start
        while not framer.feed(self.source.buf, at):
            self.cursor.text(len(self.source.buf))
            if self.source.final:
                return
            start -= self.cursor.forget()
            yield None
            at = 0
        self.cursor.text(start + (framer.fault_at if framer.end is None else framer.end))
