"""The gates between a valid call and its execution: allow list, authorisation, approval.

They stand behind parsing, the declared name and the schema, and before budget, ledger and
execution. Every call passes all of them, in native and in prompt mode. The calls of one reply are
taken together: what a sibling returns cannot change what was decided about a call, and a person
is asked once about all of them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeVar

from fallback.loop.actions import (
    Action,
    Approve,
    Approved,
    Authorise,
    Authorised,
    Check,
    Decision,
    Interrupted,
    Outcome,
    Request,
)
from fallback.loop.ending import Budget, Ending
from fallback.messages import ToolCall, ToolResult
from fallback.policy import ExecutionContext, Policy, approval_hash
from fallback.tools import Tool

__all__ = ["DECLINED", "NOT_ALLOWED", "WAITS", "Admission", "Gates"]

# What the model is told. Whoever wrote its words learns nothing from them about rules or people.
NOT_ALLOWED = "Not run: this is not allowed."
DECLINED = "Not run: this was not approved."
WAITS = "Not run yet: a person has to approve it first."

_STAGED = "untrusted content was read before"


@dataclass(frozen=True, slots=True)
class Admission:
    """What the gates say of the calls of one reply.

    Attributes:
        refused: the result of each call that does not run, or not yet, by its id.
        approvals: which approval was used for a call, by its id.
        recalled: ids of calls that nobody has approved, and of which only what is on record counts.
        ending: why the turn has to end instead, if it does.
    """

    refused: Mapping[str, ToolResult] = field(default_factory=dict)
    approvals: Mapping[str, str] = field(default_factory=dict)
    recalled: AbstractSet[str] = frozenset()
    ending: Ending | None = None


class Gates:
    """The rules of one turn.

    Args:
        policy: what runs at once, and what needs a person.
        context: under whose authority.
        asked: the approvals that calls of a paused turn are waiting for, by the call's id.
    """

    def __init__(
        self, policy: Policy, context: ExecutionContext, asked: Mapping[str, str] | None = None
    ) -> None:
        self._policy, self._context = policy, context
        self._asked = dict(asked or {})

    def open_for(self, tool: Tool, *, tainted: bool) -> bool:
        """Whether a call of the tool runs without anybody being asked."""
        policy = self._policy
        return (
            policy.allows(tool, self._context)
            and not policy.authorise
            and policy.approvers(tool, tainted=tainted) == 0
        )

    def writes(self, tool: Tool) -> bool:
        """Whether a call of the tool has to be on record before it runs."""
        return self._policy.writes(tool)

    def admit(
        self, calls: Sequence[tuple[ToolCall, Tool]], budget: Budget, *, tainted: bool
    ) -> Generator[Action, Outcome, Admission]:
        """Pass the calls through the gates, in order; the first that refuses one has the say.

        Args:
            calls: with the tools that they are for.
            budget: is told the time.
            tainted: whether the model had read untrusted content before it wrote the calls.
        """
        refused: dict[str, ToolResult] = {}
        approvals: dict[str, str] = {}
        recalled: set[str] = set()
        try:
            listed = []
            for call, tool in calls:
                if self._policy.allows(tool, self._context):
                    listed.append(Check(call=call, tool=tool))
                else:
                    refused[call.id] = _denied(call, "not on the allow list")
            allowed = yield from self._authorise(listed, budget, refused)
            for request, decision in (yield from self._approve(allowed, budget, tainted=tainted)):
                id_ = request.call.id
                if decision.verdict == "granted":
                    approvals[id_] = decision.approval_id
                elif decision.verdict == "recalled":
                    recalled.add(id_)
                else:
                    refused[id_] = _undecided(request.call, decision)
        except Ending as ending:
            return Admission(refused, approvals, recalled, ending)
        return Admission(refused, approvals, recalled)

    def _authorise(
        self, checks: list[Check], budget: Budget, refused: dict[str, ToolResult]
    ) -> Generator[Action, Outcome, list[Check]]:
        if not checks or not self._policy.authorise:
            return checks
        outcome = yield Authorise(checks=tuple(checks))
        answered = _heard(outcome, Authorised, budget)
        allowed = []
        for check, refusal in zip(checks, answered.refusals, strict=True):
            if refusal is None:
                allowed.append(check)
            else:
                refused[check.call.id] = _denied(check.call, f"not authorised: {refusal.reason}")
        return allowed

    def _approve(
        self, checks: list[Check], budget: Budget, *, tainted: bool
    ) -> Generator[Action, Outcome, list[tuple[Request, Decision]]]:
        """What was decided about each call that needs people."""
        # A tool without a handler is run by the application, which asks its own people.
        wanted = [self._request(c, tainted=tainted) for c in checks if c.tool.handler is not None]
        requests = [request for request in wanted if request.approvers]
        if not requests:
            return []
        outcome = yield Approve(requests=tuple(requests))
        answered = _heard(outcome, Approved, budget)
        return list(zip(requests, answered.decisions, strict=True))

    def _request(self, check: Check, *, tainted: bool) -> Request:
        policy, tool, call = self._policy, check.tool, check.call
        needed = policy.approvers(tool, tainted=tainted)
        staged = needed > policy.approvers(tool, tainted=False)
        return Request(
            call=call,
            tool=tool,
            fingerprint=approval_hash(tool, call.arguments, self._context) if needed else "",
            approvers=needed,
            why=_STAGED if staged else str(tool.risk or "undeclared"),
            seconds=policy.approval_seconds,
            approval_id=self._asked.get(call.id, ""),
        )


_Answer = TypeVar("_Answer", Authorised, Approved)


def _heard(outcome: Outcome, kind: type[_Answer], budget: Budget) -> _Answer:
    budget.hear(outcome)
    if isinstance(outcome, Interrupted):
        raise Ending(outcome.reason, outcome.detail)
    if not isinstance(outcome, kind):
        raise TypeError(f"{kind.__name__} was expected, got {type(outcome).__name__}")
    return outcome


def _denied(call: ToolCall, reason: str, told: str = NOT_ALLOWED, approval: str = "") -> ToolResult:
    return ToolResult(
        call_id=call.id,
        name=call.name,
        status="denied",
        content=told,
        kind="denied",
        detail=reason,
        approval=approval,
    )


def _undecided(call: ToolCall, decision: Decision) -> ToolResult:
    if decision.verdict == "denied":
        return _denied(call, decision.detail, DECLINED, decision.approval_id)
    return ToolResult(
        call_id=call.id,
        name=call.name,
        status="paused",
        content=WAITS,
        kind="approval_required",
        detail=decision.detail,
        approval=decision.approval_id,
    )
