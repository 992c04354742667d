"""How a turn ends, and what is left of it until then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fallback.errors import BackendError, FallbackError
from fallback.limits import Limits
from fallback.loop.actions import Outcome
from fallback.loop.record import RAN
from fallback.loop.spent import UNSPENT, Spent
from fallback.messages import Step, StopReason, ToolResult, Turn
from fallback.tools import Tool

__all__ = ["Budget", "Ending", "in_seconds", "is_answered", "out_of_steps"]


_LIMITED: frozenset[StopReason] = frozenset(
    ("max_steps", "max_calls", "repeated_call", "deadline", "failed")
)


def _no_answer(detail: str) -> str:
    """What stands in the answer's place where there is none."""
    return f"No answer: {detail.removesuffix('.')}."


def is_answered(turn: Turn) -> bool:
    """Whether the answer is one, and not the sentence that says why there is none."""
    return bool(turn.answer) and turn.answer != _no_answer(turn.detail)


def in_seconds(seconds: float) -> str:
    """As one would say it: whole ones from ten on, two digits below."""
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


class Ending(Exception):  # an ending is not an error; it only travels like one
    """Ends the turn from wherever that is found out; never leaves :mod:`fallback.loop`."""

    def __init__(
        self,
        reason: StopReason,
        detail: str = "",
        *,
        answer: str = "",
        error: FallbackError | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail
        self.answer, self.error = answer, error

    @property
    def final_answer(self) -> str:
        """The answer; of a turn that a limit ended without one, why there is none.

        An error of the backend is raised, and says it itself.
        """
        if self.answer or self.reason not in _LIMITED or self.error is not None:
            return self.answer
        return _no_answer(self.detail)


class Budget:
    """Time and calls left for the turn. Time is what the driver says; there is no clock here."""

    def __init__(self, limits: Limits, spent: Spent = UNSPENT, *, executed: int = 0) -> None:
        self._limits = limits
        self.elapsed = 0.0
        self.executed = executed
        self.pauses, self.failures = spent.pauses, spent.failures

    def hear(self, outcome: Outcome) -> None:
        """Take the time that an outcome reports."""
        self.elapsed = max(self.elapsed, outcome.elapsed)

    @property
    def seconds(self) -> float | None:
        """Seconds left; ``None`` without a deadline."""
        deadline = self._limits.turn_seconds
        return None if deadline is None else max(0.0, deadline - self.elapsed)

    def next_pause(self, busy: BackendError) -> float:
        """Seconds to wait before a busy server is asked again.

        Raises:
            Ending: it has been asked often enough, or the turn has no time for the pause.
        """
        pause: float = self._limits.retry_seconds * 2**self.pauses
        late = self.seconds is not None and pause >= self.seconds
        if late or self.pauses >= self._limits.max_transient_retries:
            raise Ending("failed", str(busy), error=busy)
        self.pauses += 1
        return pause

    @property
    def overdue(self) -> Ending | None:
        """The ending, once no time is left."""
        if self.seconds is None or self.seconds > 0:
            return None
        return Ending("deadline", f"stopped after {in_seconds(self.elapsed)} s (turn_seconds)")

    def tool_seconds(self, tool: Tool) -> float | None:
        """Deadline of a call: the tool's own or everybody's, or the turn's if that comes first."""
        own = self._limits.tool_seconds if tool.timeout is None else tool.timeout
        return min((s for s in (own, self.seconds) if s is not None), default=None)

    @property
    def max_parallel(self) -> int:
        """How many calls may run at a time."""
        return self._limits.max_parallel

    def failed(self, results: Iterable[ToolResult]) -> StopReason | None:
        """Take the results of one reply; says whether too many replies had nothing but errors."""
        ran = [result for result in results if result.status in RAN]
        if ran and not any(result.ok for result in ran):
            self.failures += 1
        return "answered" if self.failures >= self._limits.max_tool_errors else None

    @property
    def spent(self) -> bool:
        """Whether no further call may run."""
        return self.executed >= self._limits.max_calls_per_turn


def out_of_steps(steps: Sequence[Step]) -> Ending:
    """The ending of a turn that has asked as often as it may."""
    return Ending(
        "max_steps",
        f"stopped after {len(steps)} step{'s' * (len(steps) != 1)} without an answer (max_steps)",
        answer=steps[-1].reading.text.strip() if steps else "",
    )
