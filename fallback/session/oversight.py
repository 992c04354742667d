"""What stands between the loop's decisions and the world, for one turn: hooks, people, ledger.

The loop says what has to be asked and what may run; here it is asked, recorded and kept. Each
method is a generator of steps, so that both kinds of session do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from fallback.errors import UsageError
from fallback.execution.hooks import Steps
from fallback.execution.outcome import Prepared, Returned, conclude
from fallback.ledger import Entry, Ledger, Operation
from fallback.loop import Approve, Authorise, Decision, Job
from fallback.loop.paused import Paused
from fallback.loop.plan import Ended, Plan
from fallback.loop.repetition import canonical
from fallback.messages import Step, ToolCall, ToolResult
from fallback.policy import Deny, call_key
from fallback.rendering.text import offered
from fallback.session.approving import Ask, Desk
from fallback.session.books import Books
from fallback.session.claims import Claim
from fallback.session.deciding import authorised
from fallback.session.provenance import Provenance
from fallback.session.recording import Recorder
from fallback.tools import Risk, Tool

__all__ = ["Oversight", "lost_calls", "take_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Oversight:
    """One turn, watched.

    Attributes:
        plan: what the turn is to do, and its rules.
        books: the session's ledger.
        ask: the application's callback for approvals.
        provenance: where the turn's calls come from.
        claim: to the turn, where it was gone on with: others may, once this process has gone.
        lost: see :class:`~fallback.session.recording.Recorder`.
        logged: the step that waited, and the ids of its calls that were put on record with their
            results when it did.
    """

    plan: Plan
    books: Books
    ask: Ask | None
    provenance: Provenance
    claim: Claim | None = None
    lost: dict[str, str] = field(default_factory=dict)
    logged: tuple[int, frozenset[str]] | None = None

    def authorised(self, action: Authorise) -> Steps[tuple[Deny | None, ...]]:
        """Ask the hooks."""
        return authorised(action.checks, self.plan.policy, self.plan.context)

    def approved(self, action: Approve) -> Steps[tuple[Decision, ...]]:
        """Ask people."""
        context = self.plan.context
        ledger = yield self.books.ledger
        desk = Desk(
            ledger=ledger,
            injected=context.injected,
            ask=self.ask,
            key=self._recorder(ledger).key,
            origin=self.provenance.origin,
            user=context.user or "",
            tenant=context.tenant or "",
            limits=self.plan.limits,
        )
        return (yield from desk.decisions(action.requests))

    def run(self, job: Job, make: Callable[[Job], Any]) -> Steps[ToolResult]:
        """Run a call; one that may change something is recorded before it runs.

        Where the ledger outlives the process, or others may take the turn over, so is one that does
        not say that it only reads: whether it was broken off has to be known.
        """
        kept = self.books.audited or self.claim is not None
        if not job.writes and not (kept and job.tool.risk is not Risk.READ_ONLY):
            result: ToolResult = yield partial(make, job)
            return result
        ledger = yield self.books.ledger
        return (yield from self._recorder(ledger).run(job, make))

    def audit(self, steps: Iterable[Step]) -> Steps[None]:
        """Put what the steps proposed on record, whatever became of it."""
        if not self.books.audited:
            return
        tools = {tool.name: tool for tool in self.plan.catalogue}
        entries = [
            entry for step in steps for entry in self.provenance.entries(self._news_of(step), tools)
        ]
        if entries:
            yield partial(self.books.record, entries)

    def _news_of(self, step: Step) -> Step:
        """The step without what was put on record before the turn waited."""
        if self.logged is None or step.index != self.logged[0]:
            return step
        known = self.logged[1]
        calls = tuple(call for call in step.calls if call.id not in known)
        return replace(step, reading=replace(step.reading, calls=calls, problems=()))

    def hold(self, seconds: float | None, so_far: Paused | None) -> Steps[None]:
        """Hold on to the claim for some seconds; on record comes how far the turn has come.

        Raises:
            LedgerError: somebody else has taken the turn over.
        """
        if self.claim is not None:
            content = None if so_far is None else self._content(so_far)
            yield partial(self.claim.renew, seconds, content)

    def keep(self, ended: Ended, paused: Paused | None) -> Steps[None]:
        """Keep a turn that waits; forget one that was resumed and has ended.

        One that only the server has broken off can be resumed again: what has run is on record.
        """
        if paused is not None:
            content = self._content(paused)
            if self.claim is None:
                yield partial(self.books.pause, ended.turn.id, content)
            else:
                yield partial(self.claim.wait, content)
            yield partial(self.books.record, [self._turn("paused")])
        elif self.claim is not None and ended.error is None:
            yield self.claim.end

    def _content(self, paused: Paused) -> dict[str, Any]:
        return {**paused.to_json(), "owner": owner_of(self.plan)}

    def resumed(self, after: str) -> Steps[None]:
        """Put on record that the turn goes on; ``after`` says what became of who held it before."""
        yield partial(self.books.record, [self._turn("resumed", after)])

    def _turn(self, event: Any, detail: str = "") -> Entry:
        context = self.plan.context
        operation = Operation(
            tool="",
            origin=self.provenance.origin(""),
            user=context.user or "",
            tenant=context.tenant or "",
        )
        return Entry(event=event, operation=operation, detail=detail)

    def _recorder(self, ledger: Ledger) -> Recorder:
        return Recorder(
            ledger=ledger,
            turn=self.plan.turn_id,
            context=self.plan.context,
            provenance=self.provenance,
            lost=self.lost,
        )


def lost_calls(paused: Paused, plan: Plan) -> dict[str, str]:
    """What a turn that is gone on with has lost before: see :class:`Oversight`."""
    found = {}
    tools = {tool.name: tool for tool in plan.catalogue}
    for step in paused.steps:
        unknown = {r.call_id for r in step.results if r.kind == "outcome_unknown"}
        for call in step.calls:
            tool = tools.get(call.name)
            if call.id in unknown and tool is not None and not plan.policy.writes(tool):
                key = call_key(paused.turn_id, step.index, tool, call, plan.context)
                found[canonical(call.name, call.arguments)] = key
    return found


def take_up(
    stored: Mapping[str, Any] | None, turn_id: str, plan: Plan, results: Mapping[str, Any]
) -> Paused:
    """The paused turn, ready to go on.

    Args:
        stored: as the ledger has it.
        turn_id: names it.
        plan: of the session that goes on with it.
        results: what calls returned that the application has run itself, by the call's id.

    Raises:
        UsageError: there is none, or it is somebody else's, or needs tools that are not there.
    """
    missing = UsageError(f"no turn {turn_id!r} is waiting; see `fallback approvals list`")
    if stored is None:
        raise missing
    if stored.get("owner") != owner_of(plan):
        raise missing  # that somebody else has such a turn is nobody's business
    paused = Paused.from_json(stored)
    tools = {tool.name: tool for tool in offered(plan.catalogue, plan.tool_choice)}
    for call in paused.messages[-1].tool_calls:
        if call.name not in tools:
            raise UsageError(f"turn {turn_id} calls {call.name!r}, which is not among the tools")
    waiting = {result.call_id: result for result in paused.waiting}
    if unknown := sorted(results.keys() - waiting.keys() - set(paused.given)):
        raise UsageError(f"turn {turn_id} does not wait for a call {unknown[0]!r}")
    made = {
        id_: _handed_in(waiting[id_], value, tools[waiting[id_].name], plan)
        for id_, value in results.items()
        if id_ in waiting  # the others were handed in before: that counts
    }
    return paused.with_results(made)


def _handed_in(waiting: ToolResult, value: Any, tool: Tool, plan: Plan) -> ToolResult:
    """The result of a call that the application has run: shown as if the tool had returned it."""
    job = Job(call=ToolCall(id=waiting.call_id, name=waiting.name, arguments={}), tool=tool)
    ending = Returned(value)
    made = Prepared(tool, {}, {})
    return conclude(job, made, ending, seconds=0.0, limits=plan.limits, masks=plan.masks)


def owner_of(plan: Plan) -> list[str | None]:
    """Whose turn it is: only he can go on with it."""
    return [plan.context.user, plan.context.tenant]
