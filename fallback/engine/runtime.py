"""Keeps one model loaded and lets one request at a time use it.

A request takes a turn, gets a :class:`Lease` on the model it wants (which is loaded if it is not
there in the right form), and gives the turn back when its generation has ended. While a lease is
held nothing is loaded or unloaded; between leases the model stays for as long as the last request
wished.
"""

from __future__ import annotations

import atexit
import math
import threading
import time
import weakref
from dataclasses import dataclass
from pathlib import Path

from fallback.engine.cancel import Cancellation
from fallback.engine.cores import thread_count
from fallback.engine.llama import LlamaServer
from fallback.engine.store import StoredModel
from fallback.engine.turns import Turns

DEFAULT_KEEP_ALIVE = 300.0
"""Seconds that an unused model stays loaded: Ollama's own default."""

MAX_WAITING = 512
"""Requests that may wait for their turn: Ollama's own default."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The model in memory, as ``/api/ps`` reports it; ``expires`` in seconds since the epoch."""

    model: StoredModel
    server: LlamaServer
    num_ctx: int
    expires: float

    @property
    def key(self) -> tuple[Path, int]:
        """What must agree for a request to use it as it is."""
        return self.model.path, self.num_ctx


class Lease:
    """The right to use the loaded model until :meth:`release`; getting it took ``load_ns``."""

    def __init__(
        self, runtime: Runtime, server: LlamaServer, load_ns: int, cancellation: Cancellation
    ) -> None:
        self.server, self.load_ns = server, load_ns
        self._runtime: Runtime | None = runtime
        self._cancellation = cancellation
        self._lock = threading.Lock()

    def release(self, *, broken: bool = False) -> None:
        """Give the turn back, once; ``broken`` unloads the model, which then is loaded anew."""
        with self._lock:
            runtime, self._runtime = self._runtime, None
        if runtime is not None:
            runtime.forget(self._cancellation)
            runtime.end_turn(broken=broken)


class Runtime:
    """The one loaded model of an engine."""

    def __init__(
        self, *, keep_alive: float = DEFAULT_KEEP_ALIVE, max_waiting: int = MAX_WAITING
    ) -> None:
        self._turns = Turns(max_waiting)
        self._threads = thread_count()
        self._keep_alive = keep_alive
        self._default_keep_alive = keep_alive
        self._loaded: Loaded | None = None
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._live: set[Cancellation] = set()
        # llama.cpp's threads must not outlive the interpreter: that ends in a crash.
        atexit.register(_close, weakref.ref(self))

    @property
    def loaded(self) -> Loaded | None:
        """The model in memory, if there is one."""
        return self._loaded

    def lease(
        self,
        model: StoredModel,
        *,
        num_ctx: int,
        keep_alive: float | None,
        cancellation: Cancellation,
    ) -> Lease:
        """Wait for a turn and have ``model`` loaded with a window of ``num_ctx`` tokens.

        Raises ``CancelledError``, ``QueueFullError``, or :class:`~fallback.errors.EngineError`.
        """
        started = time.perf_counter_ns()
        with self._lock:
            self._live.add(cancellation)
        try:
            self._turns.take(cancellation)
            try:
                self._stop_timer()
                self._keep_alive = self._default_keep_alive if keep_alive is None else keep_alive
                loaded = self._load(model, num_ctx)
            except BaseException:
                self.end_turn(broken=True)
                raise
        except BaseException:
            self.forget(cancellation)
            raise
        return Lease(self, loaded.server, time.perf_counter_ns() - started, cancellation)

    def unload(self, model: StoredModel, cancellation: Cancellation) -> None:
        """Unload ``model`` when its turn comes; does nothing if another one is loaded."""
        self._turns.take(cancellation)
        same = self._loaded is not None and self._loaded.model.path == model.path
        self.end_turn(broken=same)

    def close(self) -> None:
        """Unload whatever is loaded; every request that is running or waiting is given up."""
        with self._lock:
            live = list(self._live)
        for cancellation in live:
            cancellation.cancel()
        self._turns.take()
        self.end_turn(broken=True)

    def forget(self, cancellation: Cancellation) -> None:
        """The request has ended, one way or another."""
        with self._lock:
            self._live.discard(cancellation)

    def end_turn(self, *, broken: bool) -> None:
        """Pass the turn on; called by whoever has it."""
        if broken or self._keep_alive <= 0:
            self._drop()
        elif self._loaded is not None:
            self._renew(self._loaded)
        self._turns.release()

    def _load(self, model: StoredModel, num_ctx: int) -> Loaded:
        loaded = self._loaded
        if loaded is None or loaded.key != (model.path, num_ctx):
            self._drop()  # first, so that never two models are in memory
            server = LlamaServer(model.path, num_ctx=num_ctx, threads=self._threads)
            loaded = self._loaded = Loaded(model, server, num_ctx, math.inf)
        return loaded

    def _drop(self) -> None:
        self._stop_timer()
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            loaded.server.close()

    def _renew(self, loaded: Loaded) -> None:
        self._stop_timer()
        seconds = self._keep_alive
        self._loaded = Loaded(loaded.model, loaded.server, loaded.num_ctx, time.time() + seconds)
        if seconds <= threading.TIMEOUT_MAX:
            self._timer = threading.Timer(seconds, self._expire)
            self._timer.daemon = True
            self._timer.start()

    def _expire(self) -> None:
        # If somebody has the turn, they set a new timer when they give it back.
        if self._turns.try_take():
            self.end_turn(broken=threading.current_thread() is self._timer)

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()


def _close(runtime: weakref.ref[Runtime]) -> None:
    if (alive := runtime()) is not None:
        alive.close()
