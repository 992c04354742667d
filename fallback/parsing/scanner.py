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
from collections.abc import Generator
from functools import cache, cached_property

from fallback.catalogue import Catalogue
from fallback.dialects import markers
from fallback.dialects.markers import Marker
from fallback.limits import Limits
from fallback.parsing.bare import Bare
from fallback.parsing.channels import Channels
from fallback.parsing.cursor import OTHERS, TO_THE_USER, Cursor, Sink
from fallback.parsing.envelopes import Envelopes
from fallback.parsing.fences import Fences
from fallback.parsing.frames import CANDIDATE
from fallback.parsing.holding import Holding
from fallback.parsing.inline import Inline
from fallback.parsing.items import BodyReader
from fallback.parsing.labelled import Labels
from fallback.parsing.live.calls import Live
from fallback.parsing.passages import Passages
from fallback.parsing.quoting import Quoting
from fallback.parsing.source import Reader, Source, Waiter

Steps = Generator[Waiter | None, None, None]

_ALL_REASONING_CLOSERS = tuple(
    dict.fromkeys(c for m in markers.MARKERS if m.role == "reasoning" for c in m.closers)
)
_ALL_REASONING_CLOSERS += ("<|close|>think<|sep|>",)  # Kimi K3's, which is made of two markers
_HEADER = re.compile(
    r"\s*(?:assistant|model)\s*(?:<\|end_header_id\|>|<\|end_of_role\|>|<\|im_sep\|>)?\s*"
)
_HEADER_BEGIN = re.compile(r"\s*[a-z]*\s*(?:<[|a-z_]*>?)?\s*")
# A header that gives the word to somebody else, where no sentence would have it.
_OTHERS_HEADER = re.compile(
    r"\s{0,8}(?:user|system|developer|tool|ipython|environment|human)"
    r"[ \t]{0,8}(?:\n|<\|end_header_id\|>|<\|end_of_role\|>|<\|im_sep\|>)"
)
_OTHERS_HEADER_BEGIN = re.compile(r"\s{0,8}[a-z]{0,16}[ \t]{0,8}(?:<[|a-z_]{0,24})?")
# What makes the rest of its line a quotation, in a list as well.
_QUOTE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*>")
_BYTE_ORDER_MARK = "\ufeff"
# A tag that may be one of a call: by its word, by being a lone name, or not whole yet.
_LONE = r"|(?<=[\w.\-])>)"
_TAG = re.compile(r"<[\w ｜|:.\-]{0,48}(?:\Z|(?<=function)|(?<=invoke)" + _LONE)
_WINDOW = 8192  # characters behind which what is done with is let go of, even of a whole reply
_SIGN = re.compile(r"[<\[]")
_LONGEST_TAG = 64  # characters behind a ``<`` that decide whether it begins anything


@cache
def _dull() -> re.Pattern[str]:
    """The rest of a line as far as no ``<`` and no ``[`` in it begins anything.

    A tag that is only named after a tool counts at the start of a line, so in here it does not.
    """
    marker, tag = markers.pattern().pattern, _TAG.pattern.removesuffix(_LONE) + ")"
    thinking = f"(?ai:{markers.THINKING_TAG.pattern})"
    return re.compile(rf"(?:(?!{marker}|{tag}|{thinking})[<\[][^<\[\n✿]*+)++")


