"""llama.cpp in this process: loads one model and talks to it in llama.cpp's own words.

xllamacpp runs llama.cpp's complete server in a thread and always opens its listener on a free
loopback port. That listener is the one interface that offers everything needed here: tokenising,
templates, streaming that reports its errors before its first byte, and a generation that ends when
its connection does. So it is used, and locked with a random key that never leaves this object.

Source of the endpoints and fields: llama.cpp, ``tools/server/README.md``.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import secrets
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from fallback.engine.cancel import Cancellation
from fallback.engine.prefix import BLOCK, PrefixMemory
from fallback.engine.signals import handlers_kept
from fallback.errors import EngineError

_SILENT = -1
_EVENT = b"data: "
_DONE = b"[DONE]"

Endpoint = Literal["/completion", "/v1/chat/completions"]


class LlamaError(Exception):
    """llama.cpp refused a request.

    Attributes:
        status: its HTTP status.
        body: its ``error`` object, with ``code``, ``message`` and ``type``.
    """

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(str(body.get("message", "")))
        self.status, self.body = status, dict(body)


class LlamaDiedError(Exception):
    """llama.cpp ended the connection before it had answered."""


class LlamaServer:
    """One loaded model. Every method may be called from any thread."""

    def __init__(self, path: Path, *, num_ctx: int, threads: int) -> None:
        """Load ``path`` with a window of ``num_ctx`` tokens; raises :class:`EngineError`.

        ``threads`` is how many work on one token, -1 leaves it to llama.cpp.
        """
        try:
            import xllamacpp
        except ImportError as error:
            raise EngineError(
                "the embedded engine is not installed;"
                " run `pip install 'toolcall-fallback[embedded]'`"
            ) from error
        self._key = secrets.token_urlsafe(24)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = num_ctx
        params.n_batch = params.n_ubatch = BLOCK
        params.n_parallel = 1
        params.ctx_shift = True
        params.fit_params = False  # would change the window behind our back
        params.warmup = False
        # One prompt in memory, no copies of older ones: `PrefixMemory` has to know what is there.
        params.cache_ram_mib = params.n_ctx_checkpoints = 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        # Flash attention splits its sums among the threads: a reply would depend on their number.
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.verbosity = _SILENT
        params.api_keys = [self._key]
        params.cors_origins = ""
        params.ui = params.endpoint_slots = params.endpoint_props = False
        with handlers_kept():
            try:
                self._server = xllamacpp.Server(params)
            except RuntimeError as error:
                raise EngineError(
                    f"llama.cpp cannot load {path.name}: not a model it knows, a broken file,"
                    " or not enough memory"
                ) from error
        host, _, port = self._server.listening_address.removeprefix("http://").rpartition(":")
        self._address = (host, int(port))
        self._memory = PrefixMemory()
        self._num_ctx = num_ctx

    def close(self) -> None:
        """Unload the model and give its memory back; running generations end."""
        self._server = None

    def tokenize(self, text: str, *, add_special: bool = True) -> tuple[int, ...]:
        """Tokens of ``text``; control tokens in it are read as such, BOS as the model wants it."""
        body = {"content": text, "add_special": add_special, "parse_special": True}
        return tuple(self._call("/tokenize", body)["tokens"])

    def detokenize(self, ids: Sequence[int]) -> str:
        """The text of ``ids``."""
        return str(self._call("/detokenize", {"tokens": list(ids)})["content"])

    def apply_template(self, body: Mapping[str, Any]) -> str:
        """The prompt that the model's own template makes of a chat request."""
        return str(self._call("/apply-template", body)["prompt"])

    def stream(
        self,
        endpoint: Endpoint,
        body: Mapping[str, Any],
        ids: Sequence[int],
        cancellation: Cancellation,
    ) -> Iterator[dict[str, Any]]:
        """Generate; yields llama.cpp's events as they come. One generation at a time.

        ``ids`` are the tokens of the prompt that ``body`` describes. A refusal is raised by the
        first ``next()``, as :class:`LlamaError`; later, ``CancelledError`` or
        :class:`LlamaDiedError`.
        """
        reuse = self._memory.plan(ids)
        self._memory.forget()
        if reuse.cut and reuse.keep:
            self._cut(ids, reuse.keep, cancellation)
        settings = {"stream": True, "cache_prompt": reuse.keep > 0 or not reuse.cut}
        # When the window is full its beginning is shifted out, and what is in memory is a riddle.
        shifts = len(ids) + body["n_predict"] > self._num_ctx
        for event in self._events(endpoint, {**body, **settings}, cancellation):
            written = event.get("timings", {}).get("predicted_n", self._num_ctx)
            if not shifts or len(ids) + written < self._num_ctx:
                self._memory.remember(ids)
            yield event

    def _cut(self, ids: Sequence[int], keep: int, cancellation: Cancellation) -> None:
        """Shorten what is in memory to the first ``keep`` tokens of ``ids``.

        llama.cpp has no call for that, so it is given a prompt that differs after them; evaluating
        its one other token costs as much as generating one.
        """
        body = {
            "prompt": [*ids[:keep], 0 if ids[keep] != 0 else 1],
            "n_predict": 0,
            "stream": True,
            "cache_prompt": True,
        }
        for _ in self._events("/completion", body, cancellation):
            pass

    def _events(
        self, endpoint: Endpoint, body: Mapping[str, Any], cancellation: Cancellation
    ) -> Iterator[dict[str, Any]]:
        connection = self._connect()
        cancellation.on_cancel(lambda: _hang_up(connection))
        try:
            response = self._request(connection, endpoint, body, cancellation)
            while line := response.readline():
                if not line.startswith(_EVENT):
                    continue
                data = line[len(_EVENT) :].strip()
                if data == _DONE:
                    return
                event = json.loads(data)
                if "error" in event:
                    raise LlamaError(200, event["error"])
                yield event
            cancellation.check()
        except (OSError, http.client.HTTPException, ValueError) as error:
            # `ValueError`: a line that was cut when the connection ended.
            cancellation.check()
            raise LlamaDiedError(str(error)) from error
        finally:
            connection.close()

    def _call(self, path: str, body: Mapping[str, Any]) -> Any:
        connection = self._connect()
        try:
            return json.loads(self._request(connection, path, body, Cancellation()).read())
        except (OSError, http.client.HTTPException) as error:
            raise LlamaDiedError(str(error)) from error
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(*self._address)
        try:
            connection.connect()
        except OSError as error:
            raise LlamaDiedError(str(error)) from error
        return connection

    def _request(
        self,
        connection: http.client.HTTPConnection,
        path: str,
        body: Mapping[str, Any],
        cancellation: Cancellation,
    ) -> http.client.HTTPResponse:
        cancellation.check()
        # A lone surrogate is not text; llama.cpp would refuse the whole request over it.
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        connection.request("POST", path, data, headers)
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise LlamaError(response.status, _error_object(response.read()))
        return response


def _error_object(data: bytes) -> dict[str, Any]:
    try:
        error = json.loads(data)["error"]
    except (ValueError, KeyError, TypeError):
        error = None
    if isinstance(error, dict):
        return error
    text = data.decode("utf-8", "replace")[:500]
    return {"code": 500, "message": text, "type": "server_error"}


def _hang_up(connection: http.client.HTTPConnection) -> None:
    """End the connection under a thread that reads from it; llama.cpp then stops generating."""
    if (sock := connection.sock) is not None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
