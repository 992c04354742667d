"""The engine: Ollama's API in this process. One method answers everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from fallback.engine.cancel import Cancellation, CancelledError
from fallback.engine.chat import chat
from fallback.engine.generate import generate
from fallback.engine.generation import Job, wire_error
from fallback.engine.gguf import read_gguf
from fallback.engine.llama import LlamaDiedError, LlamaError
from fallback.engine.names import parse_name
from fallback.engine.reply import Reply, WireError, error_reply, json_reply, text_reply
from fallback.engine.runtime import DEFAULT_KEEP_ALIVE, MAX_WAITING, Lease, Runtime
from fallback.engine.show import capabilities, listed, running, show
from fallback.engine.store import Store, StoredModel
from fallback.engine.turns import QueueFullError
from fallback.engine.wire import (
    Common,
    full_name,
    read_body,
    read_chat,
    read_generate,
)
from fallback.errors import EngineError

VERSION = "0.33.0-fallback"
"""What ``/api/version`` says. The number is the version of Ollama whose wire this is, so that a
client that asks whether a feature is there gets the right answer; the suffix says that it is not
Ollama."""

_BUSY = "server busy, please try again.  maximum pending requests exceeded"


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler is given beside the body."""

    cancellation: Cancellation
    timeout: float | None
    started: int


Handler = Callable[["Engine", bytes, Call], Reply]


class Engine:
    """Models on this machine, behind Ollama's wire.

    ``local_files`` says whether a request may name a GGUF file by its path. Whoever can send
    requests can then probe the file system, so an engine that others can reach should not allow it.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        local_files: bool = True,
        keep_alive: float = DEFAULT_KEEP_ALIVE,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._store = Store() if store is None else store
        self._local_files = local_files
        self._runtime = Runtime(keep_alive=keep_alive, max_waiting=max_waiting)

    def handle(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        cancellation: Cancellation | None = None,
        timeout: float | None = None,
    ) -> Reply:
        """Answer one request; never raises for what a client or a model does.

        Blocks until the first piece of the reply is there. ``cancellation`` gives the request up
        from another thread, also before this returns; ``timeout`` are the seconds without a token
        after which :class:`~fallback.engine.pump.SilenceError` is raised, here or by the reply's
        body.
        """
        call = Call(cancellation or Cancellation(), timeout, time.perf_counter_ns())
        routes = _ROUTES.get(path.rstrip("/") or "/")
        if routes is None:
            return text_reply("404 page not found", 404)
        handler = routes.get("GET" if method == "HEAD" else method)
        if handler is None:
            return text_reply("405 method not allowed", 405)
        try:
            reply = handler(self, body, call)
        except WireError as error:
            reply = error_reply(error)
        except (CancelledError, LlamaError, LlamaDiedError) as error:
            reply = error_reply(wire_error(error))
        except QueueFullError:
            reply = error_reply(WireError(503, _BUSY))
        except EngineError as error:
            reply = error_reply(WireError(500, str(error)))
        if method == "HEAD":
            reply.body = iter(())
        return reply

    def close(self) -> None:
        """Unload the model; every request that is running or waiting is given up."""
        self._runtime.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def generate(self, body: bytes, call: Call) -> Reply:
        """``POST /api/generate``."""
        request = read_generate(body)
        model = self._find(request.common.model)
        job = self._job(request.common, model, call, ("completion", "generate"))
        if not request.prompt:
            return self._load_or_unload(job, {"response": ""})
        return self._with_lease(job, lambda lease: generate(request, job, lease))

    def chat(self, body: bytes, call: Call) -> Reply:
        """``POST /api/chat``."""
        request = read_chat(body)
        if not request.common.model:
            raise WireError(400, "model is required")
        model = self._find(request.common.model)
        job = self._job(request.common, model, call, ("completion", "chat"))
        if request.tools:
            _require(job, "tools")
        if not request.messages:
            return self._load_or_unload(job, {"message": {"role": "assistant", "content": ""}})
        return self._with_lease(job, lambda lease: chat(request, job, lease))

    def show(self, body: bytes, call: Call) -> Reply:
        """``POST /api/show``."""
        del call
        fields = read_body(body, "ShowRequest")
        name = fields.get("model", str, "") or fields.get("name", str, "")
        verbose = fields.get("verbose", bool, False)
        if not name:
            raise WireError(400, "model is required")
        model = self._store.find(name, local_files=self._local_files)
        if model is None:
            parsed = parse_name(name)
            raise WireError(404, f"model '{name if parsed is None else parsed}' not found")
        return json_reply(show(model, verbose=verbose))

    def tags(self, body: bytes, call: Call) -> Reply:
        """``GET /api/tags``."""
        del body, call
        return json_reply({"models": [listed(model) for model in self._store.models()]})

    def ps(self, body: bytes, call: Call) -> Reply:
        """``GET /api/ps``."""
        del body, call
        loaded = self._runtime.loaded
        return json_reply({"models": [] if loaded is None else [running(loaded)]})

    def version(self, body: bytes, call: Call) -> Reply:
        """``GET /api/version``."""
        del body, call
        return json_reply({"version": VERSION})

    def root(self, body: bytes, call: Call) -> Reply:
        """``GET /``."""
        del body, call
        return text_reply("Ollama is running")

    def _find(self, name: str) -> StoredModel:
        model = self._store.find(name, local_files=self._local_files)
        if model is None:
            raise WireError(404, f"model '{name}' not found")
        return model

    def _job(self, common: Common, model: StoredModel, call: Call, needed: tuple[str, str]) -> Job:
        header = read_gguf(model.path)
        job = Job(common, model, header, call.cancellation, call.timeout, call.started)
        capability, shown = needed
        if capability not in capabilities(header):
            raise WireError(400, f'"{common.model}" does not support {shown}')
        if common.think and "thinking" not in capabilities(header):
            raise WireError(400, f'"{common.model}" does not support thinking')
        return job

    def _with_lease(self, job: Job, answer: Callable[[Lease], Reply]) -> Reply:
        lease = self._lease(job)
        try:
            return answer(lease)
        except BaseException:
            lease.release()
            raise

    def _lease(self, job: Job) -> Lease:
        return self._runtime.lease(
            job.model,
            num_ctx=job.window,
            keep_alive=job.common.keep_alive,
            cancellation=job.cancellation,
        )

    def _load_or_unload(self, job: Job, empty: Mapping[str, object]) -> Reply:
        """A request without a prompt only loads the model, or unloads it with ``keep_alive`` 0."""
        if job.common.keep_alive == 0:
            self._runtime.unload(job.model, job.cancellation)
            reason = "unload"
        else:
            self._lease(job).release()
            reason = "load"
        return json_reply(job.line(**empty, done=True, done_reason=reason))


def _require(job: Job, capability: str) -> None:
    if capability not in capabilities(job.header):
        raise WireError(400, f"{full_name(job.common.model)} does not support {capability}")


_ROUTES: Mapping[str, Mapping[str, Handler]] = {
    "/": {"GET": Engine.root},
    "/api/generate": {"POST": Engine.generate},
    "/api/chat": {"POST": Engine.chat},
    "/api/show": {"POST": Engine.show},
    "/api/tags": {"GET": Engine.tags},
    "/api/ps": {"GET": Engine.ps},
    "/api/version": {"GET": Engine.version},
}
