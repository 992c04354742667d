from __future__ import annotations

from typing import Any

import pytest

from fallback.errors import ConfigurationError
from fallback.policy import Deny, ExecutionContext, Policy, verdict_of
from fallback.tools import Risk, Tool

ALL = (None, *Risk)
WRITES = tuple(risk for risk in Risk if risk is not Risk.READ_ONLY)


def a_tool(risk: Risk | None = None, name: str = "act") -> Tool:
    return Tool(name=name, risk=risk, handler=lambda: None)


@pytest.mark.parametrize("risk", [None, Risk.READ_ONLY])
def test_what_only_reads_or_does_not_say_runs_at_once(risk: Risk | None) -> None:
    assert Policy().approvers(a_tool(risk), tainted=False) == 0


@pytest.mark.parametrize("risk", WRITES)
def test_every_other_tier_needs_a_person(risk: Risk) -> None:
    assert Policy().approvers(a_tool(risk), tainted=False) == 1


def test_a_destructive_tool_may_need_two() -> None:
    policy = Policy(destructive="approve_twice")
    assert policy.approvers(a_tool(Risk.DESTRUCTIVE), tainted=False) == 2


@pytest.mark.parametrize("risk", WRITES)
def test_a_pre_approved_write_runs_until_untrusted_content_has_been_read(risk: Risk) -> None:
    policy = Policy(pre_approved=frozenset({"act"}))
    assert policy.approvers(a_tool(risk), tainted=False) == 0
    assert policy.approvers(a_tool(risk), tainted=True) == 1


@pytest.mark.parametrize("risk", WRITES)
def test_a_write_that_runs_by_its_rule_is_staged_too(risk: Risk) -> None:
    policy = Policy(**{risk: "run"})
    assert policy.approvers(a_tool(risk), tainted=False) == 0
    assert policy.approvers(a_tool(risk), tainted=True) == 1


def test_a_tool_that_does_not_say_that_it_only_reads_is_staged() -> None:
    assert Policy().approvers(a_tool(), tainted=False) == 0
    assert Policy().approvers(a_tool(), tainted=True) == 1
    assert Policy(staged_writes=False).approvers(a_tool(), tainted=True) == 0


def test_staging_never_lowers_what_a_rule_asks_for() -> None:
    policy = Policy(destructive="approve_twice", pre_approved=frozenset({"act"}))
    assert policy.approvers(a_tool(Risk.DESTRUCTIVE), tainted=True) == 2


def test_staging_can_be_switched_off() -> None:
    policy = Policy(pre_approved=frozenset({"act"}), staged_writes=False)
    assert policy.approvers(a_tool(Risk.DESTRUCTIVE), tainted=True) == 0


def test_an_undeclared_tool_can_be_treated_as_a_write() -> None:
    policy = Policy(undeclared="approve")
    assert policy.approvers(a_tool(), tainted=False) == 1
    assert policy.writes(a_tool())
    assert not Policy().writes(a_tool())


def test_both_lists_have_to_allow_a_tool() -> None:
    policy = Policy(allow=frozenset({"act", "look"}))
    assert policy.allows(a_tool(), ExecutionContext())
    assert not policy.allows(a_tool(name="other"), ExecutionContext())
    assert not policy.allows(a_tool(), ExecutionContext(allowed_tools=frozenset({"look"})))
    assert Policy().allows(a_tool(), ExecutionContext())


@pytest.mark.parametrize("risk", ALL)
def test_a_tier_can_be_ruled_out_altogether(risk: Risk | None) -> None:
    policy = Policy(**{str(risk or "undeclared"): "deny"})
    assert not policy.allows(a_tool(risk), ExecutionContext())


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"destructive": "ask"}, "destructive='ask'.*approve_twice"),
        ({"allow": "act"}, "allow is a set of names"),
        ({"pre_approved": "act"}, "pre_approved is a set of names"),
        ({"approval_seconds": 0}, "more than 0"),
    ],
)
def test_a_wrong_policy_is_refused_when_it_is_made(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Policy(**wrong)


def test_a_single_hook_needs_no_tuple() -> None:
    def hook(*_: Any) -> bool:
        return True

    assert Policy(authorise=hook).authorise == (hook,)  # type: ignore[arg-type] # what is tested


@pytest.mark.parametrize("answer", [None, 1, "yes", {}, object()])
def test_what_is_not_clearly_yes_is_a_refusal(answer: object) -> None:
    refusal = verdict_of(answer)
    assert refusal is not None
    assert type(answer).__name__ in refusal.reason


def test_yes_and_no_and_why_not() -> None:
    assert verdict_of(True) is None
    assert verdict_of(False) is not None
    assert verdict_of(Deny("not yours")) == Deny("not yours")


# The context


def test_a_mapping_is_taken_for_injected_values() -> None:
    values = {"user_id": 7}
    context = ExecutionContext.of(values)
    values["user_id"] = 8
    assert context.injected == {"user_id": 7}


def test_user_tenant_and_locale_fill_parameters_of_their_names() -> None:
    context = ExecutionContext(user="ada", tenant="acme", values={"tenant": "other", "db": 1})
    assert context.injected == {"user": "ada", "tenant": "other", "db": 1}


def test_one_string_is_not_a_set_of_scopes() -> None:
    with pytest.raises(ConfigurationError, match="scopes is a set of names"):
        ExecutionContext(scopes="admin")  # type: ignore[arg-type] # what is being tested


def test_neither_the_clock_nor_injected_values_are_printed() -> None:
    assert "hunter2" not in repr(ExecutionContext(values={"password": "hunter2"}))
