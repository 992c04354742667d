"""Calls that really run side by side, from both kinds of session."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
from loop_driver import block, calls

from fallback import AsyncSession, Limits, Risk, Session, Tool, Turn
from fallback.errors import ToolTransient
from fallback.loop.progress import ToolEnded, ToolStarted
from fallback.testing import ScriptedBackend

Run = Callable[..., Turn]


def blocking(tools: list[Any], replies: list[Any], **settings: Any) -> Turn:
    return Session("m", tools, backend=ScriptedBackend(replies), **settings).run("Go?")


def awaiting(tools: list[Any], replies: list[Any], **settings: Any) -> Turn:
    session = AsyncSession("m", tools, backend=ScriptedBackend(replies), **settings)
    return asyncio.run(session.run("Go?"))


RUNNERS = pytest.mark.parametrize("run", [blocking, awaiting])


def reading(function: Callable[..., Any], **declared: Any) -> Tool:
    return Tool.from_function(function, risk=Risk.READ_ONLY, **declared)


def asked(*numbers: int) -> str:
    return block(*(calls("fetch", f'{{"n": {n}}}') for n in numbers))


@RUNNERS
def test_reading_calls_meet_each_other(run: Run) -> None:
    """Each waits for the other: one after the other they would never get through."""
    barrier = threading.Barrier(3)

    def fetch(n: int) -> int:
        """Fetch."""
        barrier.wait(20)
        return n * n

    turn = run([reading(fetch)], [asked(1, 2, 3), "Done."])
    assert [r.value for r in turn.steps[0].results] == [1, 4, 9]


@RUNNERS
def test_no_more_run_at_a_time_than_is_allowed(run: Run) -> None:
    lock = threading.Lock()
    running, most = [0], [0]

    def fetch(n: int) -> int:
        """Fetch."""
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        with lock:
            running[0] -= 1
        return n

    limits = Limits(max_parallel=2)
    turn = run([reading(fetch)], [asked(*range(9)), "Done."], limits=limits)
    assert [r.value for r in turn.steps[0].results] == list(range(9))
    assert 1 <= most[0] <= 2


def test_coroutines_meet_in_the_event_loop() -> None:
    async def main() -> Turn:
        both = asyncio.Barrier(2)

        async def fetch(n: int) -> int:
            """Fetch."""
            async with asyncio.timeout(20), both:
                return n

        session = AsyncSession("m", [reading(fetch)], backend=ScriptedBackend([asked(1, 2), "D."]))
        return await session.run("Go?")

    assert [r.value for r in asyncio.run(main()).steps[0].results] == [1, 2]


@RUNNERS
def test_writes_never_meet(run: Run) -> None:
    inside = threading.Lock()

    def fetch(n: int) -> bool:
        """Fetch."""
        if not inside.acquire(blocking=False):
            return False
        inside.release()
        return True

    turn = run([fetch], [asked(1, 2, 3, 4), "Done."])
    assert all(r.value for r in turn.steps[0].results)


@RUNNERS
def test_the_events_say_what_began_and_what_ended(run: Run) -> None:
    second_is_done = threading.Event()

    def fetch(n: int) -> int:
        """The first ends after the second."""
        if n == 1:
            assert second_is_done.wait(20)
        return n

    ended: list[int] = []
    started: list[int] = []

    def watch(event: Any) -> None:
        if isinstance(event, ToolStarted):
            started.append(event.call.arguments["n"])
        elif isinstance(event, ToolEnded):
            ended.append(event.result.value)
            second_is_done.set()

    turn = run([reading(fetch)], [asked(1, 2), "Done."], on_event=watch)
    assert sorted(started) == [1, 2]
    assert ended == [2, 1]
    assert [r.value for r in turn.steps[0].results] == [1, 2]


@RUNNERS
def test_one_that_takes_too_long_does_not_hold_up_the_others(run: Run) -> None:
    never = threading.Event()

    def fetch(n: int) -> int:
        """The first never ends."""
        if n == 1:
            never.wait(20)
        return n

    limits = Limits(tool_seconds=0.3, max_transient_retries=0)
    turn = run([reading(fetch)], [asked(1, 2), "Done."], limits=limits)
    never.set()
    assert [r.status for r in turn.steps[0].results] == ["timeout", "ok"]


@RUNNERS
def test_cancelling_ends_the_whole_wave(run: Run) -> None:
    never = threading.Event()
    both = threading.Barrier(2)
    sessions: list[Any] = []

    def fetch(n: int) -> int:
        """Wait until the turn is cancelled."""
        if both.wait(20) == 0:
            sessions[0].cancel()
        never.wait(20)
        return n

    kind = Session if run is blocking else AsyncSession
    session = kind(
        "m",
        [reading(fetch)],
        backend=ScriptedBackend([asked(1, 2, 3)]),
        limits=Limits(max_parallel=2, tool_seconds=None, turn_seconds=None),
    )
    sessions.append(session)
    ran = session.run("Go?")
    turn = ran if isinstance(ran, Turn) else asyncio.run(ran)
    never.set()
    assert turn.stop_reason == "cancelled"
    assert [r.status for r in turn.steps[0].results] == ["error"] * 3


@RUNNERS
def test_context_variables_reach_every_call(run: Run) -> None:
    tenant: ContextVar[str] = ContextVar("tenant")
    tenant.set("acme")

    def fetch(n: int) -> str:
        """Fetch."""
        return f"{tenant.get()} {n}"

    turn = run([reading(fetch)], [asked(1, 2), "Done."])
    assert [r.value for r in turn.steps[0].results] == ["acme 1", "acme 2"]


@RUNNERS
def test_what_failed_for_now_is_tried_again_by_the_application(run: Run) -> None:
    tries: list[int] = []

    def fetch(n: int) -> int:
        """Fail once."""
        tries.append(n)
        if len(tries) == 1:
            raise ToolTransient("busy")
        return n

    limits = Limits(retry_seconds=0.001)
    turn = run([reading(fetch)], [asked(7), "Done."], limits=limits)
    assert (turn.steps[0].results[0].value, tries) == (7, [7, 7])
    assert turn.steps[0].results[0].warnings == ("tried 2 times",)


@RUNNERS
def test_the_rate_of_a_tool_holds_over_the_turns_of_a_session(run: Run) -> None:
    def fetch(n: int) -> int:
        """Fetch."""
        return n

    replies = [asked(1, 2, 3), "Done."]
    turn = run([reading(fetch, rate=(2, 3600.0))], replies)
    assert sorted(r.status for r in turn.steps[0].results) == ["denied", "ok", "ok"]
    paced = run([reading(fetch, rate=(2, 0.001))], replies)
    assert all(r.ok for r in paced.steps[0].results)


@RUNNERS
def test_a_developer_s_mistake_in_a_wave_is_raised(run: Run) -> None:
    def fetch(n: int, user: str) -> int:
        """Fetch."""
        return n

    class Rude(Exception):
        pass

    def watch(event: Any) -> None:
        if isinstance(event, ToolStarted):
            raise Rude

    tool = reading(fetch, injected=["user"])
    with pytest.raises(Rude):
        run([tool], [asked(1, 2), "D."], on_event=watch, context={"user": "u"})


@RUNNERS
def test_the_end_of_the_turn_ends_every_call_of_a_wave(run: Run) -> None:
    never = threading.Event()

    def fetch(n: int) -> int:
        """Never end."""
        never.wait(20)
        return n

    limits = Limits(turn_seconds=0.2, tool_seconds=None)
    turn = run([reading(fetch)], [asked(1, 2)], limits=limits)
    never.set()
    assert turn.stop_reason == "deadline"
    assert [r.status for r in turn.steps[0].results] == ["timeout", "timeout"]
