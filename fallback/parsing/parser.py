"""The parser: text in, events out, and the reading of the whole reply at the end.

There is one path. ``parse(text)`` (:mod:`fallback.parsing.whole`) is ``feed(text)`` and
``close()``, so a stream and a batch can not differ. The parser touches no clock, no network and no
randomness, and never raises on content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fallback.catalogue import Catalogue
from fallback.dialects.names import chosen_dialects
from fallback.dialects.record import INLINE
from fallback.errors import UsageError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import (
    FinishReason,
    Problem,
    Reading,
    SegmentKind,
    Span,
    Suppressed,
    ToolCall,
)
from fallback.parsing.bodies import Body, Fault, Item
from fallback.parsing.events import (
    BatchComplete,
    CallSuppressed,
    End,
    Event,
    ReasoningDelta,
    TextDelta,
)
from fallback.parsing.evidence import Evidence
from fallback.parsing.given import check_reason, check_text
from fallback.parsing.live.calls import Live
from fallback.parsing.rawcall import RawCall
from fallback.parsing.scanner import Scanner
from fallback.parsing.source import Source
from fallback.validation import own_id, validate

_SHORTEST = 3  # characters of a call: ``f()``
_UNREAD = "dialect_not_read"
_NAME_IS_KEY = "apertus"  # where that is the form, it is no repair

ToolChoice = str | Mapping[str, Any]


class Parser:
    """Reads one reply of a model.

    Args:
        catalogue: the tools that were offered; only these can be called.
        tool_choice: ``auto``, ``required``, ``none`` (nothing is read, the text is left alone), or
        one
            tool, as its name or as OpenAI's ``{"type": "function", "function": {"name": …}}``.
        reasoning_open: whether the prompt itself opened the reasoning, so that the reply begins
        inside.
        limits: sizes beyond which a reply is a problem.
        id_prefix: calls are numbered ``<prefix>0``, ``<prefix>1`` …; choose one that is new for
        each
            reply of a conversation.
        said: the user's words; an argument that stands there is no placeholder.
        dialects: the only dialects whose calls count, by name
            (:data:`fallback.dialects.names.READ`); ``None`` for all but ``inline``, which nothing
            sets apart from a sentence about a call and which has to be asked for. Calls in another
            one are recognised, suppressed and reported.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        tool_choice: ToolChoice = "auto",
        reasoning_open: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        id_prefix: str = "call_",
        said: str = "",
        dialects: Iterable[str] | None = None,
    ) -> None:
        if not isinstance(catalogue, Catalogue):
            raise UsageError("a Parser takes a Catalogue; write Parser(Catalogue(tools))")
        self._catalogue, self._limits, self._prefix = catalogue, limits, id_prefix
        self._said = said
        self._dialects = chosen_dialects(dialects)
        self._only = chosen_tool(tool_choice)
        self._off = tool_choice == "none"
        self._events: list[Event] = []
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_at = 0
        self._calls: list[ToolCall] = []
        self._problems: list[Problem] = []
        self._suppressed: list[Suppressed] = []
        self._evidence = Evidence()
        self._verdict: tuple[SegmentKind, str] = ("rejected", "")  # on the last body of calls
        self._index = 0
        self._ids: set[str] = set()
        self._size = 0
        self._batch_told = False
        self._quotations = 0
        self._reading: Reading | None = None
        self._source = Source()
        self._silent = False  # set by ``parse``, which only wants the reading
        self._quoting = False  # set while a quoted part is looked at, so that it is not done again
        self._live = Live(self._events.append, catalogue, self._only)
        self._scanner = Scanner(
            self._source,
            catalogue,
            limits,
            self,
            self._live,
            reasoning_open=reasoning_open,
            inline=self._dialects is not None and INLINE.name in self._dialects,
        )
        if not self._off:
            self._source.drive(self._scanner.start)

    # -- the caller's side

    def feed(self, chunk: str) -> list[Event]:
        """Take the next piece of the reply, of any size, and return what is known from it.

        Raises:
            UsageError: the parser has been closed, or this is no text.
        """
        if self._reading is not None:
            raise UsageError("feed() after close(); make a new Parser for the next reply")
        check_text(chunk)
        room = self._limits.max_reply_chars - self._size
        self._size += len(chunk)
        if room < len(chunk):
            chunk = chunk[: max(room, 0)]
        if self._off:
            if chunk:
                self.text(chunk, self._size - len(chunk))
        elif chunk:
            self._source.feed(chunk)
        return self._flush()

    def close(self, finish_reason: FinishReason = "stop") -> list[Event]:
        """Say that the reply is over, and why; returns the last events. A second call returns
        none.

        Raises:
            UsageError: there is no such reason to end.
        """
        if self._reading is not None:
            return []
        check_reason(finish_reason)
        oversized = self._size > self._limits.max_reply_chars
        if not self._off:
            self._source.close(cut_short=finish_reason == "length" or oversized)
            self._look_into_reasoning()
        if oversized:
            size, limit = self._size, self._limits.max_reply_chars
            message = f"the reply has {size} characters; only the first {limit} were read"
            self._problem(Problem(kind="oversized", message=message, span=Span(limit, size)))
            self.segment("dropped", limit, size, "oversized")
        self._live.passed("dropped")
        self.batch_over()
        self._say(End(finish_reason))
        self._reading = Reading(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            calls=tuple(self._calls),
            problems=tuple(self._problems),
            suppressed=tuple(self._suppressed),
            segments=self._evidence.segments(),
            finish_reason=finish_reason,
        )
        return self._flush()

    @property
    def reading(self) -> Reading:
        """The reading of the whole reply.

        Raises:
            UsageError: the reply is not over yet.
        """
        if self._reading is None:
            raise UsageError("the reading is there after close()")
        return self._reading

    def _say(self, event: Event) -> None:
        if not self._silent:
            self._events.append(event)

    def _flush(self) -> list[Event]:
        events = self._events.copy()
        self._events.clear()
        return events

    def be_silent(self) -> None:
        """Make only the reading, for which no event is needed."""
        self._silent, self._live.on = True, False

    # -- the scanner's side

    def text(self, text: str, start: int) -> None:
        """Prose for the user."""
        self._text.append(text)
        self._say(TextDelta(text))
        self._account("text", start, start + len(text))

    def reasoning(self, text: str, start: int) -> None:
        """Thinking."""
        if not self._reasoning:
            self._reasoning_at = start
        self._reasoning.append(text)
        self._say(ReasoningDelta(text))
        self._account("reasoning", start, start + len(text))

    def segment(self, kind: SegmentKind, start: int, end: int, note: str = "") -> None:
        """Characters that are neither prose nor thinking, and what became of them."""
        if kind == "call":
            kind, note = self._verdict
        self._account(kind, start, end, note)

    def _account(self, kind: SegmentKind, start: int, end: int, note: str = "") -> None:
        if self._live.waiting:
            self._live.passed(kind, end)
        self._evidence.add(kind, start, end, note)

    def calls(self, body: Body, dialect: str) -> bool:
        """A body that is meant as calls; its items may still be at fault. ``False``: no more."""
        if self._foreign(body, dialect):
            return True
        calls, problems = len(self._calls), len(self._problems)
        more = self._take(body, dialect)
        repairs = [repair for call in self._calls[calls:] for repair in call.repairs]
        kinds = [problem.kind for problem in self._problems[problems:]]
        note = ", ".join(dict.fromkeys([*repairs, *kinds]))
        self._verdict = ("call" if len(self._calls) > calls else "rejected", note)
        return more

    def _foreign(self, body: Body, dialect: str) -> bool:
        """Whether a body is in a dialect that the caller does not want read."""
        wanted = self._dialects
        if wanted is None:
            return False
        written = {dialect} if dialect else {call.dialect for call in body.calls}
        if written <= wanted:
            return False
        self._verdict = ("rejected", _UNREAD)
        text = self._source.buf[body.start : body.end]
        self.suppressed(_UNREAD, text, self._source.base + body.start)
        return True

    def _take(self, body: Body, dialect: str) -> bool:
        for item in body.items:
            if item.fault is not None:
                self._faulty(item, item.fault)
            for raw in item.calls:
                if self._index >= self._limits.max_calls_per_step:
                    limit = self._limits.max_calls_per_step
                    message = f"more than {limit} calls in one reply; the rest was not read"
                    self._problem(Problem(kind="oversized", message=message, span=raw.span))
                    return False
                checked = validate(
                    _as_written(raw, dialect),
                    self._catalogue,
                    id=own_id(raw.id, self._ids, self._prefix, self._index),
                    dialect=dialect or raw.dialect,
                    only=self._only,
                    said=self._said,
                )
                if isinstance(checked, Problem):
                    self._problem(checked, every=False)
                else:
                    self._call(checked)
        return len(self._problems) <= self._limits.max_problems_per_step

    def _call(self, call: ToolCall) -> None:
        self._ids.add(call.id)
        self._index += 1
        self._calls.append(call)
        self._live.ready(call)

    def _problem(self, problem: Problem, *, every: bool = True) -> None:
        self._problems.append(problem)
        self._live.refused(problem, every=every)

    def _faulty(self, item: Item, fault: Fault) -> None:
        base, buf = self._source.base, self._source.buf
        tool = self._catalogue.resolve(fault.name) if fault.name else None
        name = tool.name if tool else fault.name
        if fault.kind == "truncated":
            where = f"The call of `{name}`" if name else "The call"
            message = (
                f"{where} was cut off before it was complete and was not run. "
                "Write it again, shorter, or in several smaller calls."
            )
        else:
            message = (f"`{name}`: " if name else "") + fault.message
        self._problem(
            Problem(
                kind=fault.kind,
                message=message,
                tool=tool.name if tool else None,
                span=Span(base + item.start, base + item.end),
                text=buf[item.start : min(item.end, item.start + 2000)],
            )
        )

    def quoted(self, reason: str, text: str, start: int, end: int | None = None) -> None:
        """Text that is shown as text although it may hold a call: look, and report what is found.

        ``end`` is where it ends if that is not its length behind ``start``.
        """
        if self._quoting or len(text) < _SHORTEST or not any(sign in text for sign in "{(<["):
            return
        end = start + len(text) if end is None else end
        self._quotations += 1
        looked_into = self._quotations <= self._limits.max_quotations
        if looked_into and self._calls_quoted_in(text):
            self.suppressed(reason, text, start, end)
        else:
            self._evidence.mark("masked", start, end, reason)

    def suppressed(self, reason: str, text: str, start: int, end: int | None = None) -> None:
        """Text that states a call and is shown as text; ``end`` as for :meth:`quoted`."""
        if self._quoting:
            return
        span = Span(start, start + len(text) if end is None else end)
        found = Suppressed(reason=reason, text=text, span=span)
        self._suppressed.append(found)
        self._live.suppressed(reason, span)
        self._evidence.mark("candidate", span.start, span.end, reason)
        self._say(CallSuppressed(found))

    def batch_over(self) -> None:
        """Something other than a call follows the calls."""
        if self._calls and not self._batch_told:
            self._batch_told = True
            self._say(BatchComplete(len(self._calls)))

    def _calls_quoted_in(self, text: str) -> tuple[ToolCall, ...]:
        inner = Parser(self._catalogue, limits=self._limits)
        inner._quoting = True
        inner.be_silent()
        inner.feed(text)
        inner.close()
        return inner.reading.calls

    def _look_into_reasoning(self) -> None:
        """A call that was only thought of: a problem if there is nothing else, else just
        reported."""
        if not self._reasoning or self._quoting:
            return
        thought = "".join(self._reasoning)
        if not any(sign in thought for sign in "{(<["):
            return
        found = self._calls_quoted_in(thought)
        if not found:
            return
        span = Span(self._reasoning_at, self._reasoning_at + len(thought))
        if self._calls or self._problems or "".join(self._text).strip():
            reported = Suppressed(reason="in_reasoning", text=thought, span=span)
            self._suppressed.append(reported)
            self._say(CallSuppressed(reported))
            return
        message = (
            f"The call of `{found[0].name}` stands inside the reasoning, where nothing is run. "
            "Write the call outside the reasoning, or answer."
        )
        self._problem(Problem(kind="in_reasoning", message=message, tool=found[0].name, span=span))


def _as_written(call: RawCall, dialect: str) -> RawCall:
    """Without the repair that is none in this dialect."""
    if dialect != _NAME_IS_KEY or "name_as_key" not in call.repairs:
        return call
    return replace(call, repairs=tuple(name for name in call.repairs if name != "name_as_key"))


def chosen_tool(tool_choice: ToolChoice) -> str | None:
    """The one tool that a ``tool_choice`` names, if it names one."""
    if isinstance(tool_choice, Mapping):
        function = tool_choice.get("function", tool_choice)
        name = function.get("name") if isinstance(function, Mapping) else None
        return str(name) if name else None
    return None if tool_choice in ("auto", "none", "required", "any") else tool_choice
