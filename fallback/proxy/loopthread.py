"""An event loop in a thread of its own, for blocking code that needs what asyncio does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

__all__ = ["LoopClosedError", "LoopThread"]

T = TypeVar("T")


class LoopClosedError(RuntimeError):
    """The loop is not there any more, or is that of another process."""


class LoopThread:
    """Runs coroutines for any number of threads, in one process.

    The thread starts with the first coroutine and ends with :meth:`close`; it never keeps a program
    from ending. A forked child has none of its parent's threads, and so needs a new one of these.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def run(self, coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run it on the loop, and wait; leaving early, for whatever reason, cancels it.

        Raises:
            TimeoutError: it took longer than so many seconds.
            LoopClosedError: the loop is closed, or was while this waited.
        """
        future = self._submit(coroutine)
        try:
            return future.result(timeout)
        except CancelledError:
            raise LoopClosedError("closed while something was under way") from None
        except BaseException:
            future.cancel()
            raise

    def post(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Run it on the loop without waiting; nothing happens if that is closed."""
        with contextlib.suppress(LoopClosedError):
            self._submit(coroutine)

    def close(self, last: Callable[[], Awaitable[object]]) -> None:
        """Cancel what is under way, run ``last``, and end the thread. May be called twice."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            loop, thread = self._loop, self._thread
            begun = self._closed or loop is None or thread is None
            self._closed = True
        if begun or loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_ended(loop, last), loop)
        # A collector of garbage may run this on the loop's own thread, which cannot await itself.
        if threading.current_thread() is not thread:
            thread.join()

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        if os.getpid() != self._pid:  # before the lock, which may be held for ever in a child
            coroutine.close()
            raise LoopClosedError("it belongs to the process that this one was forked from")
        with self._lock:
            if self._closed:
                coroutine.close()
                raise LoopClosedError("it has been closed")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="fallback-transport", daemon=True
                )
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _ended(loop: asyncio.AbstractEventLoop, last: Callable[[], Awaitable[object]]) -> None:
    try:
        rest = asyncio.all_tasks(loop) - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await last()
        await loop.shutdown_asyncgens()
        await loop.shutdown_default_executor()
    finally:
        loop.stop()
