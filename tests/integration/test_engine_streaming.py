"""Streaming for real, giving up, and waiting in line: with a model that is still writing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from fallback.engine.cancel import Cancellation
from fallback.engine.core import Engine
from fallback.engine.transport import AsyncEngineTransport, EngineTransport

pytestmark = pytest.mark.engine

SMALL = "smollm2:135m"
SHORT = {"temperature": 0, "num_predict": 4}
# Without an end: ten windows of tokens take longer than any test may.
ENDLESS = {
    "model": SMALL,
    "prompt": "1 2 3 4 5 6 7 8",
    "raw": True,
    "options": {"temperature": 0, "repeat_penalty": 1.0, "num_predict": -1},
}
BRIEF = {**ENDLESS, "options": SHORT, "stream": False}


@pytest.fixture
def client(engine: Engine) -> Iterator[httpx.Client]:
    transport = EngineTransport(engine)
    with httpx.Client(transport=transport, base_url="http://embedded", timeout=120) as client:
        yield client


def ask_in_thread(client: httpx.Client, got: list[Any]) -> threading.Thread:
    def ask() -> None:
        got.append(client.post("/api/generate", json=BRIEF).json())

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_pieces_can_be_read_while_the_model_writes_and_closing_stops_it(
    client: httpx.Client,
) -> None:
    got: list[Any] = []
    with client.stream("POST", "/api/generate", json=ENDLESS) as response:
        lines = response.iter_lines()
        pieces = [json.loads(next(lines)) for _ in range(3)]
        waiting = ask_in_thread(client, got)
        pieces += [json.loads(next(lines)) for _ in range(3)]
        assert got == []  # the one who waits has not had a turn: the model still writes

    waiting.join()
    assert got[0]["eval_count"] == 4
    assert all(not piece["done"] and piece["response"] for piece in pieces)


def test_a_reader_that_stops_reading_does_not_hold_up_the_next(client: httpx.Client) -> None:
    limited = {**ENDLESS, "options": {"temperature": 0, "num_predict": 20}}
    with client.stream("POST", "/api/generate", json=limited) as response:
        lines = response.iter_lines()
        next(lines)
        # In the same thread, inside the loop over the first reply: a nested question.
        nested = client.post("/api/generate", json=BRIEF).json()
        rest = list(lines)

    assert nested["eval_count"] == 4
    assert json.loads(rest[-1])["eval_count"] == 20


def test_giving_up_during_the_prompt_answers_at_once(engine: Engine) -> None:
    cancellation = Cancellation()
    body = {**ENDLESS, "prompt": "word " * 3000, "stream": False}
    threading.Timer(0.2, cancellation.cancel).start()

    reply = engine.handle(
        "POST", "/api/generate", json.dumps(body).encode(), cancellation=cancellation
    )

    assert reply.status == 499
    assert json.loads(reply.read()) == {"error": "request canceled"}
    again = engine.handle("POST", "/api/generate", json.dumps(BRIEF).encode())
    assert json.loads(again.read())["eval_count"] == 4


def test_giving_up_while_waiting_leaves_the_one_before_alone(engine: Engine) -> None:
    first = engine.handle("POST", "/api/generate", json.dumps(ENDLESS).encode())
    next(first.body)
    cancellation, replies = Cancellation(), []

    def wait() -> None:
        body = json.dumps(BRIEF).encode()
        replies.append(engine.handle("POST", "/api/generate", body, cancellation=cancellation))

    waiting = threading.Thread(target=wait)
    waiting.start()
    cancellation.cancel()
    waiting.join()

    assert replies[0].status == 499
    assert b'"done":false' in next(first.body)
    first.close()


def test_silence_is_a_read_timeout(engine: Engine) -> None:
    body = {**ENDLESS, "prompt": "word " * 3000}
    transport = EngineTransport(engine)
    with (
        httpx.Client(transport=transport, base_url="http://e", timeout=0.1) as client,
        pytest.raises(httpx.ReadTimeout),
    ):
        client.post("/api/generate", json=body)


def test_a_full_queue_is_a_503() -> None:
    with Engine(max_waiting=0) as engine:
        first = engine.handle("POST", "/api/generate", json.dumps(ENDLESS).encode())
        second = engine.handle("POST", "/api/generate", json.dumps(BRIEF).encode())
        first.close()

        assert second.status == 503
        assert json.loads(second.read())["error"].startswith("server busy, please try again.")


def test_closing_the_engine_ends_what_is_running_and_what_waits() -> None:
    engine, replies = Engine(), []
    first = engine.handle("POST", "/api/generate", json.dumps(ENDLESS).encode())

    def wait() -> None:
        replies.append(engine.handle("POST", "/api/generate", json.dumps(BRIEF).encode()))

    waiting = threading.Thread(target=wait)
    waiting.start()
    engine.close()
    waiting.join()
    lines = first.read().splitlines()

    assert b'"done":true' not in lines[-1]
    assert replies[0].status in {200, 499}  # 200 if it came only after the engine was closed
    engine.close()


@pytest.mark.anyio
async def test_the_async_client_streams_and_others_run_meanwhile(engine: Engine) -> None:
    transport = AsyncEngineTransport(engine)
    others = anyio.Event()

    async def run_meanwhile() -> None:
        for _ in range(100):
            await anyio.lowlevel.checkpoint()
        others.set()

    async with (
        httpx.AsyncClient(transport=transport, base_url="http://embedded", timeout=120) as client,
        anyio.create_task_group() as group,
    ):
        group.start_soon(run_meanwhile)
        async with client.stream("POST", "/api/generate", json=ENDLESS) as response:
            lines = response.aiter_lines()
            first = json.loads(await anext(lines))
            await others.wait()
            second = json.loads(await anext(lines))
        brief = await client.post("/api/generate", json=BRIEF)

    assert first["response"]
    assert second["response"]
    assert brief.json()["eval_count"] == 4


@pytest.mark.anyio
async def test_a_cancelled_task_frees_the_model(engine: Engine) -> None:
    transport = AsyncEngineTransport(engine)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://embedded", timeout=120
    ) as client:
        with anyio.move_on_after(0.5) as scope:
            await client.post("/api/generate", json={**ENDLESS, "stream": False})
        brief = await client.post("/api/generate", json=BRIEF)

    assert scope.cancelled_caught
    assert brief.json()["eval_count"] == 4
