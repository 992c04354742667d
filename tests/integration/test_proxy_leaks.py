"""Whatever goes wrong on either side, every client can parse its answer, and nothing is left over.

The adapter, its upstream and its clients share one event loop, so that every task and every socket
that is left can be counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from faulty_upstream import FAULTS, faulty_upstream
from proxy_servers import serving
from serving_child import serving_child

from fallback.limits import Limits
from fallback.proxy import create_app, protocol
from fallback.proxy.gateway import Gateway
from fallback.proxy.settings import Settings

WIRES = ("/api/chat", "/v1/chat/completions", "/v1/messages", "/v1/responses")
LAST = {
    "/v1/messages": {"message_stop", "error"},
    "/v1/responses": {"response.completed", "response.failed", "error"},
}
ROUNDS = 3
SHOWN_FDS = Path("/proc/self/fd")


def body(path: str, model: str, *, stream: bool, text: str = "Where is Paris?") -> dict[str, Any]:
    question = [{"role": "user", "content": text}]
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    function = {"name": "add", "description": "Add.", "parameters": schema}
    tool: dict[str, Any] = {"type": "function", "function": function}
    if path == "/v1/messages":
        tool = {"name": "add", "input_schema": schema}
    elif path == "/v1/responses":
        tool = {"type": "function", **function}
    asked = "input" if path == "/v1/responses" else "messages"
    return {"model": model, "stream": stream, "max_tokens": 50, "tools": [tool], asked: question}


def assert_readable(path: str, response: httpx.Response, stream: bool) -> None:
    """As strictly as a client reads: JSON, or a stream that says that it is over."""
    if not stream or response.status_code != 200:
        assert isinstance(response.json(), dict)
        assert response.status_code < 500 or "error" in response.json()
        return
    lines = [line for line in response.text.splitlines() if line]
    if path == "/api/chat":
        told = [json.loads(line) for line in lines]
        assert told[-1].get("done") is True or "error" in told[-1]
        assert not any(line.get("done") for line in told[:-1])
        return
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    if path == "/v1/chat/completions":
        assert data.pop() == "[DONE]" or "error" in json.loads(data[-1])
    events = [json.loads(line) for line in data]
    if path in LAST:
        assert events[-1]["type"] in LAST[path]


class Here:
    """The adapter in this event loop."""

    def __init__(self, url: str, gateway: Gateway, upstream: str) -> None:
        self.url, self.gateway, self.upstream = url, gateway, upstream

    async def ask(self, client: httpx.AsyncClient, path: str, model: str, *, stream: bool) -> None:
        told = body(path, model, stream=stream)
        assert_readable(path, await client.post(self.url + path, json=told), stream)


@contextlib.asynccontextmanager
async def here(**settings: Any) -> AsyncIterator[Here]:
    limits = Limits(read_seconds=0.3, connect_seconds=1.0)
    async with faulty_upstream() as upstream:
        told = Settings(upstream=upstream, grace_seconds=0.05, silence_seconds=0.1, **settings)
        gateway = Gateway(told, limits=limits)
        config = uvicorn.Config(
            create_app(gateway=gateway),
            log_level="critical",
            access_log=False,
            http=protocol.TimedProtocol,
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            # Small, so that a client that does not read is noticed soon; its sockets inherit it.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            async with client() as probe:
                await probe.get(f"{url}/healthz")
            try:
                yield Here(url, gateway, upstream)
            finally:
                server.should_exit = True
                await serving


def client() -> httpx.AsyncClient:
    return httpx.AsyncClient(trust_env=False, timeout=20)


def sockets() -> int:
    """Sockets that this process has open; -1 where the system does not show them."""
    if not SHOWN_FDS.exists():
        return -1
    count = 0
    for entry in SHOWN_FDS.iterdir():
        with contextlib.suppress(OSError):  # the one of this listing has gone already
            count += str(entry.readlink()).startswith("socket:")
    return count


async def settled(reached: Callable[[], bool]) -> bool:
    """Whether a state is reached; the loop is given every chance to get there."""
    for _ in range(400):
        if reached():
            return True
        await asyncio.sleep(0.01)
    return reached()


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run in a new loop; at its end no task is left but the test itself."""

    async def main() -> None:
        before = sockets()
        await test()
        alone = await settled(lambda: asyncio.all_tasks() == {asyncio.current_task()})
        assert alone, asyncio.all_tasks()
        assert await settled(lambda: sockets() <= before), (before, sockets())

    asyncio.run(main())


@pytest.mark.parametrize("path", WIRES)
def test_every_fault_of_the_upstream_is_told_in_the_client_s_words(path: str) -> None:
    async def test() -> None:
        async with here() as server, client() as asking:
            asks = (
                server.ask(asking, path, fault, stream=stream)
                for fault in (*FAULTS, "well")
                for stream in (False, True)
            )
            await asyncio.gather(*asks)

    run(test)


