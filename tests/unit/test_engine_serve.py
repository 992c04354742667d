"""The served engine's door: who may come in, what it costs to ask; none of it needs a model."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from starlette.types import Message

from fallback.engine import serve
from fallback.engine.core import Engine
from fallback.engine.guard import host_allowed, is_loopback, origin_allowed
from fallback.engine.registry import Registry
from fallback.engine.store import Store
from fallback.errors import EngineError


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(Store(tmp_path, registry=Registry([])), local_files=False)


def client(engine: Engine, *, check_host: bool = True) -> httpx.AsyncClient:
    app = serve.create_app(engine, check_host=check_host)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:11434")


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost:11434", True),
        ("127.0.0.1", True),
        ("[::1]:11434", True),
        ("192.168.1.7:11434", True),
        ("printer.local", True),
        ("my.internal:80", True),
        ("a.localhost", True),
        ("", True),
        ("evil.example", False),
        ("evil.example:11434", False),
        ("localhost.evil.example", False),
        ("8.8.8.8", False),
        ("[::1", False),
    ],
)
def test_a_host_must_be_this_machine_or_its_network(host: str, allowed: bool) -> None:
    assert host_allowed(host) is allowed


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("", True),
        ("http://localhost", True),
        ("http://localhost:3000", True),
        ("https://127.0.0.1:8443", True),
        ("app://obsidian.md", True),
        ("file://", True),
        ("tauri://localhost", True),
        ("vscode-webview://x", True),
        ("http://gateway:11434", True),
        ("http://evil.example", False),
        ("https://localhost.evil.example", False),
        ("null", False),
        ("http://[", False),
    ],
)
def test_a_page_must_come_from_this_machine(origin: str, allowed: bool) -> None:
    assert origin_allowed(origin, "gateway:11434") is allowed


def test_only_loopback_addresses_count_as_private() -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("::")
    assert not is_loopback("example.org")


@pytest.mark.anyio
async def test_a_foreign_host_or_origin_gets_403_and_nothing_else(engine: Engine) -> None:
    async with client(engine) as ollama:
        for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
            response = await ollama.get("/api/version", headers=headers)
            assert (response.status_code, response.content) == (403, b"")


@pytest.mark.anyio
async def test_the_host_is_not_checked_where_others_are_meant_to_come(engine: Engine) -> None:
    async with client(engine, check_host=False) as ollama:
        response = await ollama.get("/", headers={"host": "ai.example"})

    assert response.text == "Ollama is running"


@pytest.mark.anyio
async def test_a_local_page_may_ask_and_may_read_the_answer(engine: Engine) -> None:
    page = {"origin": "http://localhost:3000"}
    asks = {**page, "access-control-request-headers": "x-mine"}
    async with client(engine) as ollama:
        preflight = await ollama.options("/api/chat", headers=asks)
        answer = await ollama.get("/api/version", headers=page)

    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == page["origin"]
    assert preflight.headers["access-control-allow-headers"] == "x-mine"
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == page["origin"]


@pytest.mark.anyio
async def test_a_program_is_answered_without_headers_for_pages(engine: Engine) -> None:
    async with client(engine) as ollama:
        response = await ollama.post("/api/chat", json={"model": "nope"})

    assert response.status_code == 404
    assert response.json() == {"error": "model 'nope' not found"}
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.anyio
async def test_a_request_that_never_ends_is_cut_off(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "MAX_BODY", 1000)
    read = 0

    async def endless() -> object:
        nonlocal read
        while True:
            read += 1
            yield b"x" * 100

    async with client(engine) as ollama:
        response = await ollama.post("/api/chat", content=endless())

    assert response.status_code == 413
    assert read < 20


@pytest.mark.anyio
async def test_a_client_that_leaves_while_it_sends_is_let_go(engine: Engine) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/chat",
        "headers": [],
        "query_string": b"",
    }
    await serve.create_app(engine)(scope, receive, send)

    assert sent == []


def test_a_port_that_is_taken_is_one_clear_line(engine: Engine) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EngineError, match=f"cannot listen on 127.0.0.1:{port}: .*--port"):
            serve.run(port=port, engine=engine)
