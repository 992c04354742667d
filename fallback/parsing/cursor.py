"""Where the scanner stands: what is accounted for, and where the next trigger is.

All indices are into the source's buffer. ``pos`` never goes back: what lies before it has been
handed on.
"""

from __future__ import annotations

import re
from typing import Protocol

from fallback.messages import SegmentKind
from fallback.parsing.bodies import Body
from fallback.parsing.passed import Passed
from fallback.parsing.source import Source

TRIGGERS = ("<", "[", "{", "(", "`", "~", ":", "✿FUNCTION✿")
OTHERS = ("User:", "Human:")
"""With these a transcript gives the word to somebody else."""
_AFTER_A_CALL = (*TRIGGERS, "✿RE", *OTHERS)
SIGNS = ("<", "[", "{", "(", "`", "~", ":", "✿")
"""A text without any of these holds nothing but prose."""
TO_THE_USER = ">>>all\n"
"""With it Functionary begins a text; it is markup there."""

# A colon matters behind these labels only; looking for the words themselves is many times as slow.
_LABEL = re.compile(r"(?:Action(?:[ \t]*\d{1,3})?|Observation)[ \t]*\**[ \t]*\Z")
_LABEL_ENDS = frozenset("n*0123456789 \t")
_LONGEST_LABEL = 24
_LINE_START_ONLY = "{(~"
LOOK_BACK = 200  # characters of a line that may stand before a call; names end at 128


class Sink(Protocol):
    """Where the scanner's findings go."""

    def text(self, text: str, start: int) -> None:
        """Prose for the user."""

    def reasoning(self, text: str, start: int) -> None:
        """Thinking."""

    def segment(self, kind: SegmentKind, start: int, end: int, note: str = "") -> None:
        """Characters that are neither prose nor thinking, and what became of them.

        A ``call`` is what the last body of calls became.
        """

    def calls(self, body: Body, dialect: str) -> bool:
        """A body that is meant as calls; its items may still be at fault. ``False``: no more."""

    def quoted(self, reason: str, text: str, start: int, end: int | None = None) -> None:
        """Text that is shown as text although it may hold a call."""

    def suppressed(self, reason: str, text: str, start: int) -> None:
        """Text that states a call and is shown as text."""

    def batch_over(self) -> None:
        """Something other than a call follows the calls."""


class Cursor:
    """The scanner's place in the reply."""

    def __init__(self, source: Source, sink: Sink) -> None:
        self.source, self.sink = source, sink
        self.pos = 0  # everything before it is accounted for
        self.look = 0  # everything before it has been searched for triggers
        self.head = ""  # the part of the current line that lies before the buffer, cut
        self.prose = False  # whether any prose has been seen
        self.called = False  # whether any body of calls has been seen
        self.closed_call = False  # whether nothing but space has followed the last one
        self.passed = Passed()  # what was shown since the last call
        self.enough = False  # whether the rest of the reply is not to be read
        self._found: dict[str, int] = {}  # where the next of each trigger is
        self._size = 0  # length of the buffer that this speaks of

    def next_trigger(self) -> tuple[int, str]:
        """The next trigger character at or behind ``look``; remembers where the others are."""
        buf, look, found = self.source.buf, self.look, self._found
        best, which = len(buf), ""
        if self._size != best:
            found.clear()
            self._size = best
        for char in _AFTER_A_CALL if self.called else TRIGGERS:
            at = found.get(char, -2)
            if at != -1 and at < look:
                at = found[char] = buf.find(char, look) if char != ":" else self._label(look)
            if 0 <= at < best:
                best, which = at, char
        return (best, which) if which else (-1, "")

    @property
    def outgrown(self) -> bool:
        """Whether text has come since the next triggers were looked for."""
        return self._size != len(self.source.buf)

    def next_other_trigger(self, hit: int) -> int:
        """The next trigger behind ``hit`` that is neither ``<`` nor ``[``, or the end."""
        others = (at for char, at in self._found.items() if char not in "<[" and at > hit)
        return min(others, default=self._size)

    def _label(self, look: int) -> int:
        """The next label of a ReAct line, where its word begins."""
        buf, colon = self.source.buf, look
        while (colon := buf.find(":", colon)) >= 0:
            if buf[colon - 1 : colon] in _LABEL_ENDS:
                label = _LABEL.search(buf, max(look, colon - _LONGEST_LABEL), colon)
                if label:
                    return label.start()
            colon += 1
        return -1

    def forget(self) -> int:
        """Let go of what is accounted for, where no index is held; returns how much that is."""
        gone = self.pos
        if gone:
            if self._size == len(self.source.buf):
                # To look for all of them once more would cost the rest of the text each time.
                found = {c: at - gone if at >= 0 else -1 for c, at in self._found.items()}
                self._found = {c: at for c, at in found.items() if at >= -1}
                self._size -= gone
            else:
                self._found.clear()
            self.source.drop(gone)
            self.look = max(0, self.look - gone)
            self.pos = 0
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
                shown = buf[start:end]
                self.sink.text(shown, self.source.base + start)
                self.passed.add(shown, self.source.base + start)
                self.advance(end)
        self.look = max(self.look, self.pos)

    def segment(self, kind: SegmentKind, start: int, end: int, note: str = "") -> None:
        """Account for characters that are not shown."""
        if end > start:
            self.sink.segment(kind, self.source.base + start, self.source.base + end, note)
            self.advance(end)

    def fresh_line(self) -> None:
        """What follows markup begins a line, and what was passed over on this one may count now."""
        self.head = ""
        self.passed.clear()
        for char in _LINE_START_ONLY:
            self._found.pop(char, None)

    def advance(self, end: int) -> None:
        """Move on to ``end``, and keep what begins the line there."""
        line = self.source.buf.rfind("\n", self.pos, end)
        if line >= 0:
            self.head = self.source.buf[line + 1 : end][: LOOK_BACK + 1]
        else:
            self.head = (self.head + self.source.buf[self.pos : end])[: LOOK_BACK + 1]
        self.pos = end
        self.look = max(self.look, end)

    def begins_reply(self, at: int) -> bool:
        """Whether no prose stands before ``at``."""
        return not self.prose and not self.source.buf[self.pos : at].strip()

    def line_before(self, at: int) -> str:
        """The line up to ``at``; anything as long as the look-back is only known to be prose."""
        low = max(self.pos, at - LOOK_BACK - 1)
        line = self.source.buf.rfind("\n", low, at)
        if line >= 0:
            return self.source.buf[line + 1 : at]
        before = self.head + self.source.buf[self.pos : at] if low == self.pos else ""
        return before if low == self.pos and len(before) <= LOOK_BACK else "…"

    def pass_over(self, hit: int, char: str, another: int | None = None) -> None:
        """Nothing here. What counts only where a line begins is looked for on the next line.

        ``another`` is the next place on this line that is worth a look all the same.
        """
        self.look = hit + 1
        if another is not None:
            self._found[char] = another
        elif char in _LINE_START_ONLY:
            line = self.source.buf.find("\n", hit)
            self._found[char] = self.source.buf.find(char, line) if line >= 0 else -1