def test_faults_leave_no_task_no_socket_and_no_memory_behind() -> None:
    async def test() -> None:
        async with here() as server:

            async def once() -> None:
                async with client() as asking:
                    asks = (
                        server.ask(asking, path, fault, stream=stream)
                        for path in WIRES
                        for fault in ("reset", "ends", "garbage", "malformed", "nothing", "well")
                        for stream in (False, True)
                    )
                    await asyncio.gather(*asks)

            await once()  # fills caches and the pool
            base = len(asyncio.all_tasks()), sockets()
            kept = []
            for _ in range(ROUNDS):
                held = objects()
                await once()
                assert await settled(lambda: len(asyncio.all_tasks()) <= base[0])
                assert await settled(lambda: sockets() <= base[1])
                kept.append(objects() - held)
            # Less than one for each answer, in one of the rounds: what leaks does so in all of
            # them, and what is loaded late, once.
            assert min(kept) < len(WIRES) * 12, kept

    run(test)


def objects() -> int:
    """Containers that Python holds: everything that could hold something else."""
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.parametrize("model", ["mute", "stalls", "well"])
def test_clients_that_vanish_leave_nothing_behind(model: str) -> None:
    async def test() -> None:
        async with here() as server:
            base = len(asyncio.all_tasks())
            for path in WIRES:
                told = json.dumps(body(path, model, stream=True)).encode()
                for sent, hard in ((told, False), (told, True), (told[:20], True)):
                    _, writer = await asyncio.open_connection(*address(server.url))
                    writer.write(request(path, len(told)) + sent)
                    await writer.drain()
                    if hard:
                        writer.transport.abort()
                    writer.close()
            assert await settled(lambda: len(asyncio.all_tasks()) <= base)

    run(test)


def address(url: str) -> tuple[str, int]:
    return "127.0.0.1", int(url.rpartition(":")[2])


def request(path: str, length: int) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n".encode()


def test_a_client_that_never_reads_does_not_keep_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "UNREAD_SECONDS", 0.2)

    async def test() -> None:
        async with here() as server:
            told = json.dumps(body("/api/chat", "flood", stream=True)).encode()
            with socket.socket() as deaf:
                deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                deaf.connect(address(server.url))
                deaf.sendall(request("/api/chat", len(told)) + told)
                gate = server.gateway._gate
                assert await settled(lambda: gate.running == 1)
                assert await settled(lambda: gate.running == 0)

    run(test)


def test_a_client_that_dawdles_over_its_second_request_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.2)

    async def test() -> None:
        async with here() as server:
            reader, writer = await asyncio.open_connection(*address(server.url))
            head = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            writer.write(head + b"\r\n")
            assert b'"ok"' in await reader.readuntil(b"}")
            writer.write(head)  # and never the empty line
            assert await reader.read() == b""
            writer.close()

    run(test)


@pytest.mark.parametrize("path", WIRES[:3:2])
def test_a_request_of_ten_megabytes_is_answered(path: str) -> None:
    async def test() -> None:
        async with here(max_body=20_000_000) as server, client() as asking:
            long = body(path, "well", stream=False, text="Paris, " * 1_500_000)
            assert_readable(path, await asking.post(server.url + path, json=long), stream=False)
            less = body(path, "well", stream=False, text="Paris, " * 3_000_000)
            reply = await asking.post(server.url + path, json=less)
            assert reply.status_code == 413
            assert_readable(path, reply, stream=False)

    run(test)


def test_an_upstream_that_is_killed_in_the_middle_is_told(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    said = {"replies": ["Paris is the capital. " * 50], "pause": 0.05}
    script.write_text(json.dumps({"m": said}), encoding="utf-8")
    command = [sys.executable, "-m", "fallback.testing.scripted_server", str(script)]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with serving_child(command, env=environ) as (upstream, process):
        settings = Settings(upstream=upstream, grace_seconds=0.05)
        with serving(create_app(settings)) as url:
            told = asyncio.run(_heard_until_killed(url, process))
    for path, text in told.items():
        assert "Paris" in text
        assert_readable(path, httpx.Response(200, text=text), stream=True)
        assert "error" in text


async def _heard_until_killed(url: str, process: subprocess.Popen[str]) -> dict[str, str]:
    """What each wire's client hears when the upstream dies once all of them are in the text."""
    told = dict.fromkeys(WIRES, "")

    async def one(asking: httpx.AsyncClient, path: str) -> None:
        asked = body(path, "m", stream=True)
        async with asking.stream("POST", url + path, json=asked) as response:
            async for piece in response.aiter_text():
                told[path] += piece
                if all("Paris" in text for text in told.values()):
                    process.kill()

    async with client() as asking:
        await asyncio.gather(*(one(asking, path) for path in WIRES))
    return told
