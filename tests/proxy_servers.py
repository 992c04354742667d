"""The adapter and a scripted upstream, each behind a real socket on this machine."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import uvicorn

from fallback.proxy import create_app
from fallback.proxy.settings import Settings
from fallback.testing import scripted_server
from fallback.testing.scripted_server import Model


@contextlib.contextmanager
def serving(app: Any, *, lifespan: str = "on", http: Any = "auto", port: int = 0) -> Iterator[str]:
    """Serve an application in a thread; gives its address."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        config = uvicorn.Config(
            app, log_level="critical", access_log=False, lifespan=lifespan, http=http
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Pair:
    """The adapter at ``url``, and what its upstream has seen."""

    def __init__(self, url: str, upstream: str) -> None:
        self.url, self.upstream = url, upstream

    def seen(self) -> dict[str, Any]:
        """Everything that the upstream was asked, and how many of its replies were broken off."""
        return dict(httpx.get(f"{self.upstream}/_requests", trust_env=False).json())

    def generations(self) -> list[dict[str, Any]]:
        """The bodies of the requests for text."""
        wanted = ("/api/chat", "/api/generate")
        return [r["body"] for r in self.seen()["requests"] if r["path"] in wanted]

    def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        """One request to the adapter."""
        return httpx.post(self.url + path, json=body, headers=headers, trust_env=False, timeout=20)


@contextlib.contextmanager
def pair(models: Mapping[str, Model], **settings: Any) -> Iterator[Pair]:
    """Start both."""
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(serving(scripted_server.create_app(models), lifespan="off"))
        app = create_app(Settings(upstream=upstream, **settings))
        yield Pair(stack.enter_context(serving(app)), upstream)
