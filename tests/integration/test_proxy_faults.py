"""Many at once, slow ones, and large ones: nothing is mixed up, hangs or falls over."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from proxy_servers import Pair, pair, serving

from fallback.proxy import create_app, protocol
from fallback.proxy.settings import Settings
from fallback.testing import scripted_server
from fallback.testing.scripted_server import Model, Reply

ADD: Any = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {}}}},
}
CLIENTS = 60
MODELS = 6


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    wide = 1_000_000
    models = {
        f"m{i}": Model(replies=[Reply(text=f"word{i} " * 40)], context_length=wide)
        for i in range(MODELS)
    }
    models["silent"] = Model(replies=[Reply(fault="silent")])
    with pair(models, max_body=4_000_000, max_concurrent=100, max_queue=0) as running:
        yield running


def body(number: int, **more: Any) -> dict[str, Any]:
    question = {"role": "user", "content": f"Say {number}"}
    return {"model": f"m{number % MODELS}", "messages": [question], "tools": [ADD], **more}


def test_many_streams_at_once_are_complete_and_none_is_crossed(servers: Pair) -> None:
    async def one(client: httpx.AsyncClient, number: int) -> str:
        url, text = f"{servers.url}/v1/chat/completions", ""
        async with client.stream("POST", url, json=body(number, stream=True)) as response:
            lines = [line async for line in response.aiter_lines() if line]
        assert lines[-1] == "data: [DONE]"
        for line in lines[:-1]:
            (choice,) = json.loads(line.removeprefix("data: "))["choices"]
            text += choice["delta"].get("content", "")
        return text

    async def all_of_them() -> list[str]:
        limits = httpx.Limits(max_connections=CLIENTS)
        async with httpx.AsyncClient(trust_env=False, timeout=60, limits=limits) as client:
            return await asyncio.gather(*(one(client, number) for number in range(CLIENTS)))

    told = asyncio.run(all_of_them())
    assert told == [f"word{number % MODELS} " * 40 for number in range(CLIENTS)]
    assert servers.seen()["open"] == 0


def test_a_large_request_and_many_tools_are_no_trouble(servers: Pair) -> None:
    tools = [
        {"type": "function", "function": {**ADD["function"], "name": f"tool_{i}"}}
        for i in range(1000)
    ]
    assert servers.post("/v1/chat/completions", body(1, tools=tools)).status_code == 200
    too_many = tools + [{"type": "function", "function": {"name": f"t{i}"}} for i in range(50)]
    reply = servers.post("/v1/chat/completions", body(1, tools=too_many))
    assert reply.status_code == 400
    assert "1024" in reply.json()["error"]["message"]
    long = {"role": "user", "content": "x" * 3_000_000}
    assert servers.post("/v1/chat/completions", body(1, messages=[long])).status_code == 200
    long["content"] *= 2
    assert servers.post("/v1/chat/completions", body(1, messages=[long])).status_code == 413


def connected(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=20)


def test_a_client_that_sends_its_headers_for_ever_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.1)
    app = create_app(Settings(upstream="http://127.0.0.1:9"))
    with serving(app, http=protocol.TimedProtocol) as url:
        with connected(url) as slow:
            slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            assert slow.recv(100) == b""
        assert httpx.get(f"{url}/healthz", trust_env=False).status_code == 200


def test_a_client_that_sends_its_body_for_ever_is_answered(servers: Pair) -> None:
    settings = Settings(upstream=servers.upstream, body_seconds=0.1)
    with serving(create_app(settings)) as url, connected(url) as slow:
        slow.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b'Content-Length: 1000\r\n\r\n{"model":'
        )
        assert b" 408 " in slow.recv(100)


def test_who_asks_too_much_at_once_is_told_when_to_come_back(servers: Pair) -> None:
    settings = Settings(
        upstream=servers.upstream, max_concurrent=1, max_queue=0, grace_seconds=0.01
    )
    with serving(create_app(settings)) as url:
        told = body(0, model="silent", stream=True)
        with httpx.stream(
            "POST", f"{url}/v1/chat/completions", json=told, trust_env=False
        ) as first:
            assert first.status_code == 200
            second = httpx.post(f"{url}/v1/chat/completions", json=body(0), trust_env=False)
            assert second.status_code == 429
            assert int(second.headers["retry-after"]) > 0


def test_an_upstream_that_stops_answering_is_told_and_found_again() -> None:
    models = {"m0": Model(replies=[Reply(text="Hello.")])}
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    settings = Settings(upstream=f"http://127.0.0.1:{port}", upstream_kind="ollama")
    with serving(create_app(settings)) as url:
        gone = httpx.post(f"{url}/v1/chat/completions", json=body(0), trust_env=False)
        assert gone.status_code == 503
        with serving(scripted_server.create_app(models), lifespan="off", port=port):
            back = httpx.post(f"{url}/v1/chat/completions", json=body(0), trust_env=False)
            assert back.json()["choices"][0]["message"]["content"] == "Hello."
