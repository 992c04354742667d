"""Calls that begin while the model is still writing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

import pytest
from loop_driver import block, calls

from fallback import AsyncSession, Limits, Policy, Risk, Session, Tool, Turn
from fallback.backend import Chunk, GenerationRequest, ModelInfo
from fallback.errors import BackendConnectionError
from fallback.loop.progress import ToolEnded, ToolStarted
from fallback.parsing.events import CallReady


class Writing:
    """A model that writes piece by piece; a piece that is a function is called in its place."""

    def __init__(self, *pieces: str | Callable[[], Any], answer: str = "Done.") -> None:
        self.pieces, self.answer = pieces, answer
        self.requests: list[GenerationRequest] = []

    def describe(self, model: str) -> ModelInfo:
        return ModelInfo(name=model, capabilities=frozenset({"completion"}))

    async def adescribe(self, model: str) -> ModelInfo:
        return self.describe(model)

    def stream(self, request: GenerationRequest) -> Generator[Chunk]:
        self.requests.append(request)
        first = len(self.requests) == 1
        for piece in self.pieces if first else (self.answer,):
            if isinstance(piece, str):
                yield Chunk(text=piece)
            else:
                piece()
        yield Chunk(done=True)

    async def astream(self, request: GenerationRequest) -> AsyncGenerator[Chunk]:
        self.requests.append(request)
        first = len(self.requests) == 1
        for piece in self.pieces if first else (self.answer,):
            if isinstance(piece, str):
                yield Chunk(text=piece)
            else:
                await asyncio.to_thread(piece)
        yield Chunk(done=True)


Run = Callable[..., Turn]


def blocking(backend: Any, *tools: Any, **settings: Any) -> Turn:
    return Session("m", tools, backend=backend, eager=True, **settings).run("Go?")


def awaiting(backend: Any, *tools: Any, **settings: Any) -> Turn:
    session = AsyncSession("m", tools, backend=backend, eager=True, **settings)
    return asyncio.run(session.run("Go?"))


RUNNERS = pytest.mark.parametrize("run", [blocking, awaiting])


def one(name: str, n: int) -> str:
    """A call that is known to be whole with its last character."""
    call = calls(name, f'{{"n": {n}}}')
    return f"<tool_call>{call}</tool_call>\n"


class Tools:
    """A tool that says when it has begun, and waits for leave to end."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.leave = threading.Event()
        self.seen: list[int] = []

    def fetch(self, n: int) -> int:
        """Fetch."""
        self.seen.append(n)
        self.begun.set()
        assert self.leave.wait(20)
        return n * n

    def has_begun(self) -> None:
        assert self.begun.wait(20)
        self.leave.set()

    def has_not_begun(self) -> None:
        assert not self.begun.wait(0.02)
        self.leave.set()


@RUNNERS
def test_a_reading_call_begins_before_the_reply_is_over(run: Run) -> None:
    tools = Tools()
    backend = Writing(one("fetch", 1), tools.has_begun, one("fetch", 2))
    turn = run(backend, Tool.from_function(tools.fetch, risk=Risk.READ_ONLY))
    assert [r.value for r in turn.steps[0].results] == [1, 4]
    assert [r.call_id for r in turn.steps[0].results] == [c.id for c in turn.steps[0].calls]
    assert turn.answer == "Done."


@RUNNERS
@pytest.mark.parametrize("risk", [None, Risk.REVERSIBLE_WRITE])
def test_other_calls_wait_for_the_end_of_the_reply(run: Run, risk: Risk | None) -> None:
    tools = Tools()
    backend = Writing(one("fetch", 1), tools.has_not_begun, one("fetch", 2))
    policy = Policy(reversible_write="run")
    turn = run(backend, Tool.from_function(tools.fetch, risk=risk), policy=policy)
    assert [r.value for r in turn.steps[0].results] == [1, 4]


@RUNNERS
def test_nothing_begins_that_a_hook_has_to_authorise(run: Run) -> None:
    tools = Tools()
    backend = Writing(one("fetch", 1), tools.has_not_begun)
    policy = Policy(authorise=[lambda tool, arguments, context: True])
    turn = run(backend, Tool.from_function(tools.fetch, risk=Risk.READ_ONLY), policy=policy)
    assert turn.steps[0].results[0].value == 1


@RUNNERS
def test_the_same_call_twice_begins_once(run: Run) -> None:
    tools = Tools()
    backend = Writing(one("fetch", 1), tools.has_begun, one("fetch", 1))
    turn = run(backend, Tool.from_function(tools.fetch, risk=Risk.READ_ONLY))
    assert tools.seen == [1]
    assert [r.value for r in turn.steps[0].results] == [1, 1]
    assert turn.tools_used == ("fetch",)


