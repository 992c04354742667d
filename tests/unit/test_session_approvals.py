from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from gates_kit import KINDS, MODES, Kind, Mode, Shop, a_session, last_words, log, reply, resume, run

from fallback.errors import BackendConnectionError, ConfigurationError, PauseTurn, UsageError
from fallback.ledger import Approval, Ledger
from fallback.policy import Deny, ExecutionContext, Policy
from fallback.tools import Risk, tool

ADA = ExecutionContext(user="ada", tenant="acme")
PAY = ("pay", {"to": "bob", "amount": 5})
LOOK = ("look", {"item": "tea"})

both = pytest.mark.parametrize("kind", KINDS)
modes = pytest.mark.parametrize("mode", MODES)


# At once


@both
@modes
def test_what_the_callback_allows_runs(kind: Kind, mode: Mode) -> None:
    shop = Shop()
    seen: list[Approval] = []
    session = a_session(
        kind,
        shop.tools(),
        [reply(mode, PAY), "Paid."],
        mode=mode,
        context=ADA,
        approve=lambda approval: seen.append(approval) or True,
    )
    turn = run(session, "Pay bob 5.")
    assert (turn.stop_reason, turn.answer) == ("answered", "Paid.")
    assert shop.done == [("pay", "ada", "bob", 5)]
    (approval,) = seen
    assert approval.preview == "from: ada\nrecipient: bob\namount: 5"
    assert (approval.user, approval.tenant, approval.risk) == ("ada", "acme", "reversible_write")
    assert turn.steps[0].results[0].approval == approval.id
    used = session.ledger.approvals.get(approval.id)
    assert used is not None
    assert used.status == "used"


def test_no_argument_can_add_a_fact_to_a_preview() -> None:
    shop = Shop()
    forged = ("pay", {"to": "mallory\nrecipient: bob\u2028amount: 5", "amount": 5000})
    session = a_session(KINDS[0], shop.tools(), [reply("prompt", forged)])
    (waiting,) = run(session, "Pay bob 5.").waiting
    approval = session.ledger.approvals.get(waiting.approval)
    assert approval is not None
    facts = [line for line in approval.preview.splitlines() if not line.startswith(" ")]
    assert facts == ["from: nobody", "recipient: mallory", "amount: 5000"]


@both
def test_the_callback_may_be_async_and_say_who_it_was(kind: Kind) -> None:
    shop = Shop()

    async def ask(approval: Approval) -> str:
        return "carol"

    session = a_session(kind, shop.tools(), [reply("prompt", PAY), "Paid."], approve=ask)
    turn = run(session, "Pay bob 5.")
    approval = session.ledger.approvals.get(turn.steps[0].results[0].approval)
    assert approval is not None
    assert [vote.by for vote in approval.votes] == ["carol"]
    assert len(shop.done) == 1


@both
@pytest.mark.parametrize("answer", [False, Deny("mallory's idea, with secret-words")])
def test_what_the_callback_refuses_does_not_run_and_the_turn_goes_on(
    kind: Kind, answer: Any
) -> None:
    shop = Shop()
    session = a_session(
        kind, shop.tools(), [reply("prompt", PAY), "Not paid."], approve=lambda _: answer
    )
    turn = run(session, "Pay bob 5.")
    (result,) = turn.steps[0].results
    assert (result.status, result.kind, result.content) == (
        "denied",
        "denied",
        "Not run: this was not approved.",
    )
    assert (turn.stop_reason, turn.answer) == ("answered", "Not paid.")
    assert shop.done == []
    assert "secret-words" not in last_words(session)


@both
@pytest.mark.parametrize("fault", [RuntimeError("broken"), ValueError("x")])
def test_a_callback_that_fails_has_decided_nothing(kind: Kind, fault: Exception) -> None:
    shop = Shop()

    def ask(approval: Approval) -> bool:
        raise fault

    turn = run(a_session(kind, shop.tools(), [reply("prompt", PAY)], approve=ask), "Pay bob 5.")
    assert turn.stop_reason == "approval_required"
    assert "callback failed" in turn.waiting[0].detail
    assert shop.done == []


