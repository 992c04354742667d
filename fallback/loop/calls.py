"""The calls of one reply: each gets exactly one result, whether it ran or not."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

from fallback.catalogue import Catalogue
from fallback.loop.actions import Action, Execute, Executed, Interrupted, Job, Outcome
from fallback.loop.asides import repeated
from fallback.loop.echo import NOT_RUN, echoes_example
from fallback.loop.ending import Budget, Ending
from fallback.loop.repetition import Repetition, copies
from fallback.messages import FailureKind, ResultStatus, StopReason, ToolCall, ToolResult

__all__ = ["Handled", "not_run", "run_calls"]

_WAITING = "Not run yet: the application has to run this call."


@dataclass(frozen=True, slots=True)
class Handled:
    """What came of the calls of one reply.

    Attributes:
        results: one per call, in the order of the calls.
        aside: what the model has to be told besides.
        withdrawn: why no further tool may be called, if so.
        ending: why the turn ends here, if it does.
    """

    results: tuple[ToolResult, ...]
    aside: str = ""
    withdrawn: StopReason | None = None
    ending: Ending | None = None


def run_calls(
    calls: tuple[ToolCall, ...],
    catalogue: Catalogue,
    budget: Budget,
    repetition: Repetition,
    *,
    said: str,
) -> Generator[Action, Outcome, Handled]:
    """Run the calls one after the other, as far as the budget goes.

    A call that repeats another of the same reply is not run; it gets the other's result. Once the
    turn has to end, the calls that are left are answered with the reason.
    """
    run = _Run(catalogue, budget, repetition, said)
    repeats = copies(calls)
    results: dict[str, ToolResult] = {}
    for call in calls:
        if call.id not in repeats:
            results[call.id] = yield from run.one(call)
    for copy, original in repeats.items():
        results[copy] = replace(results[original], call_id=copy, copy_of=original)
    ordered = tuple(results[call.id] for call in calls)
    return Handled(ordered, run.aside, run.withdrawn, run.ending or _pause(ordered))


def _pause(results: tuple[ToolResult, ...]) -> Ending | None:
    waiting = ", ".join(f"{r.name} ({r.call_id})" for r in results if r.status == "paused")
    if not waiting:
        return None
    return Ending("approval_required", f"the application has to run or approve: {waiting}")


class _Run:
    def __init__(
        self, catalogue: Catalogue, budget: Budget, repetition: Repetition, said: str
    ) -> None:
        self._catalogue, self._budget, self._repetition = catalogue, budget, repetition
        self._said = said
        self.aside = ""
        self.withdrawn: StopReason | None = None
        self.ending: Ending | None = None

    def one(self, call: ToolCall) -> Generator[Action, Outcome, ToolResult]:
        self.ending = self.ending or self._budget.overdue
        if self.ending is not None:
            return not_run(call, f"Not run: {self.ending.detail}.")
        tool = self._catalogue.get(call.name)
        if tool is None or tool.handler is None:
            return not_run(call, _WAITING, "paused", "approval_required")
        if echoes_example(call, self._said):
            return self._seen(call, not_run(call, NOT_RUN))
        if self._budget.spent:
            self.withdrawn = "max_calls"
            return not_run(call, "Not run: no further call is allowed (max_calls_per_turn).")
        self._budget.executed += 1
        job = Job(call=call, tool=tool, seconds=self._budget.tool_seconds)
        outcome = yield Execute(jobs=(job,))
        self._budget.hear(outcome)
        return self._take(call, outcome)

    def _take(self, call: ToolCall, outcome: Outcome) -> ToolResult:
        if isinstance(outcome, Interrupted):
            self.ending = Ending(outcome.reason, outcome.detail)
            stopped = not_run(call, f"Stopped before it finished: {outcome.detail}.", "error")
            return outcome.results[0] if outcome.results else stopped
        if not isinstance(outcome, Executed):
            raise TypeError(f"Execute was answered with {type(outcome).__name__}")
        return self._seen(call, outcome.results[0])

    def _seen(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Count a result that the model may get again and again."""
        verdict = self._repetition.saw(call, result)
        if verdict == "stop":
            self.withdrawn = self.withdrawn or "repeated_call"
        elif verdict == "tell":
            self.aside = repeated(call.name, self._repetition.times)
        return result


def not_run(
    call: ToolCall, why: str, status: ResultStatus = "denied", kind: FailureKind = "not_run"
) -> ToolResult:
    """The result of a call that was refused, put off, or broken off."""
    return ToolResult(call_id=call.id, name=call.name, status=status, content=why, kind=kind)
