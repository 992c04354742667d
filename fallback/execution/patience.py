"""Waiting for a model server no longer than one wants: until a deadline, or a turn is cancelled.

A server may be silent for minutes, while it loads a model or reads a long prompt. Whoever blocks
cannot end such a wait, so it is had in a thread of its own, which is left to itself when it is
given up: it ends with the server's next word.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from fallback.execution.runners import Wake

__all__ = ["Impatient", "Pieces", "patience", "wait"]

T = TypeVar("T")


class Impatient(Exception):  # the server has done nothing wrong
    """The wait was given up."""


@dataclass(frozen=True, slots=True)
class _Came(Generic[T]):
    value: T


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


def wait(function: Callable[[], T], seconds: float | None, wake: Wake) -> T:
    """What a function returns that may block.

    Raises:
        Impatient: it has not returned in time, or ``wake`` was called.
    """
    told: queue.SimpleQueue[Any] = queue.SimpleQueue()
    _start(lambda: told.put(_outcome(function)))
    came: _Came[T] = _next(told, seconds, wake)
    return came.value


class Pieces(Generic[T]):
    """A stream, taken piece by piece; none is taken before it is asked for.

    Args:
        stream: blocks between its pieces. It is only ever used by one thread.
        wake: ends the wait.
    """

    def __init__(self, stream: Generator[T], wake: Wake) -> None:
        self._stream, self._wake = stream, wake
        self._wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._told: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._silent = False
        self._thread = _start(self._work)

    def take(self, seconds: float | None) -> T | None:
        """The next piece; ``None`` behind the last.

        Raises:
            Impatient: it has not come in time, or ``wake`` was called.
        """
        self._silent = True
        self._wanted.put(True)
        came = _next(self._told, seconds, self._wake)
        self._silent = False
        return None if came is None else came.value

    def close(self) -> None:
        """Close the stream: now, or, where it was given up in the middle, with its next piece."""
        self._wanted.put(False)
        if not self._silent:
            self._thread.join()

    def _work(self) -> None:
        try:
            while self._wanted.get():
                outcome = _outcome(partial(next, self._stream))
                ended = isinstance(outcome, _Raised) and isinstance(outcome.error, StopIteration)
                self._told.put(None if ended else outcome)
        finally:
            # Whoever has lost interest does not want to hear how it ends.
            with suppress(Exception):
                self._stream.close()


def _outcome(function: Callable[[], T]) -> _Came[T] | _Raised:
    try:
        return _Came(function())
    except BaseException as error:  # noqa: BLE001 # it is raised where it is waited for
        return _Raised(error)


def _next(told: queue.SimpleQueue[Any], seconds: float | None, wake: Wake) -> Any:
    with wake.watching(lambda _: told.put(_Raised(Impatient()))):
        try:
            outcome = told.get(timeout=None if seconds is None else max(0.0, seconds))
        except queue.Empty:
            raise Impatient from None
    if isinstance(outcome, _Raised):
        raise outcome.error
    return outcome


def _start(work: Callable[[], object]) -> threading.Thread:
    here = contextvars.copy_context()
    thread = threading.Thread(target=here.run, args=(work,), name="model", daemon=True)
    thread.start()
    return thread


@asynccontextmanager
async def patience(seconds: float | None, wake: Wake) -> AsyncGenerator[None]:
    """The same for an event loop: what is awaited inside is given up.

    Raises:
        Impatient: the time is over, or ``wake`` was called.
    """
    loop = asyncio.get_running_loop()
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            with wake.watching(lambda _: loop.call_soon_threadsafe(_end, scope, loop)):
                yield
    except TimeoutError:
        if scope.expired():
            raise Impatient from None
        raise


def _end(scope: asyncio.Timeout, loop: asyncio.AbstractEventLoop) -> None:
    with suppress(RuntimeError):  # it is over already
        scope.reschedule(loop.time())
