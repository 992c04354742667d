"""Lets a generation run ahead of whoever reads it.

The model works in a thread and puts what it makes into a queue. So a slow or forgetful reader does
not keep the next request waiting, and reading can be given up at any moment.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from fallback.engine.cancel import Cancellation, CancelledError

T = TypeVar("T")


class _End:
    """Comes last; carries what went wrong, if anything did."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class SilenceError(Exception):
    """Nothing came for longer than the request allows."""


class Pump(Generic[T]):
    """Iterates over ``source`` in a thread of its own.

    ``on_end`` is called in that thread when the source has ended, with the exception that ended it.
    ``next()`` waits at most ``timeout`` seconds, then gives the request up with
    :class:`SilenceError`.
    """

    def __init__(
        self,
        source: Iterable[T],
        cancellation: Cancellation,
        *,
        on_end: Callable[[BaseException | None], None],
        timeout: float | None = None,
    ) -> None:
        self._queue: queue.SimpleQueue[T | _End] = queue.SimpleQueue()
        self._cancellation, self._timeout, self._on_end = cancellation, timeout, on_end
        self._ended = False
        cancellation.on_cancel(lambda: self._queue.put(_End(CancelledError())))
        threading.Thread(
            target=self._run, args=(source,), name="fallback-generation", daemon=True
        ).start()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._ended:
            raise StopIteration
        self._cancellation.check()
        try:
            item = self._queue.get(timeout=self._timeout)
        except queue.Empty:
            self._cancellation.cancel()
            raise SilenceError(f"no token came for {self._timeout} seconds") from None
        except BaseException:  # Ctrl-C while waiting
            self._cancellation.cancel()
            raise
        if not isinstance(item, _End):
            return item
        self._ended = True
        if item.error is not None:
            raise item.error
        raise StopIteration

    def _run(self, source: Iterable[T]) -> None:
        error: BaseException | None = None
        try:
            for item in source:
                self._queue.put(item)
        except BaseException as caught:  # noqa: BLE001 - handed to the reader, who raises it
            error = caught
        self._on_end(error)
        self._queue.put(_End(error))
