"""What is measured. The client is httpx, which the clients of Ollama and OpenAI use."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import httpx

from benchmarks.proxy.servers import PIECES, VOICES, Server, voice

_SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
_ADD = {"type": "function", "function": {"name": "add", "parameters": _SCHEMA}}


def body(model: str, *, stream: bool = False) -> dict[str, Any]:
    question = {"role": "user", "content": "What is 1 and 2?"}
    return {"model": model, "messages": [question], "tools": [_ADD], "stream": stream}


def direct(told: dict[str, Any]) -> dict[str, Any]:
    """The same without tools, which the models do not take."""
    return {name: value for name, value in told.items() if name != "tools"}


def in_turn(rounds: int, ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median seconds of each way; they take turns, so that the machine treats them alike."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 3):  # the first ones fill caches and open connections
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            if number >= 3:
                took[name].append(time.perf_counter() - started)
    return {name: statistics.median(seconds) for name, seconds in took.items()}


def latency(upstream: Server, adapter: Server, rounds: int) -> dict[str, float]:
    """Seconds of a request that is not streamed, on Ollama's wire."""
    with httpx.Client(trust_env=False, timeout=60) as client:

        def asked(server: Server, told: dict[str, Any]) -> None:
            answer = client.post(f"{server.url}/api/chat", json=told).json()
            assert answer["message"]["content"] == "Paris is the capital of France."

        told = body("text")
        return in_turn(
            rounds,
            {
                "direct": lambda: asked(upstream, direct(told)),
                "adapter": lambda: asked(adapter, told),
            },
        )


def chunk(upstream: Server, adapter: Server, rounds: int) -> dict[str, float]:
    """Seconds of one piece of a streamed answer, on Ollama's wire."""
    with httpx.Client(trust_env=False, timeout=60) as client:

        def asked(server: Server, told: dict[str, Any]) -> None:
            with client.stream("POST", f"{server.url}/api/chat", json=told) as response:
                lines = [json.loads(line) for line in response.iter_lines()]
            assert lines[-1]["done"] is True
            text = "".join(line["message"]["content"] for line in lines)
            assert text.strip() == ("Paris is " * PIECES).strip()

        told = body("long", stream=True)
        took = in_turn(
            rounds,
            {
                "direct": lambda: asked(upstream, direct(told)),
                "adapter": lambda: asked(adapter, told),
            },
        )
    return {name: seconds / PIECES for name, seconds in took.items()}


def streams(adapter: Server, count: int) -> dict[str, int]:
    """Many streams at once: how many are complete, and how many hold what was not for them."""

    async def one(client: httpx.AsyncClient, number: int) -> tuple[bool, bool]:
        told = body(f"v{number % VOICES}", stream=True)
        text, url = "", f"{adapter.url}/v1/chat/completions"
        async with client.stream("POST", url, json=told) as response:
            lines = [line async for line in response.aiter_lines() if line.startswith("data: {")]
        for line in lines:
            for choice in json.loads(line.removeprefix("data: "))["choices"]:
                text += choice["delta"].get("content") or ""
        mine = voice(number % VOICES)
        return text.strip() == mine.strip(), bool(set(text.split()) - set(mine.split()))

    async def all_of_them() -> list[tuple[bool, bool]]:
        limits = httpx.Limits(max_connections=count)
        async with httpx.AsyncClient(trust_env=False, timeout=300, limits=limits) as client:
            return await asyncio.gather(*(one(client, number) for number in range(count)))

    told = asyncio.run(all_of_them())
    complete, crossed = (sum(column) for column in zip(*told, strict=True))
    return {"streams": count, "complete": complete, "crossed": crossed}


def busy(server: Server, requests: int, at_once: int = 8) -> dict[str, float]:
    """Requests for a call that are answered in a second, and the share that came as a call."""
    read = 0

    async def worker(client: httpx.AsyncClient, numbers: Any) -> None:
        nonlocal read
        for _ in numbers:
            url = f"{server.url}/v1/chat/completions"
            answer = (await client.post(url, json=body("call"))).json()
            calls = answer["choices"][0]["message"].get("tool_calls") or []
            read += [call["function"]["name"] for call in calls] == ["add"]

    async def all_of_them() -> float:
        numbers = iter(range(requests))
        headers = {"Authorization": "Bearer sk-none"}
        async with httpx.AsyncClient(trust_env=False, timeout=120, headers=headers) as client:
            started = time.perf_counter()
            await asyncio.gather(*(worker(client, numbers) for _ in range(at_once)))
            return time.perf_counter() - started

    seconds = asyncio.run(all_of_them())
    return {"per_second": requests / seconds, "read": read / requests}


def memory(adapter: Server, first: int, last: int) -> dict[str, float]:
    """Resident bytes after so many requests, and after so many more."""
    busy(adapter, first)
    before = adapter.resident()
    busy(adapter, last - first)
    return {"first": before, "last": adapter.resident()}
