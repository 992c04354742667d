"""A server on this machine for the tests of comparisons and calibrations."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPLY = 'get_weather(city="Oslo")'


class Server:
    """Ollama's wire with one model ``m``, that can be told to die or to wait.

    ``reply`` says what the model answers to a prompt, and ``likeliest``, if the server tells
    log-probabilities, those of the next tokens.
    """

    def __init__(
        self,
        reply: Callable[[str], str] = lambda prompt: REPLY,
        *,
        likeliest: Callable[[str], Mapping[str, float]] | None = None,
    ) -> None:
        self.digest = "d1"
        self.reply = reply
        self.generations = 0
        self.dies_after: int | None = None
        self.waits_after: int | None = None
        self.waiting = threading.Event()
        self.leave = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/api/version":
                    self.answer({"version": "0.33.0"})
                else:
                    model = {"name": "m:latest", "model": "m:latest", "digest": owner.digest}
                    self.answer({"models": [model]})

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                if asked["model"] not in ("m", "m:latest"):
                    self.answer({"error": f"model '{asked['model']}' not found"}, status=404)
                    return
                if self.path == "/api/show":
                    template = "{{ .Messages }}<|im_start|><|im_end|>"
                    self.answer({"template": template, "capabilities": ["completion"]})
                    return
                owner.generations += 1
                if owner.waits_after is not None and owner.generations > owner.waits_after:
                    owner.waiting.set()
                    owner.leave.wait(30)
                if owner.dies_after is not None and owner.generations > owner.dies_after:
                    self.close_connection = True
                    return
                if asked.get("logprobs"):
                    self.answer({"response": "", "done": True, **_told(likeliest, asked["prompt"])})
                    return
                text = owner.reply(asked.get("prompt") or json.dumps(asked.get("messages")))
                if self.path == "/api/chat":
                    said = {"message": {"role": "assistant", "content": text}}
                else:
                    said = {"response": text}
                self.answer({**said, "done": True, "done_reason": "stop"})

            def answer(self, value: Any, status: int = 200) -> None:
                data = json.dumps(value).encode() + b"\n"
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name in the base class
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self._thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.leave.set()
        self.http.shutdown()
        self.http.server_close()


def _told(likeliest: Callable[[str], Mapping[str, float]] | None, prompt: str) -> dict[str, Any]:
    tokens = likeliest(prompt) if likeliest else {}
    entries = [{"token": token, "logprob": logprob} for token, logprob in tokens.items()]
    return {"logprobs": [{**entries[0], "top_logprobs": entries}]} if entries else {}
