"""What both kinds of session share: the settings, the conversation, and the turn under way.

All decisions are the turn's (:mod:`fallback.loop.turn`); a session only does what it is asked.
The two drivers are short enough to be compared line by line.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

from fallback.catalogue import Catalogue
from fallback.dialects.record import PROMPTED, Dialect
from fallback.errors import BackendError, ConfigurationError, UnknownDialectError, UsageError
from fallback.execution import Pace, Rates, Wake, check_context
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.loop import (
    Action,
    Ended,
    Executed,
    Generate,
    Generation,
    Interrupted,
    Outcome,
    Plan,
    Reply,
    TurnFlow,
)
from fallback.loop.progress import Progress, StepEnded
from fallback.messages import FinishReason, Message, ToolResult, Turn
from fallback.parsing.events import Event
from fallback.routing import Route
from fallback.tools import ToolLike

__all__ = ["Drive", "SessionBase"]

RequestedMode = Literal["auto", "native", "prompt"]
RequestedEndpoint = Literal["auto", "generate", "chat"]
_MODES = ("auto", "native", "prompt")


class Drive:
    """One turn under way: its generator, its clock, and what has been heard of it so far."""

    def __init__(
        self,
        plan: Plan,
        history: tuple[Message, ...],
        question: Message,
        clock: Callable[[], float],
        rates: Rates,
    ) -> None:
        self._flow = TurnFlow(plan, history, question)
        self._actions = self._flow.run()
        self._clock, self._started = clock, clock()
        self._steps_told = 0
        self._reply_started = self._started
        self._reply: Reply | None = None
        self._results: list[ToolResult] = []
        self._seconds = plan.limits.turn_seconds
        self.wake = Wake()
        self.pace = Pace(
            rates=rates,
            clock=clock,
            left=self._turn_left,
            limits=plan.limits,
            retries=plan.limits.max_transient_retries,
        )
        self.ended: Ended | None = None

    def start(self) -> Action | None:
        """The first action; ``None`` once the turn has ended."""
        try:
            return next(self._actions)
        except StopIteration as stop:
            self.ended = stop.value
            return None

    def send(self, outcome: Outcome) -> Action | None:
        """Answer the last action; returns the next one, or ``None`` once the turn has ended."""
        self._reply, self._results = None, []
        try:
            return self._actions.send(outcome)
        except StopIteration as stop:
            self.ended = stop.value
            return None

    def steps(self) -> Iterator[StepEnded]:
        """The steps that have ended since the last time."""
        for step in self._flow.record.steps[self._steps_told :]:
            self._steps_told += 1
            yield StepEnded(step)

    @property
    def elapsed(self) -> float:
        """Seconds since the turn began."""
        return self._clock() - self._started

    def _turn_left(self) -> float | None:
        return None if self._seconds is None else max(0.0, self._seconds - self.elapsed)

    # A reply under way --------------------------------------------------------------------------

    def open(self, action: Generate) -> Reply:
        """Begin to read a reply."""
        self._reply = Reply(action)
        self._reply_started = self._clock()
        return self._reply

    def left(self, action: Generate) -> float | None:
        """Seconds until the reply has to be ended; ``None`` without a deadline."""
        return None if action.seconds is None else action.seconds - self._reply_seconds

    def must_stop(self, action: Generate) -> bool:
        """Whether the reply has to be ended: cancelled, or out of time."""
        left = self.left(action)
        return self.wake.requested or (left is not None and left <= 0)

    def close(
        self,
        reply: Reply,
        *,
        finish_reason: FinishReason | None = None,
        error: BackendError | None = None,
    ) -> tuple[list[Event], Generation]:
        """End a reply and date it."""
        return reply.close(
            finish_reason=finish_reason,
            error=error,
            elapsed=self.elapsed,
            seconds=self._reply_seconds,
        )

    @property
    def _reply_seconds(self) -> float:
        return self._clock() - self._reply_started

    # An end before its time ---------------------------------------------------------------------

    def ran(self, result: ToolResult) -> None:
        """Remember a result that has not been sent yet."""
        self._results.append(result)

    def executed(self) -> Executed | Interrupted:
        """The outcome of calls that have run, or were broken off by :meth:`SessionBase.cancel`."""
        results = tuple(self._results)
        if self.wake.requested:
            return Interrupted(results=results, elapsed=self.elapsed)
        return Executed(results=results, elapsed=self.elapsed)

    def abandon(self, cause: BaseException) -> None:
        """End the turn because something was raised; what is known of it stays on record."""
        if self.ended is not None:
            return
        wanted = not isinstance(cause, Exception) or isinstance(cause, TimeoutError)
        generation = None
        if self._reply is not None:
            _, generation = self.close(self._reply, finish_reason="cancelled")
        outcome = Interrupted(
            reason="cancelled" if wanted else "failed",
            detail=f"broken off by {type(cause).__name__}",
            generation=generation,
            results=tuple(self._results),
            elapsed=self.elapsed,
        )
        try:
            self._actions.send(outcome)
        except StopIteration as stop:
            self.ended = stop.value


class SessionBase:
    """Settings and conversation; see :class:`fallback.session.Session` for the arguments."""

    def __init__(
        self,
        model: str,
        tools: Catalogue | Iterable[ToolLike] = (),
        *,
        host: str | None = None,
        mode: RequestedMode = "auto",
        backend: Any = None,
        dialect: str | Dialect = "fenced",
        instructions: str = "",
        context: Mapping[str, Any] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        options: Mapping[str, Any] | None = None,
        tool_choice: str = "auto",
        on_event: Callable[[Progress], object] | None = None,
        endpoint: RequestedEndpoint = "auto",
        num_ctx: int | None = None,
        think: bool | str | None = None,
        read_text: bool = True,
    ) -> None:
        if mode not in _MODES:
            raise ConfigurationError(f"mode {mode!r} is none of {', '.join(_MODES)}")
        catalogue = tools if isinstance(tools, Catalogue) else Catalogue(tools, limits=limits)
        self._context = dict(context or {})
        for tool in catalogue:
            check_context(tool, self._context)
        self._plan = Plan(
            model=model,
            catalogue=catalogue,
            dialect=_dialect(dialect),
            mode=mode,
            instructions=instructions,
            tool_choice=_choice(tool_choice, catalogue),
            limits=limits,
            # A call has one right spelling: the likeliest token unless the caller wants variety.
            options={"temperature": 0.0, **(options or {})},
            num_ctx=num_ctx,
            think=think,
            read_text=read_text,
        )
        self._on_event = on_event
        self._owns_backend = backend is None
        self._backend = _connect(host, endpoint, limits) if backend is None else backend
        self._clock = time.monotonic
        self._rates = Rates()
        self._busy = threading.Lock()
        self._drive: Drive | None = None
        self._route: Route | None = None
        self._messages: tuple[Message, ...] = ()
        self._turn: Turn | None = None

    @property
    def catalogue(self) -> Catalogue:
        """The tools on offer."""
        return self._plan.catalogue

    @property
    def backend(self) -> Any:
        """Where prompts are sent."""
        return self._backend

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, calls and results included, without the system prompt."""
        return self._messages

    @property
    def turn(self) -> Turn | None:
        """The last turn, even if it was broken off; ``None`` before the first."""
        return self._turn

    def cancel(self) -> None:
        """End the turn under way, if there is one; may be called from any thread.

        A reply ends with its next piece, the wait for a tool at once. Nothing is undone.
        """
        drive = self._drive
        if drive is not None:
            drive.wake.cancel()

    @contextmanager
    def _driving(self, question: str, images: Iterable[str]) -> Iterator[Drive]:
        """One turn at a time; however it ends, its record is kept."""
        asked = Message(role="user", content=question, images=tuple(images))
        if not question.strip() and not asked.images:
            raise UsageError("there is nothing to ask: the question is empty")
        if not self._busy.acquire(blocking=False):
            raise UsageError("this session is in the middle of a turn; use one session per thread")
        try:
            plan = replace(self._plan, route=self._route)
            drive = self._drive = Drive(plan, self._messages, asked, self._clock, self._rates)
            try:
                yield drive
            except BaseException as cause:
                drive.abandon(cause)
                raise
            finally:
                self._keep(drive.ended)
        finally:
            self._drive = None
            self._busy.release()

    def _keep(self, ended: Ended | None) -> None:
        if ended is None:
            return
        self._turn, self._messages = ended.turn, ended.messages
        if self._plan.mode == "auto" and ended.route is not None:
            self._route = ended.route


def _dialect(given: str | Dialect) -> Dialect:
    if isinstance(given, Dialect):
        return given
    if given not in PROMPTED:
        known = ", ".join(sorted(PROMPTED))
        raise UnknownDialectError(f"there is no dialect {given!r}; there are {known}")
    return PROMPTED[given]


def _choice(tool_choice: str, catalogue: Catalogue) -> str:
    if tool_choice in ("auto", "none"):
        return tool_choice
    if tool_choice == "required":
        if len(catalogue) == 0:
            raise ConfigurationError("tool_choice is 'required', but there are no tools")
        return tool_choice
    if catalogue.get(tool_choice) is None:
        names = ", ".join(catalogue.names) or "none at all"
        raise ConfigurationError(
            f"tool_choice {tool_choice!r} is neither auto, none, required nor one of the tools:"
            f" {names}"
        )
    return tool_choice


def _connect(host: str | None, endpoint: RequestedEndpoint, limits: Limits) -> Any:
    from fallback.hosts import connect

    return connect(host, endpoint=endpoint, limits=limits)
