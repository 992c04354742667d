"""For tests of the command line: a server on a loopback port that says what it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOO_LONG = (
    "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"
)


class _Ollama(BaseHTTPRequestHandler):
    """A real server on a loopback port that says what it is told: Ollama's wire, one model."""

    replies: list[str]
    seen: list[dict[str, Any]]
    asked: threading.Event
    hang: threading.Event
    capabilities: tuple[str, ...] = ("completion",)

    def do_GET(self) -> None:
        body = {
            "/api/version": {"version": "0.13.0"},
            "/api/tags": {"models": [{"name": "tiny:latest", "digest": "d1"}]},
            "/api/ps": {"models": []},
        }.get(self.path)
        self._send(200 if body else 404, [body or {"error": "404 page not found"}])

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/show":
            if request.get("model") not in ("tiny", "tiny:latest"):
                return self._send(404, [{"error": f"model '{request['model']}' not found"}])
            template = "{{ .System }}<|im_start|>user\n{{ .Prompt }}<|im_end|>"
            info = {"general.architecture": "qwen2", "qwen2.context_length": 4096}
            shown = {"template": template, "capabilities": self.capabilities, "model_info": info}
            return self._send(200, [shown])
        self.seen.append(request)
        self.asked.set()
        text = self.replies.pop(0) if self.replies else ""
        if text == "<too long>":
            return self._send(400, [{"error": TOO_LONG}])
        if text == "<hang>":
            self._send(200, [{"response": "half a sen", "done": False}], end=False)
            self.hang.wait(60)
            return None
        last = {"response": "", "done": True, "done_reason": "stop", "prompt_eval_count": 7}
        return self._send(200, [{"response": text, "done": False}, {**last, "eval_count": 5}])

    def _send(self, status: int, lines: list[dict[str, Any]], *, end: bool = True) -> None:
        body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        self.send_response(status)
        if end:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """The test's output is its own."""


@contextmanager
def ollama(*replies: str) -> Iterator[tuple[str, type[_Ollama]]]:
    handler = type(
        "Scripted",
        (_Ollama,),
        {
            "replies": list(replies),
            "seen": [],
            "asked": threading.Event(),
            "hang": threading.Event(),
        },
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler
    finally:
        handler.hang.set()
        server.shutdown()
        server.server_close()
        thread.join()
