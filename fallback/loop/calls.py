"""The calls of one reply: each gets exactly one result, whether it ran or not.

Strategy. Calls are taken in the model's order. One that may not run is answered at once; the
others are gathered into *waves*, each one :class:`~fallback.loop.actions.Execute`: neighbours that
only read make one wave and run side by side, every other call is a wave of its own. So a write
never runs beside anything, and sees everything done that was written before it.

What must stay true: one result per call, in the order of the calls, tied by id.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace

from fallback.catalogue import Catalogue
from fallback.loop.actions import Action, Execute, Executed, Interrupted, Job, Outcome
from fallback.loop.asides import NOT_FIRST, repeated
from fallback.loop.dependence import awaited
from fallback.loop.echo import NOT_RUN, echoes_example
from fallback.loop.ending import Budget, Ending
from fallback.loop.gates import Admission, Gates
from fallback.loop.repetition import Repetition, canonical, copies
from fallback.loop.respond import RESPOND, TOO_EARLY, respond_tool
from fallback.messages import FailureKind, ResultStatus, StopReason, ToolCall, ToolResult
from fallback.rendering.examples import Example
from fallback.tools import Risk, Tool

__all__ = ["Batch", "Handled", "counted", "not_run", "runs_beside_others"]

_WAITING = "Not run yet: the application has to run this call."
_UNSEEN = frozenset({"not_run", "approval_required"})
"""Kinds of results that say nothing about the call itself, so that no repetition is seen in it."""


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


def runs_beside_others(tool: Tool) -> bool:
    """Whether calls of a tool may run side by side: only where it is said that it only reads."""
    return tool.risk is Risk.READ_ONLY


class Batch:
    """The calls of one reply.

    Args:
        catalogue: the tools that were offered.
        budget: what is left of the turn.
        repetition: what has been called in earlier replies.
        gates: who may do what; every call passes them.
        said: the user's words.
        tainted: whether the model had read untrusted content before it wrote the calls.
        examples: what the model was shown, so that its copies are known.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        budget: Budget,
        repetition: Repetition,
        gates: Gates,
        *,
        said: str,
        tainted: bool = False,
        examples: tuple[Example, ...] = (),
    ) -> None:
        self._catalogue, self._budget, self._repetition = catalogue, budget, repetition
        self._gates, self._said, self._tainted = gates, said, tainted
        self._examples = examples
        self._admission = Admission()
        self._calls: tuple[ToolCall, ...] = ()
        self._early: dict[str, Job] = {}
        self._wave: list[Job] = []
        self._results: dict[str, ToolResult] = {}
        self._withdrawn: StopReason | None = None
        self._ending: Ending | None = None

    def early(self, call: ToolCall) -> Job | None:
        """The job of a call that may start before the reply is over: a first one that only reads.

        What is given out here is not asked for again: :meth:`run` takes it as running.
        """
        tool = self._catalogue.get(call.name)
        if tool is None or not runs_beside_others(tool):
            return None
        if self._gates.writes(tool) or not self._gates.open_for(tool, tainted=self._tainted):
            return None
        same = canonical(call.name, call.arguments)
        if any(same == canonical(j.call.name, j.call.arguments) for j in self._early.values()):
            return None
        self._calls = (*(job.call for job in self._early.values()), call)
        admitted = self._admit(call.apart())
        if isinstance(admitted, ToolResult):
            return None
        self._early[call.id] = admitted
        return admitted

    @property
    def begun(self) -> tuple[str, ...]:
        """The tools whose calls were given out early, in order."""
        return tuple(job.call.name for job in self._early.values())

    def run(
        self, calls: tuple[ToolCall, ...], settled: Mapping[str, ToolResult] | None = None
    ) -> Generator[Action, Outcome, Handled]:
        """Run the calls as far as the gates and the budget let them.

        A call that repeats another of the same reply is not run; it gets the other's result. Once
        the turn has to end, the calls that are left are answered with the reason.

        Args:
            calls: of one reply, in the model's order.
            settled: results that are there already, by the call's id: these are not run again.
        """
        # What was checked, asked about and put on record is what runs: nobody else has these.
        calls = self._calls = tuple(call.apart() for call in calls)
        repeats = copies(calls)
        self._results |= settled or {}
        open_ = [c for c in calls if c.id not in repeats and c.id not in self._results]
        yield from self._pass_gates(open_)
        for call in open_:
            yield from self._one(call)
        yield from self._flush()
        for copy, original in repeats.items():
            self._results[copy] = replace(self._results[original], call_id=copy, copy_of=original)
        ordered = tuple(self._results[call.id] for call in calls)
        ending = self._ending or _pause(ordered)
        # What waits is counted once it is complete.
        aside = "" if ending else self._notice(ordered)
        return Handled(ordered, aside, self._withdrawn, ending)

    @property
    def known(self) -> tuple[ToolResult, ...]:
        """The results that there are by now, refusals included; none of a call that may yet run."""
        refused = self._admission.refused
        every = ((call, self._results.get(call.id) or refused.get(call.id)) for call in self._calls)
        return tuple(result for _, result in every if result is not None)

    def _pass_gates(self, calls: list[ToolCall]) -> Generator[Action, Outcome, None]:
        asked = [
            (call, tool)
            for call in calls
            if (tool := self._catalogue.get(call.name)) is not None
            and call.id not in self._early
            and self._misplaced(call) is None
        ]
        self._ending = self._budget.overdue
        if self._ending is None:
            gates = self._gates.admit(asked, self._budget, tainted=self._tainted)
            self._admission = yield from gates
            self._ending = self._admission.ending

    def _one(self, call: ToolCall) -> Generator[Action, Outcome, None]:
        tool = self._catalogue.get(call.name)
        beside = tool is not None and runs_beside_others(tool)
        if not beside:
            yield from self._flush()
        admitted = self._early.get(call.id) or self._admit(call)
        if isinstance(admitted, ToolResult):
            self._results[call.id] = admitted
            return
        self._wave.append(admitted)
        if not beside:
            yield from self._flush()

    def _admit(self, call: ToolCall) -> Job | ToolResult:
        """The job for a call, or the result of one that does not run. The gates stand here."""
        self._ending = self._ending or self._budget.overdue
        if self._ending is not None:
            return not_run(call, f"Not run: {self._ending.detail}.")
        tool = self._catalogue.get(call.name)
        if call.name == RESPOND and tool is respond_tool():
            return not_run(call, TOO_EARLY)
        if (refused := self._misplaced(call) or self._admission.refused.get(call.id)) is not None:
            return refused
        if tool is None or tool.handler is None:
            return not_run(call, _WAITING, "paused", "approval_required")
        if self._budget.spent:
            self._withdrawn = "max_calls"
            return not_run(call, "Not run: no further call is allowed (max_calls_per_turn).")
        self._budget.executed += 1
        return Job(
            call=call,
            tool=tool,
            seconds=self._budget.tool_seconds(tool),
            writes=self._gates.writes(tool),
            approval_id=self._admission.approvals.get(call.id, ""),
            recalls=call.id in self._admission.recalled,
        )

    def _misplaced(self, call: ToolCall) -> ToolResult | None:
        """The refusal of a call that is valid in form and cannot be meant."""
        if echoes_example(call, self._said, self._examples):
            return not_run(call, NOT_RUN, kind="invalid_arguments")
        if (waits := awaited(call, self._calls, self._said)) is not None:
            return not_run(call, waits, kind="invalid_arguments")
        return None

    def _flush(self) -> Generator[Action, Outcome, None]:
        """Run the wave that has been gathered."""
        jobs, self._wave = tuple(self._wave), []
        if not jobs:
            return
        outcome = yield Execute(jobs=jobs, width=self._budget.max_parallel)
        self._budget.hear(outcome)
        if not isinstance(outcome, Executed | Interrupted):
            raise TypeError(f"Execute was answered with {type(outcome).__name__}")
        self._results |= {result.call_id: result for result in outcome.results}
        if isinstance(outcome, Interrupted):
            self._ending = Ending(outcome.reason, outcome.detail)
            for job in jobs:
                stopped = f"Stopped before it finished: {outcome.detail}."
                unfinished = not_run(job.call, stopped, "error", "cancelled")
                self._results.setdefault(job.call.id, unfinished)

    def _notice(self, results: tuple[ToolResult, ...]) -> str:
        """Count what was called with which result; returns what the model has to be told."""
        seen = [
            (call, result)
            for call, result in zip(self._calls, results, strict=True)
            if result.copy_of is None and result.kind not in _UNSEEN
        ]
        verdict = self._repetition.saw(seen)
        if verdict == "stop":
            self._withdrawn = self._withdrawn or "repeated_call"
        if verdict == "tell":
            names = " and ".join(dict.fromkeys(call.name for call, _ in seen))
            earlier = "\n".join(result.content for _, result in seen)
            return repeated(names, self._repetition.times, earlier)
        return ""


def _pause(results: tuple[ToolResult, ...]) -> Ending | None:
    waiting = ", ".join(f"{r.name} ({r.call_id})" for r in results if r.status == "paused")
    if not waiting:
        return None
    return Ending("approval_required", f"somebody has to approve or run: {waiting}")


def counted(
    calls: tuple[ToolCall, ...], *, parallel: bool
) -> tuple[tuple[ToolCall, ...], tuple[ToolResult, ...]]:
    """The calls of a reply that count, and the results of those that do not."""
    if parallel or len(calls) == 1:
        return calls, ()
    first, *others = calls
    return (first,), tuple(not_run(call, NOT_FIRST) for call in others)


def not_run(
    call: ToolCall, why: str, status: ResultStatus = "denied", kind: FailureKind = "not_run"
) -> ToolResult:
    """The result of a call that was refused, put off, or broken off."""
    return ToolResult(call_id=call.id, name=call.name, status=status, content=why, kind=kind)
