"""A server that speaks Ollama's wire as a script tells it to, and the real embedded engine."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import pytest
import uvicorn

from fallback.backend import Chunk, GenerationRequest, ModelInfo
from fallback.engine.core import Engine
from fallback.engine.models import pull
from fallback.engine.serve import create_app
from fallback.ollama import OllamaBackend

CHATML = "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}"


@dataclass
class Reply:
    """One scripted answer.

    Attributes:
        pieces: sent one by one, each in a write of its own; an event is waited for.
        whole: whether the body ends as HTTP wants it; otherwise the connection just breaks off.
    """

    pieces: Iterable[bytes | threading.Event]
    status: int = 200
    whole: bool = True
    headers: dict[str, str] = field(default_factory=dict)


class ScriptedOllama:
    """The server. Each path has a queue of replies; the last of them is given for ever."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.client_left = threading.Event()
        """Set when a client has gone away before its reply was over."""
        self._script: dict[str, deque[Reply]] = {}
        handler = type("Handler", (_Handler,), {"ollama": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def streams(self, path: str, *records: Any) -> None:
        """Answer with NDJSON, a line a write."""
        self.sends(path, *(json.dumps(record).encode() + b"\n" for record in records))

    def sends(self, path: str, *pieces: bytes | threading.Event, **more: Any) -> None:
        """Answer with these bytes, in these pieces."""
        self._script.setdefault(path, deque()).append(Reply(pieces, **more))

    def repeats(self, path: str, piece: bytes) -> None:
        """Answer without end."""
        self._script[path] = deque([Reply(itertools.repeat(piece))])

    def answers(self, path: str, value: Any, status: int = 200) -> None:
        """Answer with one JSON document."""
        self.sends(path, json.dumps(value).encode(), status=status)

    def forget(self, path: str) -> None:
        """Begin a new script for a path."""
        self._script.pop(path, None)

    def has_model(
        self,
        template: str = CHATML,
        *,
        capabilities: Iterable[str] | None = ("completion",),
        digest: str = "d1",
        version: str = "0.33.0",
        **shown: Any,
    ) -> None:
        """Have one model, ``m``, of which ``/api/show`` says this."""
        for path in ("/api/version", "/api/tags", "/api/show"):
            self.forget(path)
        self.answers("/api/version", {"version": version})
        listed = [{"name": "m:latest", "model": "m:latest", "digest": digest}]
        self.answers("/api/tags", {"models": listed})
        model = {"template": template, "model_info": {"general.architecture": "x"}, **shown}
        if capabilities is not None:
            model["capabilities"] = list(capabilities)
        self.answers("/api/show", model)

    def asked(self, path: str) -> list[dict[str, Any]]:
        """The bodies of the requests to one path."""
        return [body for where, body in self.requests if where == path]

    def next_reply(self, path: str) -> Reply:
        queue = self._script.get(path)
        if not queue:
            return Reply([b"404 page not found"], 404)
        return queue.popleft() if len(queue) > 1 else queue[0]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    ollama: ScriptedOllama

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(json.loads(data) if data else {})

    def _answer(self, body: dict[str, Any]) -> None:
        self.ollama.requests.append((self.path, body))
        reply = self.ollama.next_reply(self.path)
        self.send_response(reply.status)
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for piece in reply.pieces:
                if isinstance(piece, threading.Event):
                    piece.wait(20)
                elif piece:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if reply.whole:
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = not reply.whole
        except OSError:
            self.ollama.client_left.set()
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def ollama() -> Iterator[ScriptedOllama]:
    server = ScriptedOllama()
    yield server
    server.close()


class Blocking:
    """The same questions to a backend for both ways of asking."""

    def stream(self, backend: OllamaBackend, request: GenerationRequest) -> list[Chunk]:
        return list(backend.stream(request))

    def describe(self, backend: OllamaBackend, model: str = "m") -> ModelInfo:
        return backend.describe(model)

    def first(self, backend: OllamaBackend, request: GenerationRequest) -> Chunk:
        """Take one chunk and leave."""
        with closing(backend.stream(request)) as chunks:
            return next(chunks)


class Asynchronous:
    def stream(self, backend: OllamaBackend, request: GenerationRequest) -> list[Chunk]:
        async def main() -> list[Chunk]:
            try:
                return [chunk async for chunk in backend.astream(request)]
            finally:
                await backend.aclose()  # its connections belong to this event loop

        return anyio.run(main)

    def describe(self, backend: OllamaBackend, model: str = "m") -> ModelInfo:
        async def main() -> ModelInfo:
            try:
                return await backend.adescribe(model)
            finally:
                await backend.aclose()

        return anyio.run(main)

    def first(self, backend: OllamaBackend, request: GenerationRequest) -> Chunk:
        async def main() -> Chunk:
            async with aclosing(backend.astream(request)) as chunks:
                found = await anext(chunks)
            await backend.aclose()
            return found

        return anyio.run(main)


@pytest.fixture(params=[Blocking, Asynchronous])
def way(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.fixture
def backend(ollama: Any) -> Iterator[OllamaBackend]:
    made = OllamaBackend(ollama.url)
    yield made
    made.close()


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """An engine in this process with both small models on disk; fetches them if they are not."""
    for name in ("smollm2:135m", "qwen2.5-coder:0.5b"):
        pull(name)
    with Engine() as made:
        yield made


@pytest.fixture(scope="session")
def engine_url(engine: Engine) -> Iterator[str]:
    """The same engine, served over HTTP on a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(create_app(engine), log_level="error", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()
