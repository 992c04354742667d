"""The calls of a reply that have been started, and how each of them ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from fallback.catalogue import Catalogue
from fallback.messages import Problem, Span, ToolCall
from fallback.parsing.events import (
    ArgumentsDelta,
    CallReady,
    CallStarted,
    CallWithdrawn,
    Event,
    ProblemFound,
)

if TYPE_CHECKING:
    from fallback.parsing.bodies import Body
    from fallback.parsing.live.arguments import Arguments
    from fallback.tools import Tool


class StartedCall:
    """A call that was told to have begun.

    Attributes:
        index: its number among the calls that were started.
        name: the declared tool.
        at: offset in the reply, inside the call.
        pieces: what has been told of its arguments.
    """

    __slots__ = ("_say", "at", "index", "name", "pieces")

    def __init__(self, index: int, name: str, at: int, say: Callable[[Event], None]) -> None:
        self.index, self.name, self.at, self._say = index, name, at, say
        self.pieces: list[str] = []
        say(CallStarted(index, name))

    def tell(self, fragment: str) -> None:
        """Emit the next piece of the arguments."""
        self.pieces.append(fragment)
        self._say(ArgumentsDelta(self.index, fragment))


class Live:
    """Starts calls and ends them. Made for one parser.

    Args:
        say: takes the events.
        catalogue: the tools that can be called.
        only: the one tool that may be called, if there is only one.

    Attributes:
        on: whether anybody listens.
        hand_on: hands on the text before an index of the buffer; set by the scanner.
        offset: turns an index of the buffer into an offset in the reply; set by the scanner.
    """

    def __init__(
        self, say: Callable[[Event], None], catalogue: Catalogue, only: str | None
    ) -> None:
        self.on = True
        self.hand_on: Callable[[int], None] = lambda _: None
        self.offset: Callable[[int], int] = lambda at: at
        self._say, self._catalogue, self._only = say, catalogue, only
        self._count = 0
        self._open: list[StartedCall] = []
        self._hit: int | None = None
        self._body: Body | None = None

    # -- the readers' side

    def permit(self, hit: int | None, body: Body | None = None) -> None:
        """Let the calls of what begins at an index be started; ``None``: not before they are read.

        Args:
            hit: where the text before the calls ends, if what follows can only be calls.
            body: gets the calls that are read, in order.
        """
        self._hit, self._body = hit, body

    @property
    def permitted(self) -> bool:
        """Whether a call that begins now would be told."""
        return self.on and self._hit is not None

    def knows(self, name: str) -> bool:
        """Whether that is the name of a tool that may be called."""
        return self._tool(name) is not None

    def begin(self, name: str, at: int, *, late: bool = False) -> Arguments | None:
        """The writer for the arguments that begin at an index; ``None`` if nothing is to be told.

        Args:
            name: the tool as it was written.
            at: index in the buffer, inside the call.
            late: start the call only with its first argument.
        """
        tool = self._tool(name) if self.permitted else None
        if tool is None:
            return None
        from fallback.parsing.live.arguments import Arguments

        arguments = Arguments(tool, lambda: self._started(tool, at))
        if not late:
            arguments.start()
        return arguments

    def _tool(self, name: str) -> Tool | None:
        tool = self._catalogue.resolve(name)
        return None if tool is None or self._only not in (None, tool.name) else tool

    def _started(self, tool: Tool, at: int) -> StartedCall:
        if self._hit is not None:
            self.hand_on(self._hit)
        if self._body is not None:
            self._catch_up(self._body)
        return self._start(tool.name, self.offset(at))

    def _catch_up(self, body: Body) -> None:
        """Start the calls that stand before this one and are complete, but not yet accepted."""
        first = max((call.at for call in self._open), default=-1)
        for raw in body.calls:
            if raw.span.start > first and (tool := self._tool(raw.name)) is not None:
                self._start(tool.name, raw.span.start)

    def _start(self, name: str, at: int) -> StartedCall:
        call = StartedCall(self._count, name, at, self._say)
        self._count += 1
        self._open.append(call)
        return call

    # -- the parser's side

    def ready(self, call: ToolCall) -> None:
        """The call is valid: tell what is missing of it, and that it may run."""
        if not self.on:
            return
        text = json.dumps(call.arguments, ensure_ascii=False)
        started = next(self._within(call.span), None)
        told = "".join(started.pieces) if started else ""
        if started and (started.name != call.name or not text.startswith(told)):
            self._withdraw(started, "restated")
            started, told = None, ""
        if started is None:
            started = self._start(call.name, call.span.start)
        self._open.remove(started)
        if len(told) < len(text):
            started.tell(text[len(told) :])
        self._say(CallReady(started.index, call))

    def refused(self, problem: Problem, *, every: bool = False) -> None:
        """The next call at the problem's place, or every one there, may not run."""
        if not self.on:
            return
        index = None
        for call in list(self._within(problem.span))[: None if every else 1]:
            index = call.index
            self._withdraw(call, problem.kind)
        self._say(ProblemFound(problem, index))

    def suppressed(self, reason: str, span: Span) -> None:
        """What stands there was not meant."""
        for call in list(self._within(span)):
            self._withdraw(call, reason)

    def passed(self, reason: str, end: int | None = None) -> None:
        """Everything before an offset is accounted for: what is still open there is no call."""
        for call in list(self._open):
            if end is None or call.at < end:
                self._withdraw(call, reason)

    @property
    def waiting(self) -> bool:
        """Whether any call has been started and not ended."""
        return bool(self._open)

    def _within(self, span: Span) -> Iterator[StartedCall]:
        return (
            call for call in self._open if span.start <= call.at < max(span.end, span.start + 1)
        )

    def _withdraw(self, call: StartedCall, reason: str) -> None:
        self._open.remove(call)
        self._say(CallWithdrawn(call.index, reason))