@RUNNERS
def test_its_beginning_is_told_once_and_at_once(run: Run) -> None:
    tools = Tools()
    told: list[Any] = []
    backend = Writing(one("fetch", 1), tools.has_begun, one("fetch", 2))
    run(
        backend,
        Tool.from_function(tools.fetch, risk=Risk.READ_ONLY),
        on_event=told.append,
    )
    kinds = [type(e) for e in told if isinstance(e, CallReady | ToolStarted | ToolEnded)]
    assert kinds[:2] == [CallReady, ToolStarted]
    assert kinds.count(ToolStarted) == kinds.count(ToolEnded) == 2


@RUNNERS
def test_a_reply_that_breaks_off_ends_what_it_had_begun(run: Run) -> None:
    tools = Tools()

    def broken() -> None:
        assert tools.begun.wait(20)
        raise BackendConnectionError("gone")

    backend = Writing(one("fetch", 1), broken)
    with pytest.raises(BackendConnectionError):
        run(backend, Tool.from_function(tools.fetch, risk=Risk.READ_ONLY))
    tools.leave.set()


@RUNNERS
def test_a_cancelled_turn_does_not_wait_for_what_has_begun(run: Run) -> None:
    tools = Tools()
    kind: Any = Session if run is blocking else AsyncSession
    sessions: list[Any] = []

    def cancelled() -> None:
        assert tools.begun.wait(20)
        sessions[0].cancel()

    backend = Writing(one("fetch", 1), cancelled, "More.")
    tool = Tool.from_function(tools.fetch, risk=Risk.READ_ONLY)
    sessions.append(kind("m", [tool], backend=backend, eager=True))
    ran = sessions[0].run("Go?")
    turn = ran if isinstance(ran, Turn) else asyncio.run(ran)
    tools.leave.set()
    assert turn.stop_reason == "cancelled"


@RUNNERS
def test_a_call_that_failed_early_is_reported_like_any_other(run: Run) -> None:
    begun = threading.Event()

    def fetch(n: int) -> int:
        """Fetch."""
        begun.set()
        raise ValueError(f"no {n}")

    backend = Writing(one("fetch", 1), lambda: begun.wait(20), one("fetch", 2))
    turn = run(backend, Tool.from_function(fetch, risk=Risk.READ_ONLY))
    assert [r.status for r in turn.steps[0].results] == ["error", "error"]
    assert "no 1" in turn.steps[0].results[0].content


def test_a_block_is_whole_when_the_next_one_begins() -> None:
    tools = Tools()
    first, second = block(calls("fetch", '{"n": 1}')), block(calls("fetch", '{"n": 2}'))
    backend = Writing(f"{first}\n\n{second[:5]}", tools.has_begun, second[5:])
    turn = blocking(backend, Tool.from_function(tools.fetch, risk=Risk.READ_ONLY))
    assert [r.value for r in turn.steps[0].results] == [1, 4]


def test_without_the_option_nothing_begins_early() -> None:
    tools = Tools()
    backend = Writing(one("fetch", 1), tools.has_not_begun, one("fetch", 2))
    tool = Tool.from_function(tools.fetch, risk=Risk.READ_ONLY)
    turn = Session("m", [tool], backend=backend).run("Go?")
    assert [r.value for r in turn.steps[0].results] == [1, 4]


@RUNNERS
def test_what_has_begun_stands_on_the_step(run: Run) -> None:
    tools = Tools()
    backend = Writing(one("fetch", 1), tools.has_begun)
    turn = run(backend, Tool.from_function(tools.fetch, risk=Risk.READ_ONLY))
    assert "begun while the reply was written: fetch" in turn.steps[0].notes


@RUNNERS
def test_nothing_begins_where_only_one_call_counts(run: Run) -> None:
    tools = Tools()
    backend = Writing(one("fetch", 1), tools.has_not_begun, one("fetch", 2))
    tool = Tool.from_function(tools.fetch, risk=Risk.READ_ONLY)
    turn = run(backend, tool, parallel_tool_calls=False)
    assert tools.seen == [1]
    assert [r.status for r in turn.steps[0].results] == ["ok", "denied"]


@RUNNERS
def test_nothing_begins_once_tools_are_withdrawn(run: Run) -> None:
    tools = Tools()
    tools.leave.set()
    limits = Limits(max_calls_per_turn=1)
    backend = Writing(one("fetch", 1) + one("fetch", 2), answer=one("fetch", 3))
    tool = Tool.from_function(tools.fetch, risk=Risk.READ_ONLY)
    turn = run(backend, tool, limits=limits)
    assert tools.seen == [1]
    assert turn.stop_reason == "max_calls"
