"""How a turn ends, and what is left of it until then."""

from __future__ import annotations

from fallback.errors import FallbackError
from fallback.limits import Limits
from fallback.loop.actions import Outcome
from fallback.messages import StopReason
from fallback.tools import Tool

__all__ = ["Budget", "Ending"]


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


class Budget:
    """Time and calls left for the turn. Time is what the driver says; there is no clock here."""

    def __init__(self, limits: Limits, *, executed: int = 0) -> None:
        self._limits = limits
        self.elapsed = 0.0
        self.executed = executed

    def hear(self, outcome: Outcome) -> None:
        """Take the time that an outcome reports."""
        self.elapsed = max(self.elapsed, outcome.elapsed)

    @property
    def seconds(self) -> float | None:
        """Seconds left; ``None`` without a deadline."""
        deadline = self._limits.turn_seconds
        return None if deadline is None else max(0.0, deadline - self.elapsed)

    @property
    def overdue(self) -> Ending | None:
        """The ending, once no time is left."""
        if self.seconds is None or self.seconds > 0:
            return None
        return Ending("deadline", f"stopped after {self.elapsed:.0f} s (turn_seconds)")

    def tool_seconds(self, tool: Tool) -> float | None:
        """Deadline of a call: the tool's own or everybody's, or the turn's if that comes first."""
        own = self._limits.tool_seconds if tool.timeout is None else tool.timeout
        return min((s for s in (own, self.seconds) if s is not None), default=None)

    @property
    def max_parallel(self) -> int:
        """How many calls may run at a time."""
        return self._limits.max_parallel

    @property
    def spent(self) -> bool:
        """Whether no further call may run."""
        return self.executed >= self._limits.max_calls_per_turn
