"""Turns that end before their time, and what is left of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from session_kit import OSLO, get_weather

from fallback import AsyncSession, Session
from fallback.backend import Chunk, GenerationRequest
from fallback.errors import (
    BackendConnectionError,
    UsageError,
)
from fallback.limits import Limits
from fallback.loop.progress import TurnEnded
from fallback.messages import Turn
from fallback.testing import ScriptedBackend
from fallback.tools import tool

# Broken off


def test_the_record_of_a_failed_turn_is_there() -> None:
    backend = ScriptedBackend([OSLO, BackendConnectionError("gone")])
    session = Session("m", [get_weather], backend=backend)
    with pytest.raises(BackendConnectionError):
        session.run("Weather?")
    assert session.turn is not None
    assert session.turn.stop_reason == "failed"
    assert session.turn.tools_used == ("get_weather",)
    assert [m.role for m in session.messages] == ["user", "assistant", "tool"]


class Stubborn:
    """A backend that says one thing and then does what it is told to do."""

    def __init__(self, then: Callable[[], object]) -> None:
        self.then, self.ended = then, threading.Event()

    @property
    def closed(self) -> bool:
        """Whether the stream has been closed, or is about to be."""
        return self.ended.wait(20)

    def describe(self, model: str) -> Any:
        return ScriptedBackend([]).describe(model)

    def stream(self, request: GenerationRequest) -> Iterator[Chunk]:
        try:
            yield Chunk(text="It is ")
            self.then()
            yield Chunk(text="sunny.")
            yield Chunk(done=True)
        finally:
            self.ended.set()


def test_ctrl_c_closes_the_stream_and_leaves_a_record() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    backend = Stubborn(interrupt)
    session = Session("m", backend=backend)
    with pytest.raises(KeyboardInterrupt):
        session.run("Weather?")
    assert backend.closed
    assert session.turn is not None
    assert session.turn.stop_reason == "cancelled"
    assert session.turn.steps[0].raw == "It is "
    assert session.messages == ()


def test_a_turn_is_cancelled_from_another_thread() -> None:
    session: Session

    def elsewhere() -> None:
        thread = threading.Thread(target=session.cancel)
        thread.start()
        thread.join()

    backend = Stubborn(elsewhere)
    session = Session("m", backend=backend)
    turn = session.run("Weather?")
    assert backend.closed
    assert (turn.stop_reason, turn.answer) == ("cancelled", "It is")
    session.cancel()  # with no turn under way this does nothing


def test_a_cancelled_tool_ends_the_turn() -> None:
    released = threading.Event()

    def wait() -> str:
        """Wait."""
        session.cancel()
        released.wait(20)
        return "late"

    call = '```tool_call\n{"name": "wait", "arguments": {}}\n```'
    session = Session("m", [wait], backend=ScriptedBackend([call]))
    turn = session.run("Wait.")
    released.set()
    assert turn.stop_reason == "cancelled"
    assert turn.steps[0].results[0].status == "error"


def test_leaving_the_stream_cancels_the_turn() -> None:
    session = Session("m", [get_weather], backend=ScriptedBackend([OSLO, "Fine."], chunk_size=2))
    events = session.stream("Weather?")
    next(events)
    next(events)
    events.close()
    assert session.turn is not None
    assert session.turn.stop_reason == "cancelled"
    assert session.run("Again?").answer == "Fine."


def test_a_cancelled_task_leaves_a_record() -> None:
    async def run() -> AsyncSession:
        started = asyncio.Event()

        async def wait() -> None:
            """Wait."""
            started.set()
            await asyncio.sleep(3600)

        call = '```tool_call\n{"name": "wait", "arguments": {}}\n```'
        session = AsyncSession("m", [wait], backend=ScriptedBackend([call]))
        task = asyncio.create_task(session.run("Wait."))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return session

    session = asyncio.run(run())
    assert session.turn is not None
    assert session.turn.stop_reason == "cancelled"
    assert session.turn.steps[0].calls[0].name == "wait"


def test_a_session_is_not_used_twice_at_once() -> None:
    session = Session("m", backend=ScriptedBackend(["One.", "Two."]))
    events = session.stream("First?")
    next(events)
    with pytest.raises(UsageError, match="in the middle of a turn"):
        session.run("Second?")
    assert [event for event in events if isinstance(event, TurnEnded)]
    assert session.run("Second?").answer == "Two."


# Time


def test_a_reply_that_outlasts_the_deadline_is_ended() -> None:
    now = [0.0]
    backend = Stubborn(lambda: now.__setitem__(0, 100.0))
    session = Session("m", backend=backend, limits=Limits(turn_seconds=60.0))
    session._clock = lambda: now[0]
    turn = session.run("Weather?")
    assert backend.closed
    assert (turn.stop_reason, turn.answer) == ("deadline", "It is sunny.")


def test_a_silent_model_is_waited_for_no_longer_than_the_deadline() -> None:
    class Silent(ScriptedBackend):
        async def astream(self, request: GenerationRequest) -> Any:
            yield Chunk(text="It ")
            await asyncio.Event().wait()

    async def run() -> Turn:
        session = AsyncSession("m", backend=Silent([]), limits=Limits(turn_seconds=0.05))
        return await session.run("Weather?")

    turn = asyncio.run(run())
    assert (turn.stop_reason, turn.answer) == ("deadline", "It")


class Mute(ScriptedBackend):
    """A server that says one thing, or nothing, and then no more until it is released."""

    def __init__(self, *, describes: bool = True) -> None:
        super().__init__([])
        self.describes, self.silent = describes, threading.Event()
        self.released, self.ended = threading.Event(), threading.Event()

    def describe(self, model: str) -> Any:
        if not self.describes:
            self.silent.set()
            self.released.wait(20)
        return super().describe(model)

    async def adescribe(self, model: str) -> Any:
        return await asyncio.to_thread(self.describe, model)

    def stream(self, request: GenerationRequest) -> Any:
        try:
            yield Chunk(text="It ")
            self.silent.set()
            self.released.wait(20)
            yield Chunk(text="is late.")
        finally:
            self.ended.set()


@pytest.mark.parametrize("describes", [True, False])
def test_who_blocks_waits_for_a_silent_model_no_longer_than_the_deadline_either(
    describes: bool,
) -> None:
    backend = Mute(describes=describes)
    turn = Session("m", backend=backend, limits=Limits(turn_seconds=0.05)).run("Weather?")
    assert not backend.released.is_set()
    assert turn.stop_reason == "deadline"
    assert turn.answer.startswith("It" if describes else "No answer: stopped after ")
    backend.released.set()
    assert not describes or backend.ended.wait(20), "the stream ends with the server's next word"


@pytest.mark.parametrize("describes", [True, False])
@pytest.mark.parametrize("kind", [Session, AsyncSession])
def test_a_turn_is_cancelled_while_the_model_is_silent(kind: Any, describes: bool) -> None:
    class AsyncMute(Mute):
        async def astream(self, request: GenerationRequest) -> Any:
            yield Chunk(text="It ")
            self.silent.set()
            await asyncio.Event().wait()

    backend = AsyncMute(describes=describes)
    session = kind("m", backend=backend)

    def elsewhere() -> None:
        backend.silent.wait(20)
        session.cancel()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    made = session.run("Weather?")
    turn = asyncio.run(_released(made, backend)) if kind is AsyncSession else made
    thread.join()
    assert (turn.stop_reason, turn.answer) == ("cancelled", "It" if describes else "")
    backend.released.set()


async def _released(made: Any, backend: Mute) -> Turn:
    """The turn; what an event loop has begun in a thread it waits for at its own end."""
    try:
        return await made
    finally:
        backend.released.set()


def test_an_async_turn_is_cancelled_by_its_session() -> None:
    class Chatty(ScriptedBackend):
        async def astream(self, request: GenerationRequest) -> Any:
            yield Chunk(text="It is ")
            session.cancel()
            yield Chunk(text="sunny.")
            yield Chunk(text=" Very.")

    async def wait() -> None:
        """Wait."""
        session.cancel()
        await asyncio.Event().wait()

    session = AsyncSession("m", backend=Chatty([]))
    assert asyncio.run(session.run("Weather?")).answer == "It is sunny."
    call = '```tool_call\n{"name": "wait", "arguments": {}}\n```'
    session = AsyncSession("m", [wait], backend=ScriptedBackend([call]))
    assert asyncio.run(session.run("Wait.")).stop_reason == "cancelled"


@pytest.mark.parametrize("kind", [Session, AsyncSession])
def test_probabilities_that_do_not_come_are_waited_for_no_longer_than_the_deadline(
    kind: Any,
) -> None:
    class Undecided(Mute):
        def score(self, request: GenerationRequest, values: Any, whole: bool = False) -> Any:
            self.released.wait(20)
            raise AssertionError("nobody waits for this")

        async def ascore(self, request: GenerationRequest, values: Any, whole: bool = False) -> Any:
            await asyncio.Event().wait()

    @tool
    def look() -> str:
        """Look."""
        return "seen"

    backend = Undecided()
    limits = Limits(turn_seconds=0.05)
    made = kind("m", [look], backend=backend, decide=True, limits=limits).run("Weather?")
    turn = asyncio.run(made) if kind is AsyncSession else made
    backend.released.set()
    assert turn.stop_reason == "deadline"