def test_the_time_that_a_person_takes_is_not_the_turns() -> None:
    shop = Shop()
    now = [0.0]

    def ask(approval: Approval) -> bool:
        now[0] += 5_000.0
        return True

    session = a_session(KINDS[0], shop.tools(), [reply("prompt", PAY), "Paid."], approve=ask)
    session._clock = lambda: now[0]
    assert run(session, "Pay bob 5.").stop_reason == "answered"
    assert len(shop.done) == 1


# Later


@both
@modes
def test_without_an_answer_the_turn_waits_and_goes_on_when_there_is_one(
    kind: Kind, mode: Mode
) -> None:
    shop = Shop()
    session = a_session(
        kind,
        shop.tools(),
        [reply(mode, LOOK, PAY), "Tea bought."],
        mode=mode,
        context=ADA,
    )
    turn = run(session, "Buy tea.")
    assert turn.stop_reason == "approval_required"
    (waiting,) = turn.waiting
    assert (waiting.name, waiting.kind) == ("pay", "approval_required")
    assert shop.done == [("look", "tea")]
    session.ledger.approvals.approve(waiting.approval, "carol")
    resumed = resume(session, turn.id)
    assert (resumed.stop_reason, resumed.answer, resumed.id) == (
        "answered",
        "Tea bought.",
        turn.id,
    )
    assert shop.done == [("look", "tea"), ("pay", "ada", "bob", 5)]
    assert resumed.tools_used == ("look", "pay")
    assert [m.role for m in resumed.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert "3 in stock" in last_words(session)
    assert session.messages == resumed.messages


@both
def test_a_turn_that_is_still_waited_for_waits_on(kind: Kind) -> None:
    shop = Shop()
    session = a_session(kind, shop.tools(), [reply("prompt", PAY), "Paid."], context=ADA)
    turn = run(session, "Pay bob 5.")
    again = resume(session, turn.id)
    assert again.stop_reason == "approval_required"
    assert again.waiting[0].approval == turn.waiting[0].approval
    session.ledger.approvals.approve(turn.waiting[0].approval, "carol")
    assert resume(session, turn.id).answer == "Paid."
    assert len(shop.done) == 1


@both
def test_a_person_who_declines_later_ends_the_wait(kind: Kind) -> None:
    shop = Shop()
    session = a_session(kind, shop.tools(), [reply("prompt", PAY), "Then not."], context=ADA)
    turn = run(session, "Pay bob 5.")
    session.ledger.approvals.deny(turn.waiting[0].approval, "carol", "no budget")
    resumed = resume(session, turn.id)
    assert resumed.answer == "Then not."
    assert shop.done == []
    assert "no budget" not in last_words(session)


@both
def test_two_people_are_two_people(kind: Kind) -> None:
    shop = Shop()
    policy = Policy(destructive="approve_twice")
    wipe = ("wipe", {"table": "users"})
    session = a_session(kind, shop.tools(), [reply("prompt", wipe), "Done."], policy=policy)
    turn = run(session, "Wipe it.")
    approvals = session.ledger.approvals
    approvals.approve(turn.waiting[0].approval, "carol")
    assert resume(session, turn.id).stop_reason == "approval_required"
    approvals.approve(turn.waiting[0].approval, "dave")
    assert resume(session, turn.id).answer == "Done."
    assert shop.done == [("wipe", "users")]


@both
def test_an_approval_that_has_expired_is_asked_for_anew(kind: Kind) -> None:
    shop = Shop()
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    context = ExecutionContext(user="ada", clock=lambda: now[0])
    session = a_session(
        kind,
        shop.tools(),
        [reply("prompt", PAY), "Paid."],
        context=context,
        policy=Policy(approval_seconds=60),
    )
    turn = run(session, "Pay bob 5.")
    session.ledger.approvals.approve(turn.waiting[0].approval, "carol")
    now[0] += timedelta(seconds=61)
    again = resume(session, turn.id)
    assert again.stop_reason == "approval_required"
    assert again.waiting[0].approval != turn.waiting[0].approval
    assert shop.done == []


def test_a_call_that_has_changed_since_is_refused() -> None:
    shop = Shop()
    session = a_session(KINDS[0], shop.tools(), [reply("prompt", PAY), "Hm."], context=ADA)
    turn = run(session, "Pay bob 5.")
    ledger = session.ledger
    ledger.approvals.approve(turn.waiting[0].approval, "carol")
    stored = ledger.paused.get(turn.id)
    assert stored is not None
    stored["steps"][-1]["calls"][0]["arguments"]["amount"] = 5_000
    stored["messages"][-1]["tool_calls"][0]["arguments"]["amount"] = 5_000
    ledger.paused.put(turn.id, stored)
    resumed = resume(session, turn.id)
    (result,) = resumed.steps[0].results
    assert (result.kind, result.detail) == (
        "denied",
        f"approval {turn.waiting[0].approval} was given for another call",
    )
    assert shop.done == []


def test_an_approval_is_good_for_the_declaration_that_was_shown(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"

    @tool(name="pay", risk=Risk.REVERSIBLE_WRITE)
    def pays_more(to: str, amount: int) -> str:
        """Pay somebody ten times the amount."""
        raise AssertionError("this was never shown to anybody")

    with a_session(KINDS[0], Shop().tools(), [reply("prompt", PAY)], ledger=file) as session:
        turn = run(session, "Pay bob 5.")
        session.ledger.approvals.approve(turn.waiting[0].approval, "carol")
    with a_session(KINDS[0], [pays_more], ["Hm."], ledger=file) as session:
        (result,) = resume(session, turn.id).steps[0].results
    assert result.kind == "denied"


@both
@pytest.mark.parametrize("risk", [Risk.READ_ONLY, Risk.REVERSIBLE_WRITE])
def test_a_tool_that_paused_is_called_again_and_its_siblings_are_not(
    kind: Kind, risk: Risk
) -> None:
    shop, ready = Shop(), []

    @tool(risk=risk)
    def decide(what: str) -> str:
        """Let a person decide."""
        if not ready:
            raise PauseTurn("ask the boss")
        return "go"

    session = a_session(
        kind,
        [*shop.tools(), decide],
        [reply("prompt", LOOK, ("decide", {"what": "x"})), "Gone."],
        policy=Policy(reversible_write="run"),
    )
    turn = run(session, "Go?")
    assert turn.stop_reason == "approval_required"
    assert resume(session, turn.id).stop_reason == "approval_required"
    ready.append(True)
    assert resume(session, turn.id).answer == "Gone."
    assert shop.done == [("look", "tea")]


@both
@modes
def test_the_log_names_the_same_reply_before_and_after_the_wait(
    kind: Kind, mode: Mode, tmp_path: Path
) -> None:
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        asking = a_session(kind, Shop().tools(), [reply(mode, PAY)], mode=mode, ledger=ledger)
        turn = run(asking, "Pay bob 5.")
        ledger.approvals.approve(turn.waiting[0].approval, "carol")
        going_on = a_session(kind, Shop().tools(), ["Paid."], mode=mode, ledger=ledger)
        assert resume(going_on, turn.id).answer == "Paid."
        entries = [e for e in log(ledger) if e.get("tool") == "pay" and "origin" in e]
    assert {e["event"] for e in entries} >= {"approval_requested", "started", "proposed"}
    assert len({(e["origin"]["reply_hash"], e["origin"]["step"]) for e in entries}) == 1


@both
def test_a_name_for_the_operation_that_cannot_be_made_stops_the_call_not_the_turn(
    kind: Kind,
) -> None:
    def broken(what: str) -> str:
        raise KeyError(what)

    @tool(risk=Risk.REVERSIBLE_WRITE, idempotency_key=broken)
    def act(what: str) -> str:
        """Act."""
        raise AssertionError("it has no name")

    session = a_session(
        kind, [act], [reply("prompt", ("act", {"what": "x"})), "No."], approve=lambda _: True
    )
    turn = run(session, "Act.")
    assert (turn.answer, turn.steps[0].results[0].kind) == ("No.", "internal")


# Whose turn it is


@pytest.mark.parametrize("other", [ExecutionContext(user="eve"), ExecutionContext(), None])
def test_nobody_resumes_the_turn_of_somebody_else(tmp_path: Path, other: Any) -> None:
    file = tmp_path / "ledger.sqlite"
    with a_session(KINDS[0], Shop().tools(), [reply("prompt", PAY)], ledger=file, context=ADA) as s:
        turn = run(s, "Pay bob 5.")
    with a_session(KINDS[0], Shop().tools(), [], ledger=file, context=other) as session:
        with pytest.raises(UsageError, match=f"no turn '{turn.id}' is waiting"):
            resume(session, turn.id)
        with pytest.raises(UsageError, match="no turn 'turn_0' is waiting"):
            resume(session, "turn_0")


def test_a_session_that_has_gone_on_does_not_go_back() -> None:
    session = a_session(KINDS[0], Shop().tools(), [reply("prompt", PAY), "Hello."])
    turn = run(session, "Pay bob 5.")
    run(session, "Never mind. Hello?")
    with pytest.raises(UsageError, match="has gone on since"):
        resume(session, turn.id)


def test_in_memory_only_the_last_turn_that_waits_is_kept() -> None:
    session = a_session(KINDS[0], Shop().tools(), [reply("prompt", PAY)] * 3)
    turns = [run(session, "Pay bob 5.") for _ in range(3)]
    assert session.ledger.paused.list() == (turns[-1].id,)


def test_a_turn_needs_its_tools(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    with a_session(KINDS[0], Shop().tools(), [reply("prompt", PAY)], ledger=file) as session:
        turn = run(session, "Pay bob 5.")
    with (
        a_session(KINDS[0], [], [], ledger=file) as session,
        pytest.raises(UsageError, match="calls 'pay', which is not among the tools"),
    ):
        resume(session, turn.id)


@both
def test_the_result_of_a_call_that_the_application_runs_is_handed_in(kind: Kind) -> None:
    offered = {"name": "ask_user", "description": "Asks.", "parameters": {}}
    call = reply("prompt", ("ask_user", {}), LOOK)
    session = a_session(kind, [offered, *Shop().tools()], [call, "Blue."])
    turn = run(session, "Which colour?")
    (waiting,) = turn.waiting
    with pytest.raises(UsageError, match="does not wait for a call 'other'"):
        resume(session, turn.id, results={"other": 1})
    resumed = resume(session, turn.id, results={waiting.call_id: {"colour": "blue"}})
    assert resumed.answer == "Blue."
    assert '{"colour": "blue"}' in last_words(session)


# Hooks


@both
@modes
def test_a_hook_decides_with_tool_arguments_and_context(kind: Kind, mode: Mode) -> None:
    shop = Shop()
    seen: list[Any] = []

    async def aloud(chosen: Any, arguments: Any, context: ExecutionContext) -> bool:
        arguments["item"] = "changed"
        return True

    def own(chosen: Any, arguments: Any, context: ExecutionContext) -> Any:
        seen.append((chosen.name, dict(arguments), context.user))
        return arguments["item"] == "tea" or Deny("only tea for ada")

    session = a_session(
        kind,
        shop.tools(),
        [reply(mode, LOOK, ("look", {"item": "gold"})), "Tea there is."],
        mode=mode,
        context=ADA,
        policy=Policy(authorise=(aloud, own)),
    )
    turn = run(session, "What is in stock?")
    first, second = turn.steps[0].results
    assert (first.ok, second.kind, second.detail) == (
        True,
        "denied",
        "not authorised: only tea for ada",
    )
    assert seen == [("look", {"item": "tea"}, "ada"), ("look", {"item": "gold"}, "ada")]
    assert shop.done == [("look", "tea")]
    assert "only tea" not in last_words(session)


@both
def test_a_hook_that_raises_or_forgets_to_answer_refuses(kind: Kind) -> None:
    shop = Shop()

    def broken(*_: Any) -> bool:
        raise KeyError("scopes")

    for hook in (broken, lambda *_: None):
        policy = Policy(authorise=(hook,))
        turn = run(
            a_session(kind, shop.tools(), [reply("prompt", LOOK), "No."], policy=policy), "Tea?"
        )
        assert turn.steps[0].results[0].kind == "denied"
    assert shop.done == []


def test_a_blocking_session_inside_an_event_loop_may_have_async_hooks() -> None:
    shop = Shop()

    async def hook(*_: Any) -> bool:
        return True

    async def ask(approval: Approval) -> bool:
        return True

    async def notebook() -> Any:
        session = a_session(
            KINDS[0],
            shop.tools(),
            [reply("prompt", PAY), "Paid."],
            policy=Policy(authorise=(hook,)),
            approve=ask,
        )
        return session.run("Pay bob 5.")

    assert asyncio.run(notebook()).answer == "Paid."
    assert len(shop.done) == 1


@both
def test_nothing_starts_early_that_somebody_has_to_be_asked_about(kind: Kind) -> None:
    shop = Shop()
    policy = Policy(authorise=(lambda *_: False,))
    replies = [reply("prompt", LOOK, ("look", {"item": "ice"})), "No."]
    session = a_session(kind, shop.tools(), replies, policy=policy, eager=True)
    assert run(session, "Tea?").answer == "No."
    assert shop.done == []


# Staged writes


@both
@modes
def test_a_pre_approved_write_waits_once_untrusted_content_was_read(kind: Kind, mode: Mode) -> None:
    shop = Shop()
    policy = Policy(pre_approved=frozenset({"pay"}))
    fetch = ("fetch", {"url": "http://x"})
    session = a_session(
        kind,
        shop.tools(),
        [
            reply(mode, PAY),
            reply(mode, fetch),
            reply(mode, ("pay", {"to": "mallory", "amount": 9})),
        ],
        mode=mode,
        policy=policy,
    )
    turn = run(session, "Pay bob 5, then read the page.")
    assert shop.done == [("pay", "nobody", "bob", 5), ("fetch", "http://x")]
    assert turn.stop_reason == "approval_required"
    approval = session.ledger.approvals.get(turn.waiting[0].approval)
    assert approval is not None
    assert approval.risk == "untrusted content was read before"


def test_what_was_read_in_an_earlier_turn_still_counts() -> None:
    shop = Shop()
    policy = Policy(pre_approved=frozenset({"pay"}))
    replies = [reply("prompt", ("fetch", {"url": "u"})), "Read.", reply("prompt", PAY)]
    session = a_session(KINDS[0], shop.tools(), replies, policy=policy)
    assert run(session, "Read the page.").stop_reason == "answered"
    assert run(session, "Now pay bob 5.").stop_reason == "approval_required"


# On record


@both
def test_every_proposed_call_is_on_record_with_what_produced_it(kind: Kind, tmp_path: Path) -> None:
    shop = Shop()
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        session = a_session(
            kind,
            shop.tools(),
            [
                reply("prompt", LOOK, PAY),
                reply("prompt", ("mail", {"to": "x"})),
                reply("prompt", ("nope", {})),
                "Done.",
            ],
            context=ADA,
            ledger=ledger,
            policy=Policy(allow=frozenset({"pay", "mail"})),
            approve=lambda _: "carol",
        )
        turn = run(session, "Buy tea.")
        entries = log(ledger)
        assert ledger.verify() is None
    events = [(e["event"], e.get("tool", ""), e.get("outcome", "")) for e in entries]
    assert ("refused", "look", "denied") in events
    assert ("proposed", "pay", "ok") in events
    assert ("refused", "mail", "invalid_arguments") in events
    assert [e for e, _, outcome in events if outcome == "unknown_tool"] == ["refused"]
    assert [e for e, name, _ in events if name == "pay"] == [
        "approval_requested",
        "approved",
        "approval_used",
        "started",
        "proposed",
    ]
    started = next(e for e in entries if e["event"] == "started")
    assert started["origin"]["turn"] == turn.id
    assert len(started["origin"]["reply_hash"]) == 64
    assert started["versions"]["model"] == "any"
    assert (
        len(started["versions"]["template_hash"]) == len(started["versions"]["schema_hash"]) == 64
    )
    finished = next(e for e in entries if e["event"] == "finished")
    assert finished["resource"].startswith("payment-")


def test_a_policy_of_another_kind_is_a_mistake_of_the_developer() -> None:
    with pytest.raises(ConfigurationError, match="policy"):
        a_session(KINDS[0], [], [], policy={"allow": []})


@both
def test_a_turn_that_the_server_breaks_off_after_the_approval_can_be_resumed_again(
    kind: Kind,
) -> None:
    shop, ledger = Shop(), Ledger.in_memory()

    def session(*replies: Any) -> Any:
        return a_session(kind, shop.tools(), replies, ledger=ledger, context=ADA)

    turn = run(session(reply("prompt", PAY)), "Pay bob 5.")
    ledger.approvals.approve(turn.waiting[0].approval, "carol")
    with pytest.raises(BackendConnectionError):
        resume(session(BackendConnectionError("gone")), turn.id)
    ended = resume(session("Paid."), turn.id)
    assert ended.answer == "Paid."
    assert ended.steps[0].results[0].value == {"id": "payment-1", "paid": 5}
    assert shop.done == [("pay", "ada", "bob", 5)]
    with pytest.raises(UsageError, match="is waiting"):
        resume(session("Again."), turn.id)


@both
def test_a_call_that_was_approved_runs_whatever_holds_for_calls_to_come(kind: Kind) -> None:
    shop, ledger = Shop(), Ledger.in_memory()
    turn = run(a_session(kind, shop.tools(), [reply("prompt", LOOK, PAY)], ledger=ledger), "x")
    ledger.approvals.approve(turn.waiting[0].approval, "carol")
    forced = a_session(kind, shop.tools(), [], ledger=ledger, tool_choice="look")
    with pytest.raises(UsageError, match="'pay', which is not among the tools"):
        resume(forced, turn.id)
    one = a_session(kind, shop.tools(), ["Paid."], ledger=ledger, parallel_tool_calls=False)
    assert [r.status for r in resume(one, turn.id).steps[0].results] == ["ok", "ok"]
    assert shop.done == [("look", "tea"), ("pay", "nobody", "bob", 5)]


@both
def test_a_call_that_did_not_count_does_not_run_when_the_turn_goes_on(kind: Kind) -> None:
    shop, ledger = Shop(), Ledger.in_memory()
    first = [reply("prompt", PAY, LOOK)]
    one = a_session(kind, shop.tools(), first, ledger=ledger, parallel_tool_calls=False)
    turn = run(one, "x")
    ledger.approvals.approve(turn.waiting[0].approval, "carol")
    many = a_session(kind, shop.tools(), ["Paid."], ledger=ledger)
    ended = resume(many, turn.id)
    assert [r.status for r in ended.steps[0].results] == ["ok", "denied"]
    assert [m.role for m in ended.messages] == ["user", "assistant", "tool", "assistant"]
    assert shop.done == [("pay", "nobody", "bob", 5)]
