"""The gates by themselves, answered by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback.limits import Limits
from fallback.loop import (
    Action,
    Approve,
    Approved,
    Authorise,
    Authorised,
    Decision,
    Executed,
    Interrupted,
    Outcome,
)
from fallback.loop.ending import Budget
from fallback.loop.gates import DECLINED, NOT_ALLOWED, WAITS, Admission, Gates
from fallback.messages import ToolCall
from fallback.policy import Deny, ExecutionContext, Policy, approval_hash
from fallback.tools import Risk, Tool

LOOK = Tool(name="look", risk=Risk.READ_ONLY, handler=lambda: 1)
SEND = Tool(name="send", risk=Risk.EXTERNAL_COMMUNICATION, handler=lambda: 1)
WIPE = Tool(name="wipe", risk=Risk.DESTRUCTIVE, handler=lambda: 1)
USER = ExecutionContext(user="ada")


def yes(*_: Any) -> bool:
    return True


class Gate:
    """Admits one call for each of some tools; remembers what was asked."""

    def __init__(self, policy: Policy, *tools: Tool, context: ExecutionContext = USER) -> None:
        self.calls = [(ToolCall(id=t.name, name=t.name, arguments={"x": 1}), t) for t in tools]
        self.gates = Gates(policy, context)
        self.asked: list[Action] = []
        self.budget = Budget(Limits())

    def admit(
        self, *answers: Outcome | Callable[[Any], Outcome], tainted: bool = False
    ) -> Admission:
        script = iter(answers)
        actions = self.gates.admit(self.calls, self.budget, tainted=tainted)
        try:
            action = next(actions)
            while True:
                self.asked.append(action)
                answer = next(script)
                action = actions.send(answer(action) if callable(answer) else answer)
        except StopIteration as stop:
            assert next(script, None) is None, "not every answer was asked for"
            admission: Admission = stop.value
            return admission


def decided(verdict: Any, **named: str) -> Callable[[Approve], Approved]:
    return lambda action: Approved(
        decisions=tuple(Decision(verdict=verdict, **named) for _ in action.requests)
    )


def test_what_only_reads_passes_without_a_question() -> None:
    gate = Gate(Policy(), LOOK)
    assert gate.admit() == Admission()
    assert gate.asked == []


def test_a_tool_that_is_not_listed_is_refused_before_any_hook_is_asked() -> None:
    gate = Gate(Policy(allow=frozenset({"look"}), authorise=(yes,)), SEND)
    (refused,) = gate.admit().refused.values()
    assert (refused.status, refused.kind, refused.content) == ("denied", "denied", NOT_ALLOWED)
    assert (refused.retryable, refused.detail) == (False, "not on the allow list")
    assert gate.asked == []


def test_hooks_are_asked_before_people_and_their_reason_stays_in_the_log() -> None:
    gate = Gate(Policy(authorise=(yes,)), LOOK, SEND)
    admission = gate.admit(Authorised(refusals=(None, Deny("ada has no credit"))))
    (refused,) = admission.refused.values()
    assert (refused.name, refused.content) == ("send", NOT_ALLOWED)
    assert refused.detail == "not authorised: ada has no credit"
    assert [type(action) for action in gate.asked] == [Authorise]


def test_people_are_asked_once_about_all_calls_of_a_reply() -> None:
    gate = Gate(Policy(destructive="approve_twice"), LOOK, SEND, WIPE)
    admission = gate.admit(decided("granted", approval_id="ap1"))
    assert admission.refused == {}
    assert admission.approvals == {"send": "ap1", "wipe": "ap1"}
    (action,) = gate.asked
    assert isinstance(action, Approve)
    assert [(r.tool.name, r.approvers, r.why) for r in action.requests] == [
        ("send", 1, "external_communication"),
        ("wipe", 2, "destructive"),
    ]
    first = action.requests[0]
    assert first.fingerprint == approval_hash(SEND, {"x": 1}, USER)
    assert first.seconds == Policy().approval_seconds


def test_what_nobody_has_decided_waits() -> None:
    admission = Gate(Policy(), SEND).admit(decided("pending", approval_id="ap1"))
    (waiting,) = admission.refused.values()
    assert (waiting.status, waiting.kind, waiting.content) == ("paused", "approval_required", WAITS)
    assert waiting.approval == "ap1"


def test_what_a_person_declined_does_not_run_and_is_not_asked_for_again() -> None:
    admission = Gate(Policy(), SEND).admit(decided("denied", detail="bob: too expensive"))
    (refused,) = admission.refused.values()
    assert (refused.status, refused.kind, refused.content) == ("denied", "denied", DECLINED)
    assert "expensive" in refused.detail
    assert not refused.retryable


def test_the_reason_says_when_it_is_what_was_read_that_makes_a_person_necessary() -> None:
    policy = Policy(pre_approved=frozenset({"send"}))
    assert Gate(policy, SEND).admit() == Admission()
    gate = Gate(policy, SEND)
    gate.admit(decided("granted"), tainted=True)
    (action,) = gate.asked
    assert isinstance(action, Approve)
    assert action.requests[0].why == "untrusted content was read before"


def test_a_tool_that_the_application_runs_itself_is_left_to_its_own_people() -> None:
    offered = Tool(name="ask", risk=Risk.DESTRUCTIVE)
    assert Gate(Policy(), offered).admit() == Admission()


@pytest.mark.parametrize("policy", [Policy(authorise=(yes,)), Policy()])
def test_the_turn_may_be_broken_off_at_any_gate(policy: Policy) -> None:
    admission = Gate(policy, SEND).admit(Interrupted(detail="enough"))
    assert admission.ending is not None
    assert (admission.ending.reason, admission.ending.detail) == ("cancelled", "enough")


def test_an_answer_to_another_question_is_a_mistake_of_the_driver() -> None:
    with pytest.raises(TypeError, match="Approved was expected, got Executed"):
        Gate(Policy(), SEND).admit(Executed(results=()))


def test_the_budget_hears_what_the_gates_took() -> None:
    gate = Gate(Policy(authorise=(yes,)), LOOK)
    gate.admit(Authorised(refusals=(None,), elapsed=7.0))
    assert gate.budget.elapsed == 7.0


@pytest.mark.parametrize(
    ("policy", "tool", "tainted", "is_open"),
    [
        (Policy(), LOOK, True, True),
        (Policy(), SEND, False, False),
        (Policy(pre_approved=frozenset({"send"})), SEND, False, True),
        (Policy(pre_approved=frozenset({"send"})), SEND, True, False),
        (Policy(authorise=(yes,)), LOOK, False, False),
        (Policy(allow=frozenset()), LOOK, False, False),
    ],
)
def test_a_call_may_start_early_only_if_nobody_has_to_be_asked(
    policy: Policy, tool: Tool, tainted: bool, is_open: bool
) -> None:
    assert Gates(policy, USER).open_for(tool, tainted=tainted) is is_open
