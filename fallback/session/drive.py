"""One turn under way: what both kinds of session do in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from fallback.backend import Scores
from fallback.errors import BackendError, CapabilityError
from fallback.execution import Pace, Rates, Wake
from fallback.execution.hooks import Steps
from fallback.loop import (
    Action,
    Approve,
    Approved,
    Authorised,
    Decision,
    Described,
    Ended,
    Execute,
    Executed,
    Generate,
    Generation,
    Interrupted,
    Job,
    Outcome,
    Plan,
    Reply,
    Scored,
    TurnLoop,
)
from fallback.loop.paused import Paused
from fallback.loop.progress import Progress, StepEnded, ToolStarted, TurnEnded
from fallback.loop.spent import Spent
from fallback.messages import FinishReason, ToolResult
from fallback.parsing.events import CallReady, Event
from fallback.policy import Deny
from fallback.session.grounding import checked
from fallback.session.oversight import Oversight

__all__ = ["Drive", "scorer"]


class Drive:
    """One turn under way: its generator, its clock, and what has been heard of it so far."""

    def __init__(
        self,
        loop: TurnLoop,
        plan: Plan,
        oversight: Oversight,
        clock: Callable[[], float],
        rates: Rates,
        spent: Spent,
    ) -> None:
        self._loop, self._plan, self.oversight = loop, plan, oversight
        self._actions = loop.run()
        self._clock, self._started = clock, clock()
        self._steps_told = len(loop.record.steps)
        self._waited = 0.0
        self._reply_started = self._started
        self._asked: Generate | None = None
        self._reply: Reply | None = None
        self._results: list[ToolResult] = []
        self._seconds, self._retries = plan.limits.turn_seconds, plan.limits.max_transient_retries
        self.wake = Wake()
        self.pace = Pace(
            rates=rates,
            clock=clock,
            left=self.seconds_left,
            limits=plan.limits,
            retries=max(0, plan.limits.max_transient_retries - spent.retries),
            masks=plan.masks,
        )
        self.ended: Ended | None = None
        # Calls that began while their reply was still being written: futures or tasks, by id.
        self.early: dict[str, Any] = {}
        self._width = plan.limits.max_parallel

    def start(self) -> Action | None:
        """The first action; ``None`` once the turn has ended."""
        try:
            return next(self._actions)
        except StopIteration as stop:
            self.ended = checked(stop.value, self._plan)
            return None

    def send(self, outcome: Outcome) -> Action | None:
        """Answer the last action; returns the next one, or ``None`` once the turn has ended."""
        self._reply, self._results = None, []
        if isinstance(outcome, Described) and outcome.info is not None:
            self.oversight.provenance.digest = outcome.info.digest
        try:
            return self._actions.send(outcome)
        except StopIteration as stop:
            self.ended = checked(stop.value, self._plan)
            return None
        finally:
            if isinstance(outcome, Described):  # what was measured may have changed the plan
                self.oversight.provenance.dialect = self._loop.plan.dialect.name
                self.pace.limits = self._loop.plan.limits

    def steps(self) -> Iterator[StepEnded]:
        """The steps that have ended since the last time."""
        for step in self._loop.record.steps[self._steps_told :]:
            self._steps_told += 1
            yield StepEnded(step)

    @property
    def elapsed(self) -> float:
        """Seconds since the turn began, without those in which a person was waited for."""
        return self._clock() - self._started - self._waited

    def seconds_left(self) -> float | None:
        """Until the deadline of the turn; ``None`` without one."""
        return None if self._seconds is None else max(0.0, self._seconds - self.elapsed)

    def given_up(self) -> Interrupted:
        """The outcome of asking a server that did not answer in time, or until the turn's end."""
        late = self._seconds is not None and not self.wake.requested
        # The last wait has ended with the turn's time, whatever the clocks make of it.
        elapsed = max(self.elapsed, self._seconds or 0.0) if late else self.elapsed
        return Interrupted(elapsed=elapsed)

    # A turn that others may go on with ----------------------------------------------------------

    def hold(self, action: Action) -> Steps[None]:
        """Keep others from a turn that was gone on with, for as long as its next action may take.

        Before calls run, what they are and all before them goes on record.

        Raises:
            LedgerError: somebody else has taken the turn over.
        """
        if self.oversight.claim is None:
            return
        so_far = self._with_retries(self._loop.so_far()) if isinstance(action, Execute) else None
        # Nobody knows how long people take.
        seconds = None if isinstance(action, Approve) else self.seconds_left()
        yield from self.oversight.hold(seconds, so_far)

    def keep(self) -> Steps[None]:
        """Keep the turn that has ended, if it waits; forget it, if it waited before."""
        if self.ended is None:
            raise AssertionError("a turn always ends")
        paused = self.ended.paused
        yield from self.oversight.keep(self.ended, paused and self._with_retries(paused))

    def told_end(self) -> TurnEnded:
        """The last event of the turn.

        Raises:
            FallbackError: what the outside world did wrong.
        """
        if self.ended is None:
            raise AssertionError("a turn always ends")
        if self.ended.error is not None:
            raise self.ended.error
        return TurnEnded(self.ended.turn)

    def _with_retries(self, paused: Paused) -> Paused:
        used = self._retries - max(0, self.pace.retries)
        return replace(paused, spent=replace(paused.spent, retries=used))

    # Calls that begin early ---------------------------------------------------------------------

    def early_job(self, action: Generate, event: Event) -> Job | None:
        """The job that may begin with this event of a reply, if one may."""
        if action.early is None or not isinstance(event, CallReady):
            return None
        if sum(not running.done() for running in self.early.values()) >= self._width:
            return None
        return action.early(event.call)

    def told(self, event: Progress) -> bool:
        """Whether an event has been told before: the start of a call that began early."""
        return isinstance(event, ToolStarted) and event.call.id in self.early

    def tidy(self) -> None:
        """End the calls that began early and that nobody has asked for."""
        if not all(running.done() for running in self.early.values()):
            self.wake.cancel()

    def scored(
        self, scores: Scores | None, error: BackendError | None = None
    ) -> Scored | Interrupted:
        """The outcome of asking how probable values are."""
        if self.wake.requested:
            return Interrupted(elapsed=self.elapsed)
        if scores is None:
            return Scored(error=error, elapsed=self.elapsed)
        return Scored(
            logprobs=scores.logprobs,
            unseen=scores.unseen,
            usage=scores.usage,
            elapsed=self.elapsed,
        )

    # Questions to hooks and people --------------------------------------------------------------

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A person is asked; the time that he takes is not the turn's."""
        began = self._clock()
        try:
            yield
        finally:
            self._waited += self._clock() - began

    def authorised(self, refusals: tuple[Deny | None, ...]) -> Authorised | Interrupted:
        """The outcome of asking the hooks."""
        if self.wake.requested:
            return Interrupted(elapsed=self.elapsed)
        return Authorised(refusals=refusals, elapsed=self.elapsed)

    def approved(self, decisions: tuple[Decision, ...]) -> Approved | Interrupted:
        """The outcome of asking people."""
        if self.wake.requested:
            return Interrupted(elapsed=self.elapsed)
        return Approved(decisions=decisions, elapsed=self.elapsed)

    # A reply under way --------------------------------------------------------------------------

    def open(self, action: Generate) -> Reply:
        """Begin to read a reply."""
        self._asked, self._reply = action, Reply(action)
        self._reply_started = self._clock()
        self.early = {}
        return self._reply

    def begins_step(self, action: Generate) -> bool:
        """Whether the reply is the first that is heard of its step."""
        return not action.told and action.given is None

    def told_of(self, action: Generate, events: list[Event]) -> list[Event]:
        """What listeners are told of a reply."""
        return [] if action.draft else events

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
        events, generation = reply.close(
            finish_reason=finish_reason,
            error=error,
            elapsed=self.elapsed,
            seconds=self._reply_seconds,
        )
        if (asked := self._asked) is not None:
            reported = generation.reading.calls if generation.tool_calls else ()
            provenance = self.oversight.provenance
            provenance.heard(asked.index, asked.request.mode, generation.raw, reported)
        return events, generation

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


def scorer(backend: Any, method: str) -> Any:
    """The backend, if it can say how probable a reply is.

    Raises:
        CapabilityError: it cannot.
    """
    if not hasattr(backend, method):
        raise CapabilityError(
            f"{type(backend).__name__} tells no log-probabilities (it has no method `{method}`),"
            " which deciding between tools needs: leave `decide` out",
            status=400,
            missing="logprobs",
        )
    return backend
