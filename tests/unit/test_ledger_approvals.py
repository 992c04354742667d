from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from databases import Clock

from fallback.errors import ConfigurationError, LedgerError
from fallback.ledger import Approval, Ledger, Origin, Refusal


def ask(ledger: Ledger, *, needed: int = 1, seconds: float = 60) -> Approval:
    request = Approval(
        hash="h1",
        tool="pay",
        arguments={"to": "bob", "amount": 5},
        preview="5 EUR to bob",
        risk="destructive",
        origin=Origin(turn="t1"),
        user="ann",
        needed=needed,
        seconds=seconds,
    )
    return ledger.approvals.request(request)


def reason(found: Approval | Refusal) -> str:
    assert isinstance(found, Refusal)
    return found.reason


def test_a_request_is_kept_as_it_was_made(ledger: Ledger, clock: Clock) -> None:
    asked = ask(ledger)
    assert asked.id.startswith("ap_")
    assert (asked.status, asked.requested_at) == ("pending", clock.now)
    assert asked.expires_at == clock.now + 60
    assert (asked.preview, asked.arguments["to"], asked.origin.turn) == (
        "5 EUR to bob",
        "bob",
        "t1",
    )
    assert ledger.approvals.get(asked.id) == asked
    assert ledger.approvals.list("pending") == (asked,)
    assert ledger.approvals.get("ap_none") is None


def test_an_approval_is_used_once(ledger: Ledger) -> None:
    asked = ask(ledger)
    assert reason(ledger.approvals.consume(asked.id, "h1")) == "pending"
    approved = ledger.approvals.approve(asked.id, "ann")
    assert (approved.status, approved.votes[0].by) == ("approved", "ann")
    used = ledger.approvals.consume(asked.id, "h1")
    assert isinstance(used, Approval)
    assert used.status == "used"
    assert reason(ledger.approvals.consume(asked.id, "h1")) == "used"


def test_a_changed_call_is_refused_and_the_right_one_may_still_run(ledger: Ledger) -> None:
    asked = ask(ledger)
    ledger.approvals.approve(asked.id, "ann")
    assert reason(ledger.approvals.consume(asked.id, "h2")) == "changed"
    assert isinstance(ledger.approvals.consume(asked.id, "h1"), Approval)


def test_an_approval_that_was_never_asked_for_is_refused(ledger: Ledger) -> None:
    assert reason(ledger.approvals.consume("ap_none", "h1")) == "unknown"


def test_two_approvers_are_two_people(ledger: Ledger) -> None:
    asked = ask(ledger, needed=2)
    assert ledger.approvals.approve(asked.id, "Ann").status == "pending"
    with pytest.raises(LedgerError, match=r"has approved \w+ already; 2 different people"):
        ledger.approvals.approve(asked.id, " ann ")
    assert reason(ledger.approvals.consume(asked.id, "h1")) == "pending"
    assert ledger.approvals.approve(asked.id, "bob").status == "approved"


def test_one_no_ends_it(ledger: Ledger) -> None:
    asked = ask(ledger, needed=2)
    ledger.approvals.approve(asked.id, "ann")
    denied = ledger.approvals.deny(asked.id, "ann", "second thoughts")
    assert denied.status == "denied"
    assert [(vote.verdict, vote.reason) for vote in denied.votes] == [("deny", "second thoughts")]
    assert reason(ledger.approvals.consume(asked.id, "h1")) == "denied"
    with pytest.raises(LedgerError, match="is denied; it cannot be changed now"):
        ledger.approvals.approve(asked.id, "bob")


def test_an_approval_can_be_taken_back_until_it_is_used(ledger: Ledger) -> None:
    asked = ask(ledger)
    ledger.approvals.approve(asked.id, "ann")
    assert ledger.approvals.deny(asked.id, "bob").status == "denied"
    other = ask(ledger)
    ledger.approvals.approve(other.id, "ann")
    ledger.approvals.consume(other.id, "h1")
    with pytest.raises(LedgerError, match="is used"):
        ledger.approvals.deny(other.id, "bob")


def test_time_runs_out_before_and_after_the_yes(ledger: Ledger, clock: Clock) -> None:
    early, late = ask(ledger), ask(ledger)
    ledger.approvals.approve(early.id, "ann")
    clock.now += 60
    assert reason(ledger.approvals.consume(early.id, "h1")) == "expired"
    with pytest.raises(LedgerError, match="is expired"):
        ledger.approvals.approve(late.id, "ann")
    assert len(ledger.approvals.list("expired")) == 2
    assert ledger.verify() is None


@pytest.mark.parametrize(
    "wrong",
    [
        Approval(hash="", tool="pay"),
        Approval(hash="h", tool="pay", needed=0),
        Approval(hash="h", tool="pay", seconds=0),
        Approval(hash="h", tool="pay", seconds=float("nan")),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(ledger: Ledger, wrong: Approval) -> None:
    with pytest.raises(ConfigurationError, match="an approval needs"):
        ledger.approvals.request(wrong)


@pytest.mark.parametrize("name", ["", "  ", "a\nb"])
def test_who_decides_has_a_name(ledger: Ledger, name: str) -> None:
    asked = ask(ledger)
    with pytest.raises(ConfigurationError, match="has to have a name"):
        ledger.approvals.approve(asked.id, name)


def test_an_unknown_approval_is_one_line(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="no approval 'ap_none' in the ledger"):
        ledger.approvals.approve("ap_none", "ann")


def test_of_many_that_use_it_at_once_one_succeeds(ledger: Ledger) -> None:
    ready = threading.Barrier(6)

    def use(id_: str) -> bool:
        ready.wait()
        return isinstance(ledger.approvals.consume(id_, "h1"), Approval)

    with ThreadPoolExecutor(6) as pool:
        for _ in range(5):
            asked = ask(ledger)
            ledger.approvals.approve(asked.id, "ann")
            assert sum(pool.map(use, [asked.id] * 6)) == 1


def test_two_people_who_agree_at_the_same_time_are_both_counted(ledger: Ledger) -> None:
    ready = threading.Barrier(2)

    def agree(id_: str, by: str) -> None:
        ready.wait()
        ledger.approvals.approve(id_, by)

    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            asked = ask(ledger, needed=2)
            list(pool.map(agree, [asked.id] * 2, ["ann", "bob"]))
            found = ledger.approvals.get(asked.id)
            assert found is not None
            assert found.status == "approved"


def test_a_paused_turn_is_taken_once(ledger: Ledger) -> None:
    ledger.paused.put("t1", {"messages": ["\0 é"], "step": 1})
    ledger.paused.put("t1", {"messages": ["\0 é"], "step": 2})
    ledger.paused.put("t2", {})
    assert ledger.paused.list() == ("t1", "t2")
    assert ledger.paused.get("t1") == {"messages": ["\0 é"], "step": 2}
    assert ledger.paused.take("t1") == {"messages": ["\0 é"], "step": 2}
    assert ledger.paused.take("t1") is None
    assert ledger.paused.list() == ("t2",)


def test_a_turn_that_is_no_json_is_refused(ledger: Ledger) -> None:
    with pytest.raises(ConfigurationError, match="has to be JSON"):
        ledger.paused.put("t1", {"when": object()})