class Scanner:
    """Reads one reply. Made for one parser and driven by its source."""

    def __init__(
        self,
        source: Source,
        catalogue: Catalogue,
        limits: Limits,
        sink: Sink,
        live: Live,
        *,
        reasoning_open: bool = False,
        inline: bool = False,
    ) -> None:
        self.source, self.catalogue = source, catalogue
        self.cursor = Cursor(source, sink)
        self.live = live
        live.hand_on, live.offset = self.cursor.text, self._offset
        self.reader = BodyReader(source, catalogue, limits, live)
        self.holding = Holding(self.cursor, catalogue)
        self.envelopes = Envelopes(self)
        self.bare = Bare(self)
        self.quoting = Quoting(self)
        self.fences = Fences(self)
        self.inline = Inline(self) if inline else None
        self.start = self._reply(reasoning_open=reasoning_open)

    def _offset(self, at: int) -> int:
        return self.source.base + at

    # Most replies need none of these, and a parser is made for every reply.

    @cached_property
    def passages(self) -> Passages:
        """Hands on thinking and answers."""
        return Passages(self)

    @cached_property
    def channels(self) -> Channels:
        """Reads Harmony headers."""
        return Channels(self)

    @cached_property
    def labels(self) -> Labels:
        """Reads ReAct lines."""
        return Labels(self)

    def _reply(self, *, reasoning_open: bool) -> Reader:
        source = self.source
        while not source.final and not source.buf:
            yield None
        if source.buf.startswith(_BYTE_ORDER_MARK):
            self.cursor.segment("markup", 0, 1)
            self.cursor.fresh_line()
        if reasoning_open:
            yield from self.passages.reasoning(_ALL_REASONING_CLOSERS)
        while not source.final and TO_THE_USER.startswith(source.buf[self.cursor.pos :]):
            yield None
        if source.buf.startswith(TO_THE_USER, self.cursor.pos):
            start = self.cursor.pos
            self.cursor.segment("markup", start, start + len(TO_THE_USER))
        while True:
            if self.cursor.enough:
                yield from self.passages.drop(self.cursor.pos, "too_many")
                return
            if self.cursor.pos > _WINDOW:
                self.cursor.forget()
            hit, char = self.cursor.next_trigger()
            if hit >= 0:
                frames = self.reader.frames
                frames.begin()
                place = source.base + hit
                yield from self._at_trigger(hit, char)
                if frames.exhausted and not self.cursor.enough:
                    yield from self.passages.unread(place)
                    return
                continue
            if source.final:
                self.cursor.text(len(source.buf))
                return
            self.cursor.text(self.holding.safe_end())
            self.cursor.forget()
            yield None

    def _at_trigger(self, hit: int, char: str) -> Steps:
        before = self.cursor.line_before(hit)
        if char == ":" and before.strip(" \t>*"):
            self.cursor.look = hit + 1  # inside a sentence, or a quoted one, it is a word
        elif _QUOTE.match(before):
            yield from self.fences.block_quote(hit, before)
        elif char in OTHERS:
            yield from self._transcript(hit, before)
        elif char in "`~":
            yield from self.fences.ticks(hit, char, before)
        elif char == "{":
            yield from self.bare.brace(hit, before)
        elif char == "(":
            yield from self.bare.parenthesis(hit, before)
        elif char == ":":
            yield from self.labels.line(hit, before)
        elif char == "✿FUNCTION✿":
            yield from self.labels.flower(hit)
        elif char == "✿RE":  # ✿RESULT✿ and ✿RETURN✿, which only the application writes
            yield from self.passages.drop(hit)
        else:
            yield from self._marker(hit, char, before)

    def _transcript(self, hit: int, before: str) -> Steps:
        """Behind a call, at the start of a line, a label of somebody else's turn."""
        if before.strip(" \t*"):
            self.cursor.look = hit + 1
        else:
            yield from self.passages.drop(max(hit - len(before), self.cursor.pos), "next_turn")

    def _marker(self, hit: int, char: str, before: str) -> Steps:
        buf, source = self.source.buf, self.source
        start = hit
        if char == "[" and before.strip(" \t") == "functools" and hit - 9 >= self.cursor.pos:
            start = hit - 9
        match = markers.pattern().match(buf, start)
        # One marker may be the beginning of another.
        if not source.final and buf[start : start + 40] in markers.prefixes():
            yield None
            return  # the trigger is found again in the longer buffer
        if match is None:
            if char == "<" and (yield from self._thinking_tag(hit, before)):
                return
            if (
                char == "<"
                and (tag := _TAG.match(buf, hit))
                and (tag.group()[-1] != ">" or tag.group()[1:-1] in self.catalogue)
                and (yield from self.envelopes.tagged(hit))
            ):
                return
            if char == "[" and self.inline and (yield from self.inline.call(hit)):
                return
            if char == "[" and not before.strip():
                yield from self.bare.read(hit, hit)
            elif self.inline:
                self.cursor.look = hit + 1
            else:
                self.cursor.look = self._behind_dull(hit)
            return
        marker = markers.table()[match.group()]
        if "minimax[" in marker.text and buf[hit - 1 : hit] == "]" and hit > self.cursor.pos:
            start -= 1
        yield from self._marked(start, match.end(), marker, before)

    def _thinking_tag(self, hit: int, before: str) -> Generator[Waiter | None, None, bool]:
        """A tag of thinking that is not written as in the table."""
        source, cursor = self.source, self.cursor
        while not source.final and markers.THINKING_TAG_BEGIN.fullmatch(source.buf, hit):
            yield None
        tag = markers.THINKING_TAG.match(source.buf, hit)
        word = tag["word"].lower() if tag else ""
        aside = word in markers.LINE_THINKING and before.strip()
        if tag is None or aside or tag["word"] in self.catalogue:
            return False
        cursor.text(hit)
        cursor.segment("markup", hit, tag.end())
        if tag["closes"]:
            cursor.fresh_line()
        elif not tag.group().endswith("/>"):
            yield from self.passages.reasoning((f"</{word}>",))
        return True

    def _behind_dull(self, hit: int) -> int:
        """Where to look on behind a sign that begins nothing: behind all that do not either."""
        source = self.source
        if self.cursor.outgrown:
            return hit + 1
        # No marker and no tag has another sign in it, so none reaches beyond the next.
        run = _dull().match(source.buf, hit, self.cursor.next_other_trigger(hit))
        end = max(run.end() if run else 0, hit + 1)
        if source.final or len(source.buf) - end > _LONGEST_TAG:
            return end
        # The last ones are not whole yet.
        again = _SIGN.search(source.buf, max(hit + 1, len(source.buf) - _LONGEST_TAG), end)
        return again.start() if again else end

    def _marked(self, hit: int, behind: int, marker: Marker, before: str) -> Steps:
        self.reader.frames.spent += CANDIDATE // 2 if marker.role == "call" else 1
        calls = marker.role in ("call", "channel", "element")
        if calls and (yield from self.quoting.quotes(hit)):
            return
        if marker.role == "call":
            yield from self.envelopes.envelope(
                hit, behind, marker, at_line_start=not before.strip()
            )
        elif marker.role == "channel":
            yield from self.channels.header(hit, behind, before)
        elif marker.role == "element":
            yield from self.channels.element(hit, behind, opens=marker.text == "<|open|>")
        elif marker.role == "reasoning":
            self.cursor.text(hit)
            self.cursor.segment("markup", hit, behind)
            yield from self.passages.reasoning(marker.closers)
        elif marker.role == "result":
            if self.cursor.called:
                yield from self.passages.drop(hit)
            else:
                yield from self.passages.result(hit, behind, marker.closers)
        elif marker.role == "close":
            if marker.text in _ALL_REASONING_CLOSERS or self.cursor.called or not before.strip():
                self.cursor.text(hit)
                self.cursor.segment("markup", hit, behind)
                self.cursor.fresh_line()
            else:
                self.cursor.look = behind
        elif marker.role in ("turn", "other_turn"):
            yield from self._turn(hit, behind, marker, before)
        else:
            yield from self._end(hit, behind)

    def _end(self, hit: int, behind: int) -> Steps:
        """A token that ends a turn, and is text where the turn goes on all the same."""
        solid = yield from self.source.solid(behind)
        follower = yield from self.envelopes.marker_at(solid)
        channel = follower is not None and follower.role in ("channel", "end")
        if solid == len(self.source.buf) or self.cursor.called or channel:
            self.cursor.text(hit)
            self.cursor.segment("markup", hit, behind)
        elif follower is not None and follower.role in ("turn", "other_turn"):
            yield from self.passages.drop(hit, "next_turn")
        else:
            self.cursor.look = behind

    def _turn(self, hit: int, behind: int, marker: Marker, before: str) -> Steps:
        """The header of a turn: of this one at the beginning, of the next one behind a call."""
        cursor, source = self.cursor, self.source
        if marker.role == "other_turn":
            # With a blank in front of it, it is spoken of.
            if cursor.called or not before.strip() or not before[-1].isspace():
                yield from self.passages.drop(hit, "next_turn")
            else:
                cursor.look = behind
            return
        while not (cursor.called or source.final):
            if not _OTHERS_HEADER_BEGIN.fullmatch(source.buf, behind):
                break
            yield None
        if cursor.called or _OTHERS_HEADER.match(source.buf, behind):
            # What somebody else is made to say is no more the model's than a result is.
            yield from self.passages.drop(hit, "next_turn")
        elif cursor.prose or source.buf[cursor.pos : hit].strip():
            cursor.look = behind
        else:
            while not source.final and _HEADER_BEGIN.fullmatch(source.buf, behind):
                yield None
            header = _HEADER.match(source.buf, behind)
            cursor.text(hit)
            cursor.segment("markup", hit, header.end() if header else behind)
            cursor.fresh_line()
