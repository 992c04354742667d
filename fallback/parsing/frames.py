"""From the place where a value begins to its decoded content, or to the fault that prevents it."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from fallback.catalogue import Catalogue
from fallback.dialects import markers
from fallback.limits import Limits
from fallback.messages import Span
from fallback.parsing.bodies import Body, Fault, truncated
from fallback.parsing.framing import Framer
from fallback.parsing.lenient import read_value
from fallback.parsing.live.calls import Live
from fallback.parsing.live.opening import heard
from fallback.parsing.malformed import MalformedError
from fallback.parsing.mend import mend
from fallback.parsing.source import AnyOf, Source, Waiter
from fallback.parsing.strict import DuplicateKeyError, decode_at
from fallback.parsing.vocabulary import NAME_KEYS

if TYPE_CHECKING:
    from fallback.parsing.live.follow import Follower

_STATED_NAME = re.compile(
    rf"""["'](?:{"|".join(NAME_KEYS)})["']\s*:\s*["']([^"'\n]{{1,128}})["']"""
)
_STATED_WITHIN = 2048  # characters of an undecodable object in which its name is looked for
CANDIDATE = 8  # what one candidate costs
_CHARACTERS = 64  # characters of a candidate that cost one more
_SNIPPET = 20  # characters shown on either side of a fault


class Frames:
    """Frames values in a source and decodes them."""

    def __init__(self, source: Source, catalogue: Catalogue, limits: Limits, live: Live) -> None:
        self.source, self.catalogue, self.limits, self.live = source, catalogue, limits, live
        self.spent = 0  # work on what came to nothing, see ``Limits.max_false_starts``
        self._mark = 0

    # -- the account of the work, so that hostile text cannot make it grow faster than itself

    def begin(self) -> None:
        """What is spent from now on is on one candidate."""
        self._mark = self.spent

    def credit(self) -> None:
        """The candidate was a call: calls have a limit of their own."""
        self.spent = self._mark

    def rejected(self, body: Body) -> None:
        """What was read was no call where it stands."""
        self.spent += CANDIDATE * max(1, len(body.items))

    @property
    def exhausted(self) -> bool:
        """Whether so much came to nothing that the rest is not worth a look."""
        return self.spent > self.limits.max_false_starts

    # -- frames

    def follow(
        self,
        at: int,
        framer: Framer,
        waiter: Waiter | None = None,
        *,
        fed: bool = False,
        listen: Callable[[], Follower | None] = lambda: None,
    ) -> Generator[Waiter | None, None, None]:
        """Let the framer run from ``at`` until it has settled or the text is over.

        A ``waiter`` that feeds the framer itself may end the run early by waking; ``fed`` says that
        it has already given it what is here. ``listen`` is asked, if there is anything to wait for,
        who wants to hear the text from ``at`` on.
        """
        self.spent += CANDIDATE
        settled = framer.end is not None or bool(framer.fault)
        settled = settled or (not fed and framer.feed(self.source.buf, at))
        awaited: Waiter = waiter or framer
        if not settled and not self.source.final and (follower := listen()) is not None:
            awaited = heard(awaited, framer, follower, self.source.buf[at:])
        while not settled and not self.source.final:
            yield awaited
            settled = framer.end is not None or bool(framer.fault) or waiter is not None
        if framer.fault == "too_deep":
            # What nests too deep is given up as far as its line goes, so that has to be here.
            search = at + framer.fault_at
            while self.source.buf.find("\n", search) < 0 and not self.source.final:
                search = len(self.source.buf)
                yield AnyOf("\n")

    def end(self, at: int, framer: Framer, *, name: str = "") -> tuple[int, Fault | None]:
        """Index behind the frame, or where to go on and what is wrong with it."""
        buf = self.source.buf
        settled = framer.end or framer.fault_at
        self.looked_at(settled or len(buf) - at)
        if framer.end is not None:
            return at + framer.end, None
        if framer.fault == "too_deep":
            line = buf.find("\n", at + framer.fault_at)
            message = f"nested deeper than {self.limits.max_depth} levels"
            return (line if line >= 0 else len(buf)), Fault("invalid_json", message, name)
        if framer.fault == "markup":
            return at + len(buf[at : at + framer.fault_at].rstrip()), None
        return self._unclosed(at, framer, name)

    def _unclosed(self, at: int, framer: Framer, name: str) -> tuple[int, Fault | None]:
        """The reply is over and the frame is open: cut off, badly quoted, or only not closed."""
        buf = self.source.buf
        end = len(buf.rstrip())
        name = name or self.stated_name(at, end)
        if framer.open_string:
            cut = self._closer_inside(at)
            if cut is not None:
                return cut, Fault("invalid_json", "a string is never closed", name)
            return len(buf), truncated(name)
        last = buf[end - 1 : end]
        # A number or a word at the very end may go on; behind a comma or colon something must.
        may_go_on = end == len(buf) and (last.isalnum() or last in "_.(")
        if may_go_on or last in ",:=" or self.source.cut_short:
            return len(buf), truncated(name)
        return end, None

    def _closer_inside(self, at: int) -> int | None:
        """Where a close marker stands inside a string that is never closed: the string is wrong."""
        if self.source.cut_short:
            return None
        for match in markers.pattern().finditer(self.source.buf, at):
            if markers.table()[match.group()].role == "close":
                return match.start()
        return None

    def looked_at(self, characters: int) -> None:
        """So many characters were looked at for a candidate, on top of what any one costs."""
        self.spent += characters // _CHARACTERS

    def decode(self, start: int, end: int) -> tuple[Any, tuple[str, ...]]:
        """Strict, then with raw control characters, then with every other repair.

        Raises:
            MalformedError: it cannot be read without guessing.
            DuplicateKeyError: an object names a key twice.
        """
        buf = self.source.buf
        for control in (False, True):
            try:
                value, stop = decode_at(buf, start, control_characters=control)
            except DuplicateKeyError:
                raise
            except ValueError:
                continue
            if stop == end:
                return value, ("control_characters",) if control else ()
        mended = mend(buf, start, end)
        if mended is not None and not mended[2]:
            return mended[:2]
        return read_value(buf, start, end)

    def stated_name(self, start: int, end: int) -> str:
        """The declared name that an undecodable object states near its beginning, if any."""
        for match in _STATED_NAME.finditer(
            self.source.buf, start, min(end, start + _STATED_WITHIN)
        ):
            if self.catalogue.resolve(match.group(1)) is not None:
                return match.group(1)
        return ""

    def malformed(self, error: ValueError, start: int, end: int, *, name: str = "") -> Fault:
        """The fault that a decoder's error is, in words that a model can act on."""
        name = name or self.stated_name(start, end)
        if isinstance(error, DuplicateKeyError):
            return Fault("invalid_json", f"the key {str(error)!r} stands twice in one object", name)
        if not isinstance(error, MalformedError):
            return Fault("invalid_json", str(error), name)
        where = f" at `{error.key}`" if error.key else ""
        if error.truncated and not self.source.buf[end : end + 200].strip():
            return truncated(name)
        around = slice(max(start, error.offset - _SNIPPET), min(end, error.offset + _SNIPPET))
        snippet = self.source.buf[around].strip()
        if error.expression:
            message = f"{error}{where}; only literal values are read, nothing is evaluated"
            return Fault("invalid_arguments", message, name)
        hint = " (quotes inside a string need a backslash)" if '"' in snippet else ""
        return Fault("invalid_json", f"{error}{where}, near {snippet!r}{hint}", name)

    def span(self, start: int, end: int) -> Span:
        """The same range, counted from the beginning of the reply."""
        return Span(self.source.base + start, self.source.base + end)
