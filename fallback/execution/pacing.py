"""When a call may begin, and whether one that failed for now is made again.

Strategy. What is to be done, and in which order, is one generator (:func:`attempts`) that yields a
pause in seconds or a job to run and is sent what came of it; the blocking and the asynchronous
driver of a session each play it. The clock is theirs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

from fallback.execution.shown import Mask
from fallback.limits import Limits
from fallback.loop.actions import Job
from fallback.messages import ToolResult
from fallback.tools import Risk, Tool

__all__ = ["Pace", "Rates", "attempts"]


class Rates:
    """How often each tool has begun; one per session, used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: dict[str, deque[float]] = {}

    def claim(self, tool: Tool, now: float, patience: float) -> tuple[bool, float]:
        """Claim the next place for a call of a tool.

        Args:
            tool: with or without a rate.
            now: seconds, on any clock that only goes forward.
            patience: seconds that the call may wait.

        Returns:
            Whether the place is claimed, and the seconds until it comes; a place that is too far
            away is left to others.
        """
        if tool.rate is None:
            return True, 0.0
        count, seconds = tool.rate
        with self._lock:
            begun = self._begun.setdefault(tool.name, deque(maxlen=count))
            start = max(now, begun[0] + seconds) if len(begun) == count else now
            if start - now > patience:
                return False, start - now
            begun.append(start)
            return True, start - now


@dataclass(slots=True, kw_only=True)
class Pace:
    """What is left of a turn for its calls.

    Attributes:
        rates: of the session.
        clock: seconds, as :class:`Rates` counts them.
        left: seconds left for the turn; ``None`` without a deadline.
        retries: how often a call may still be made again.
        masks: what no result may show, see :mod:`fallback.execution.shown`.
    """

    rates: Rates
    clock: Callable[[], float]
    left: Callable[[], float | None]
    limits: Limits
    retries: int
    masks: Sequence[Mask] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def within(self, seconds: float | None) -> float | None:
        """A time, cut to what is left of the turn."""
        return min((s for s in (seconds, self.left()) if s is not None), default=None)

    def take_retry(self) -> bool:
        """Use up one retry, if one is left; calls that run side by side share them."""
        with self._lock:
            self.retries -= 1
            return self.retries >= 0


def attempts(job: Job, pace: Pace) -> Generator[float | Job, ToolResult | bool, ToolResult]:
    """Make one call: wait for its turn, run it, and run it again if that helps and does no harm.

    Yields:
        Seconds to wait, answered by whether they have passed undisturbed; or the job to run,
        answered by its result.
    """
    limits = pace.limits
    patience = pace.within(limits.rate_wait_seconds) or 0.0
    claimed, wait = pace.rates.claim(job.tool, pace.clock(), patience)
    if not claimed:
        return _refused(job, wait)
    if wait > 0 and not (yield wait):
        return _result(job, "Stopped before it began: the turn was cancelled.")
    again = 0
    slow: ToolResult | None = None
    while True:
        result = yield replace(job, seconds=pace.within(job.seconds))
        if not isinstance(result, ToolResult):
            raise TypeError("a job is answered by its result")
        slow = result if result.kind == "timeout" else slow
        if not _may_be_gone(result, again) or not _repeatable(job.tool) or not pace.take_retry():
            break
        pause = limits.retry_seconds * 2**again
        left = pace.left()
        if (left is not None and pause >= left) or not (yield pause):
            break
        again += 1
    if slow is not None and result.kind == "transient":
        result = slow  # what the last try says of itself says nothing about the one that was slow
    if again:
        result = replace(result, warnings=(*result.warnings, f"tried {again + 1} times"))
    return result


def _may_be_gone(result: ToolResult, again: int) -> bool:
    """Whether a failure may be gone a moment later; who was too slow twice is slow."""
    return result.kind == "transient" or (result.kind == "timeout" and again == 0)


def _repeatable(tool: Tool) -> bool:
    return tool.idempotent or tool.risk is Risk.READ_ONLY


def _refused(job: Job, wait: float) -> ToolResult:
    count, seconds = job.tool.rate or (0, 0.0)
    return _result(
        job,
        f"Not run: {job.tool.name} may be called {count} times in {seconds:g} seconds; the next"
        f" call is possible in {wait:.0f} seconds. Go on without it, or say that it has to wait.",
    )


def _result(job: Job, why: str) -> ToolResult:
    call = job.call
    return ToolResult(call_id=call.id, name=call.name, status="denied", content=why, kind="not_run")
