"""Side effects in a session: recorded before they happen, and never a second time."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from gates_kit import KINDS, Kind, Shop, a_session, last_words, log, reply, resume, run

from fallback import AsyncSession
from fallback.errors import (
    LedgerError,
    PauseTurn,
    ToolConflict,
    ToolFailed,
    ToolPartial,
    ToolRetry,
    ToolTransient,
)
from fallback.ledger import Approval, Begun, Ledger, Operation
from fallback.limits import Limits
from fallback.policy import ExecutionContext, Policy, own_key
from fallback.testing import ScriptedBackend
from fallback.tools import Risk, Tool, tool

FREE = Policy(reversible_write="run")
PAY = ("pay", {"to": "bob", "amount": 5})

both = pytest.mark.parametrize("kind", KINDS)


@both
def test_the_same_call_in_one_turn_happens_once_and_says_so(kind: Kind) -> None:
    shop = Shop()
    replies = [reply("prompt", PAY), reply("prompt", PAY), "Paid once."]
    session = a_session(kind, shop.tools(), replies, policy=FREE)
    turn = run(session, "Pay bob 5.")
    assert len(shop.done) == 1
    first, second = (step.results[0] for step in turn.steps[:2])
    assert second.value == first.value
    assert "not run again" in second.warnings[-1]
    assert second.call_id == turn.steps[1].calls[0].id
    run(a_session(kind, shop.tools(), replies, policy=FREE), "Pay bob 5.")
    assert len(shop.done) == 2, "another turn is another operation"


@both
def test_where_a_ledger_is_kept_a_tool_that_does_not_say_what_it_does_is_on_record_before_it_runs(
    kind: Kind, tmp_path: Path
) -> None:
    seen: list[list[str]] = []

    def states() -> list[str]:
        with Ledger.open(tmp_path / "ledger.sqlite") as other:
            return [stored.state for stored in other.list()]

    @tool
    def act(what: str) -> str:
        """Do something."""
        seen.append(states())
        return what

    @tool(risk=Risk.READ_ONLY)
    def look() -> str:
        """Look."""
        seen.append(states())
        return "seen"

    same = ("act", {"what": "x"})
    replies = [reply("prompt", same), reply("prompt", ("look", {})), reply("prompt", same), "Done."]
    session = a_session(kind, [act, look], replies, ledger=tmp_path / "ledger.sqlite")
    assert run(session, "Act.").answer == "Done."
    # Nobody said that it changes anything, so the same call later is another one, and runs.
    assert seen == [["started"], ["finished"], ["started", "finished"]]
    assert states() == ["finished", "finished"]
    assert session.ledger.verify() is None


@both
def test_a_repeated_call_needs_no_second_approval_for_nothing(kind: Kind) -> None:
    shop, asked = Shop(), []
    replies = [reply("prompt", PAY), reply("prompt", PAY), "Paid once."]
    session = a_session(
        kind, shop.tools(), replies, approve=lambda approval: asked.append(approval) or True
    )
    assert run(session, "Pay bob 5.").answer == "Paid once."
    assert (len(shop.done), len(asked)) == (1, 1)


@both
def test_a_tool_may_name_its_operations_itself(kind: Kind, tmp_path: Path) -> None:
    done: list[str] = []

    @tool(risk=Risk.REVERSIBLE_WRITE, idempotency_key=lambda order: f"order {order}")
    def ship(order: int, note: str = "") -> str:
        """Ship an order."""
        done.append(note)
        return f"shipped {order}"

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:

        def turn_of(user: str, note: str) -> Any:
            call = ("ship", {"order": 7, "note": note})
            return run(
                a_session(
                    kind,
                    [ship],
                    [reply("prompt", call), "Done."],
                    policy=FREE,
                    ledger=ledger,
                    context=ExecutionContext(user=user),
                ),
                "Ship it.",
            )

        turn_of("ada", "a")
        again = turn_of("ada", "a")
        other = turn_of("ada", "changed")
        turn_of("bob", "b")
    assert done == ["a", "b"]
    assert again.steps[0].results[0].content == "shipped 7"
    assert "not run again" in again.steps[0].results[0].warnings[-1]
    assert other.steps[0].results[0].kind == "internal", "one name, two different calls"
    assert "used for another call" in other.steps[0].results[0].detail


@both
def test_what_comes_undone_while_a_person_is_asked_does_not_run_unapproved(kind: Kind) -> None:
    shop, done = Shop(), []

    @tool(risk=Risk.REVERSIBLE_WRITE, idempotency_key=lambda order: f"order {order}")
    def ship(order: int) -> str:
        """Ship an order."""
        done.append(order)
        return "shipped"

    ledger = Ledger.in_memory()
    key = own_key("order 7", ship, ExecutionContext())
    begun = ledger.begin(key, Operation(tool="ship", arguments={"order": 7}))
    assert isinstance(begun, Begun)
    asked: list[str] = []

    def ask(approval: Approval) -> bool | None:
        asked.append(approval.tool)
        if approval.tool == "pay":  # meanwhile whoever was shipping says that nothing happened
            ledger.fail(begun, "no carrier", effect="none")
        return approval.tool == "pay" or None

    calls = reply("prompt", ("ship", {"order": 7}), PAY)
    session = a_session(kind, [ship, *shop.tools()], [calls, "Done."], ledger=ledger, approve=ask)
    turn = run(session, "Ship order 7 and pay bob 5.")
    assert done == []
    assert (turn.stop_reason, asked) == ("approval_required", ["pay"])
    assert [r.status for r in turn.steps[0].results] == ["paused", "ok"]
    waits = resume(session, turn.id)
    assert (waits.stop_reason, asked) == ("approval_required", ["pay", "ship"])
    ledger.approvals.approve(waits.waiting[0].approval, "carol")
    assert resume(session, turn.id).answer == "Done."
    assert (done, len(shop.done)) == ([7], 1)
    assert ledger.verify() is None


FAILURES: list[tuple[BaseException, str, str]] = [
    (ToolRetry("no such account"), "invalid_arguments", "failed"),
    (ToolTransient("busy"), "transient", "failed"),
    (ToolConflict("already closed", state={"open": False}), "conflict", "failed"),
    (PauseTurn("ask the boss"), "approval_required", "failed"),
    (ToolFailed("account is closed"), "failed", "finished"),
    (ToolPartial(done={"a": 1}, failed={"b": "locked"}), "partial", "finished"),
    (RuntimeError("connection lost"), "internal", "unknown"),
]


@both
@pytest.mark.parametrize(("raised", "kind_of", "state"), FAILURES, ids=lambda v: str(v)[:20])
def test_what_a_tool_raises_says_whether_anything_happened(
    kind: Kind, raised: BaseException, kind_of: str, state: str
) -> None:
    @tool(risk=Risk.REVERSIBLE_WRITE)
    def pay(to: str, amount: int) -> str:
        """Pay somebody."""
        raise raised

    session = a_session(kind, [pay], [reply("prompt", PAY), "So it is."], policy=FREE)
    turn = run(session, "Pay bob 5.")
    (result,) = turn.steps[0].results
    (stored,) = session.ledger.list()
    assert (result.kind, stored.state) == (kind_of, state)
    if state == "unknown":
        assert "not known whether it took effect" in last_words(session)
        assert stored.id in result.detail
        # The model is not told what the error said; whoever has to look is.
        assert "connection lost" in stored.detail
        assert "connection lost" in result.detail
        assert "connection lost" not in last_words(session)


@both
def test_a_write_that_is_given_up_is_unknown_and_never_run_again(kind: Kind) -> None:
    started, release, done = threading.Event(), threading.Event(), []

    @tool(risk=Risk.REVERSIBLE_WRITE)
    def pay(to: str, amount: int) -> str:
        """Pay somebody."""
        done.append(to)
        started.set()
        release.wait(30)
        return "paid"

    replies = [reply("prompt", PAY), reply("prompt", PAY), "I do not know."]
    session = a_session(kind, [pay], replies, policy=FREE, limits=Limits(tool_seconds=0.05))
    try:
        turn = run(session, "Pay bob 5.")
    finally:
        release.set()
    first, second = (step.results[0] for step in turn.steps[:2])
    assert (first.kind, second.kind) == ("timeout", "outcome_unknown")
    assert done == ["bob"]
    assert "A person has to look" in second.content
    assert turn.tools_used == ("pay",), "the second call did not run"
    (stored,) = session.ledger.list("unknown")
    assert stored.id in second.detail


def test_a_turn_that_is_cancelled_in_the_middle_of_a_write_leaves_it_unknown() -> None:
    session: Any = None

    @tool(risk=Risk.REVERSIBLE_WRITE)
    async def pay(to: str, amount: int) -> str:
        """Pay somebody."""
        task.cancel()
        await asyncio.Event().wait()
        return "paid"

    async def main() -> None:
        nonlocal task, session
        session = a_session(AsyncSession, [pay], [reply("prompt", PAY)], policy=FREE)
        task = asyncio.ensure_future(session.run("Pay bob 5."))
        with pytest.raises(asyncio.CancelledError):
            await task

    task: Any = None
    asyncio.run(main())
    (stored,) = session.ledger.list()
    assert stored.state == "unknown"


class _Full(Ledger):
    def begin(self, key: str, operation: Any) -> Any:
        raise LedgerError("the disk is full")


@both
def test_what_cannot_be_recorded_is_not_run(kind: Kind) -> None:
    shop = Shop()
    memory = Ledger.in_memory()
    session = a_session(
        kind,
        shop.tools(),
        [reply("prompt", PAY), "Not paid."],
        policy=FREE,
        ledger=_Full(memory._database),
    )
    turn = run(session, "Pay bob 5.")
    (result,) = turn.steps[0].results
    assert (result.kind, result.detail) == ("internal", "the disk is full")
    assert "disk" not in last_words(session)
    assert shop.done == []
    assert turn.tools_used == ()


@both
def test_a_key_that_is_none_means_that_nothing_runs(kind: Kind) -> None:
    made = Tool(
        name="pay",
        risk=Risk.REVERSIBLE_WRITE,
        parameters={"properties": {"to": {}, "amount": {}}},
        handler=lambda **_: pytest.fail("it ran"),
        idempotency_key=lambda **_: None,
    )
    turn = run(a_session(kind, [made], [reply("prompt", PAY), "No."], policy=FREE), "Pay.")
    (result,) = turn.steps[0].results
    assert result.kind == "internal"
    assert "NoneType" in result.detail


def test_what_only_reads_is_not_an_operation() -> None:
    shop = Shop()
    with Ledger.in_memory() as ledger:
        look = ("look", {"item": "tea"})
        run(a_session(KINDS[0], shop.tools(), [reply("prompt", look), "3."], ledger=ledger), "Tea?")
        assert ledger.list() == ()
        assert [entry["event"] for entry in log(ledger)] == ["proposed"]


def test_a_replay_is_on_record() -> None:
    with Ledger.in_memory() as ledger:
        replies = [reply("prompt", PAY), reply("prompt", PAY), "Once."]
        run(a_session(KINDS[0], Shop().tools(), replies, policy=FREE, ledger=ledger), "Pay.")
        events = [entry["event"] for entry in log(ledger)]
    assert events.count("started") == events.count("finished") == events.count("replayed") == 1


def test_a_session_closes_the_ledger_that_it_opened_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    with a_session(KINDS[0], [], [], ledger=file) as session:
        assert session.ledger.list() == ()
    ledger = Ledger.open(file)
    with a_session(KINDS[0], [], [], ledger=ledger) as session:
        assert session.ledger is ledger
    assert ledger.list() == ()
    ledger.close()


def test_a_thousand_turns_at_once_lose_and_cross_nothing() -> None:
    """One catalogue, one ledger, a thousand sessions in one event loop; every turn pays once."""
    paid: dict[str, list[int]] = {}
    lock = threading.Lock()

    @tool(risk=Risk.READ_ONLY)
    async def price(item: int) -> int:
        """Price of an item."""
        await asyncio.sleep(0)
        return item * 7

    @tool(risk=Risk.REVERSIBLE_WRITE, injected=["user"])
    def pay(amount: int, user: str) -> str:
        """Pay."""
        with lock:
            paid.setdefault(user, []).append(amount)
        return f"{user} paid {amount}"

    def then_pay(request: Any) -> str:
        price_said = request.messages[-1].content
        amount = next(int(word) for word in price_said.split() if word.isdigit())
        return reply("prompt", ("pay", {"amount": amount}))

    async def one(number: int, ledger: Ledger) -> Any:
        session = AsyncSession(
            "any",
            tools=[price, pay],
            backend=ScriptedBackend([reply("prompt", ("price", {"item": number})), then_pay, "ok"]),
            mode="prompt",
            policy=FREE,
            ledger=ledger,
            context=ExecutionContext(user=f"user-{number}"),
        )
        return await session.run("Buy it.")

    async def everybody() -> list[Any]:
        with Ledger.in_memory() as ledger:
            turns = await asyncio.gather(*(one(n, ledger) for n in range(1000)))
            assert ledger.verify() is None
            assert len(ledger.list("finished", limit=2000)) == 1000
        return turns

    turns = asyncio.run(everybody())
    assert paid == {f"user-{n}": [n * 7] for n in range(1000)}
    for number, turn in enumerate(turns):
        assert turn.answer == "ok"
        assert turn.steps[0].results[0].value == number * 7
        assert turn.steps[1].results[0].content == f"user-{number} paid {number * 7}"


@both
def test_what_a_turn_had_on_record_when_it_waited_is_not_put_there_again(
    kind: Kind, tmp_path: Path
) -> None:
    shop, url = Shop(), tmp_path / "ledger.sqlite"
    first = reply("prompt", ("look", {"item": "x"}), PAY, ("nothing", {}))
    turn = run(a_session(kind, shop.tools(), [first], ledger=url), "Pay bob 5.")
    (waiting,) = turn.waiting
    with Ledger.open(url) as ledger:
        ledger.approvals.approve(waiting.approval, by="carol")
        before = len(log(ledger))
        resume(a_session(kind, shop.tools(), ["Paid."], ledger=url), turn.id)
        told = [(e["event"], e.get("tool", ""), e.get("outcome", "")) for e in log(ledger)]
    proposed = [entry for entry in told if entry[0] in ("proposed", "refused")]
    assert proposed == [
        ("proposed", "look", "ok"),
        ("proposed", "pay", "approval_required"),
        ("refused", "", "unknown_tool"),
        ("proposed", "pay", "ok"),
    ]
    assert told.index(("proposed", "pay", "ok")) >= before
