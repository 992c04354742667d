"""Going on with a turn that waits: one session at a time, nothing twice, no budget anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gates_kit import KINDS, Kind, a_session, last_words, reply, resume, run

from fallback import AsyncSession, Session, Turn
from fallback.errors import (
    BackendConnectionError,
    LedgerError,
    PauseTurn,
    ToolFailed,
    ToolTransient,
    UsageError,
)
from fallback.ledger import Ledger
from fallback.limits import Limits
from fallback.tools import Risk, Tool, tool

both = pytest.mark.parametrize("kind", KINDS)
FIRST, SECOND = ("note", {"text": "first"}), ("note", {"text": "second"})


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened


def note_tool(act: Callable[[str], object]) -> Tool:
    @tool
    def note(text: str) -> str:
        """Write a text down; does not say whether it changes anything."""
        act(text)
        return f"noted: {text}"

    return note


def wait(text: str) -> None:
    raise PauseTurn("wait for somebody")


def paused(ledger: Ledger, kind: Kind = Session) -> Turn:
    session = a_session(kind, [note_tool(wait)], [reply("prompt", FIRST)], ledger=ledger)
    turn = run(session, "Note it.")
    assert turn.stop_reason == "approval_required"
    return turn


# One at a time


@both
def test_while_one_session_goes_on_another_is_refused(kind: Kind, ledger: Ledger) -> None:
    turn, refused, done = paused(ledger), [], []

    def act(text: str) -> None:
        done.append(text)
        other = a_session(Session, [note_tool(done.append)], ["Never."], ledger=ledger)
        with pytest.raises(LedgerError, match=f"turn {turn.id} is being resumed by this process"):
            resume(other, turn.id)
        refused.append(text)

    session = a_session(kind, [note_tool(act)], [reply("prompt", SECOND), "Done."], ledger=ledger)
    assert resume(session, turn.id).answer == "Done."
    assert done == refused == ["first", "second"]
    assert ledger.paused.list() == ()


@both
@pytest.mark.parametrize("fault", [KeyboardInterrupt(), RuntimeError("broken")])
def test_a_session_that_is_broken_off_gives_the_turn_back_with_what_it_has_done(
    kind: Kind, fault: BaseException, ledger: Ledger
) -> None:
    turn, done = paused(ledger), []
    broken = a_session(kind, [note_tool(done.append)], [fault], ledger=ledger)
    with pytest.raises(type(fault)):
        resume(broken, turn.id)
    assert done == ["first"]
    session = a_session(kind, [note_tool(done.append)], ["Done."], ledger=ledger)
    resumed = resume(session, turn.id)
    assert (resumed.answer, done) == ("Done.", ["first"])
    assert "noted: first" in last_words(session)


@both
def test_a_server_that_fails_leaves_the_turn_as_far_as_it_came(kind: Kind, ledger: Ledger) -> None:
    turn, done = paused(ledger), []
    replies = [reply("prompt", SECOND), BackendConnectionError("nobody answers")]
    with pytest.raises(BackendConnectionError):
        resume(a_session(kind, [note_tool(done.append)], replies, ledger=ledger), turn.id)
    session = a_session(kind, [note_tool(done.append)], ["Done."], ledger=ledger)
    resumed = resume(session, turn.id)
    assert done == ["first", "second"]
    assert [r.content for s in resumed.steps for r in s.results] == [
        "noted: first",
        "noted: second",
    ]
    assert resumed.answer == "Done."


def lose(ledger: Ledger, turn: Turn) -> None:
    """Go on with a turn, and be cancelled in the middle of its call."""

    async def main() -> None:
        task: Any = None

        async def note(text: str) -> str:
            """Write a text down."""
            task.cancel()
            await asyncio.Event().wait()
            return text

        tools = [Tool.from_function(note)]
        session = a_session(AsyncSession, tools, ["Never."], ledger=ledger)
        task = asyncio.ensure_future(session.resume(turn.id))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_call_that_was_cancelled_is_unknown_and_the_turn_is_given_back(ledger: Ledger) -> None:
    turn, done = paused(ledger), []
    lose(ledger, turn)
    replies = [reply("prompt", FIRST), "I do not know."]
    session = a_session(AsyncSession, [note_tool(done.append)], replies, ledger=ledger)
    resumed = resume(session, turn.id)
    assert done == [], "nobody knows whether it was noted, so it is not noted again"
    assert [r.kind for s in resumed.steps for r in s.results] == ["outcome_unknown"] * 2
    assert "A person has to look" in last_words(session)


def test_a_person_who_has_looked_lets_a_lost_call_be_made_again(ledger: Ledger) -> None:
    turn, done = paused(ledger), []
    lose(ledger, turn)
    (lost,) = ledger.list("unknown")
    ledger.resolve(lost.id, "not_done", by="carol")
    session = a_session(Session, [note_tool(done.append)], ["Done."], ledger=ledger)
    assert resume(session, turn.id).answer == "Done."
    assert done == ["first"]


def test_a_stream_that_nobody_reads_holds_nothing(ledger: Ledger) -> None:
    turn, done = paused(ledger), []
    tools = [note_tool(done.append)]
    unread = a_session(Session, tools, [], ledger=ledger).resume_stream(turn.id)
    left = a_session(Session, tools, ["Never."], ledger=ledger).resume_stream(turn.id)
    next(left)
    left.close()
    session = a_session(Session, tools, ["Done."], ledger=ledger)
    assert resume(session, turn.id).answer == "Done."
    with pytest.raises(UsageError, match="is waiting"):
        next(unread)
    assert done == ["first"]


@both
def test_whoever_has_lost_the_turn_runs_no_further_call(kind: Kind, ledger: Ledger) -> None:
    turn, done = paused(ledger), []

    def taken_over(request: Any) -> Any:
        stored = ledger.paused.get(turn.id)
        assert stored is not None
        ledger.paused.put(turn.id, stored)
        return reply("prompt", SECOND)

    session = a_session(kind, [note_tool(done.append)], [taken_over], ledger=ledger)
    with pytest.raises(LedgerError, match=f"turn {turn.id} is not held any more"):
        resume(session, turn.id)
    assert done == ["first"]
    session = a_session(kind, [note_tool(done.append)], ["Done."], ledger=ledger)
    assert resume(session, turn.id).answer == "Done."
    assert done == ["first"]


@both
def test_the_same_call_in_a_later_reply_is_another_one(kind: Kind, ledger: Ledger) -> None:
    turn, done = paused(ledger), []
    replies = [reply("prompt", FIRST), "Done."]
    session = a_session(kind, [note_tool(done.append)], replies, ledger=ledger)
    assert resume(session, turn.id).answer == "Done."
    assert done == ["first", "first"], (
        "a tool that does not say what it does runs when it is called"
    )


@both
def test_results_that_were_handed_in_are_not_asked_for_again(kind: Kind, ledger: Ledger) -> None:
    offered = {"name": "ask_user", "description": "Asks.", "parameters": {}}
    done: list[str] = []
    tools = [offered, note_tool(done.append)]
    asking = a_session(kind, tools, [reply("prompt", ("ask_user", {}))], ledger=ledger)
    turn = run(asking, "Which colour?")
    handed = {turn.waiting[0].call_id: "blue"}
    replies = [reply("prompt", FIRST), BackendConnectionError("nobody answers")]
    with pytest.raises(BackendConnectionError):
        resume(a_session(kind, tools, replies, ledger=ledger), turn.id, results=handed)
    session = a_session(kind, tools, ["Blue."], ledger=ledger)
    assert resume(session, turn.id, results=handed).answer == "Blue."
    assert "blue" in last_words(session)
    assert done == ["first"]


# No budget begins anew


def ask_again(ledger: Ledger, tools: list[Any], before: list[Any], after: list[Any], **named: Any):
    """A turn that waits in the middle, gone on with in a session of its own."""
    ready: list[int] = []

    @tool
    def decide() -> str:
        """Let a person decide."""
        if not ready:
            raise PauseTurn("ask the boss")
        return "go"

    pause = reply("prompt", ("decide", {}))
    asking = a_session(Session, [*tools, decide], [*before, pause], ledger=ledger, **named)
    turn = run(asking, "Go?")
    assert turn.stop_reason == "approval_required"
    ready.append(1)
    going_on = a_session(Session, [*tools, decide], after, ledger=ledger, **named)
    return resume(going_on, turn.id), going_on


def test_corrections_are_counted_over_the_wait(ledger: Ledger) -> None:
    bad = [reply("prompt", ("note", {"text": value})) for value in ([1], {"a": 1}, [[]])]
    turn, session = ask_again(
        ledger, [note_tool(str)], bad[:1], [bad[1], "Enough."], limits=Limits(max_corrections=1)
    )
    assert turn.answer == "Enough."
    assert "tools were withdrawn" in turn.detail
    assert session.backend.remaining == 0


def test_replies_that_failed_are_counted_over_the_wait(ledger: Ledger) -> None:
    def fail(text: str) -> None:
        raise ToolFailed("closed")

    calls = [reply("prompt", ("note", {"text": str(n)})) for n in range(2)]
    turn, _ = ask_again(
        ledger,
        [note_tool(fail)],
        calls[:1],
        [calls[1], "It is closed."],
        limits=Limits(max_tool_errors=2),
    )
    assert turn.answer == "It is closed."
    assert "max_tool_errors" in turn.detail


def test_retries_are_counted_over_the_wait(ledger: Ledger) -> None:
    tried: list[str] = []

    @tool(risk=Risk.READ_ONLY)
    def look(item: str) -> str:
        """Look an item up."""
        tried.append(item)
        raise ToolTransient("busy")

    ask_again(
        ledger,
        [look],
        [reply("prompt", ("look", {"item": "a"}))],
        [reply("prompt", ("look", {"item": "b"})), "Busy."],
        limits=Limits(max_transient_retries=2, retry_seconds=0.0),
    )
    assert tried == ["a", "a", "a", "b"]


def test_repetition_is_counted_over_the_wait(ledger: Ledger) -> None:
    """The call that waits comes in between, so what counts is itself."""
    pause = reply("prompt", ("decide", {}))
    turn, session = ask_again(
        ledger, [], [], [pause, pause, "Gone."], limits=Limits(repeats_told=3, repeats_stopped=9)
    )
    assert turn.answer == "Gone."
    assert "3 times with the same arguments" in last_words(session)


def test_a_call_that_waits_does_not_hide_that_the_same_was_done_before(ledger: Ledger) -> None:
    asked: list[int] = []

    @tool
    def build() -> str:
        """Build; at the third time a person has to decide first."""
        asked.append(1)
        if len(asked) == 3:
            raise PauseTurn("ask the boss")
        return "broken"

    again = reply("prompt", ("build", {}))
    first = a_session(Session, [build], [again] * 3, ledger=ledger)
    turn = run(first, "Build.")
    assert turn.stop_reason == "approval_required"
    session = a_session(Session, [build], ["It is broken."], ledger=ledger)
    assert resume(session, turn.id).answer == "It is broken."
    assert "3 times with the same arguments" in last_words(session)


def test_a_slip_beside_a_call_that_waits_is_told_when_the_turn_goes_on(ledger: Ledger) -> None:
    both_calls = reply("prompt", FIRST, ("note", {"text": [1]}))
    asking = a_session(Session, [note_tool(wait)], [both_calls], ledger=ledger)
    turn = run(asking, "Note it.")
    assert turn.stop_reason == "approval_required"
    session = a_session(Session, [note_tool(str)], ["Done."], ledger=ledger)
    assert resume(session, turn.id).answer == "Done."
    assert "$.text" in last_words(session)
