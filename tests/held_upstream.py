"""A model server that begins to answer and waits, until it is let go on or its client leaves."""

from __future__ import annotations

import json
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Held:
    """``asked``: it has begun; ``go_on``: the test lets it; ``gone``: the client has left."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked, self.go_on, self.gone = (threading.Event() for _ in range(3))


class _Handler(BaseHTTPRequestHandler):
    held: Held

    def do_GET(self) -> None:
        self._whole({"version": "0.33.0"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/api/show":
            template = "{{ .System }}<|im_start|>user\n{{ .Prompt }}<|im_end|>"
            return self._whole({"template": template, "capabilities": ["completion"]})
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        self._line({"response": "Once", "done": False})
        self.held.asked.set()
        while not self.held.go_on.wait(0.01):
            if select.select([self.connection], [], [], 0)[
                0
            ]:  # only a client that leaves says more
                return self.held.gone.set()
        self._line({"response": " upon a time.", "done": False})
        return self._line({"response": "", "done": True, "done_reason": "stop"})

    def _line(self, told: dict[str, Any]) -> None:
        self.wfile.write(json.dumps(told).encode() + b"\n")

    def _whole(self, told: dict[str, Any]) -> None:
        self.send_response(200)
        self.end_headers()
        self._line(told)

    def log_message(self, *_: object) -> None:
        """The test's output is its own."""


@contextmanager
def held() -> Iterator[Held]:
    """Start one; whatever still waits is let go at the end."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    handler.held = upstream = Held(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield upstream
    finally:
        upstream.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
