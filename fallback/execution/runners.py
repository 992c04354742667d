"""Two ways to make a prepared call: for a thread that may block, and for an event loop.

A plain function runs in a thread of its own, so that a deadline holds even for one that never
returns; such a thread is left to itself (Python cannot stop it) and does not keep the program
alive. Without a deadline it runs where it is called. A coroutine function runs in the event loop,
or, for a blocking caller, in one of its own.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import queue
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from fallback.execution.outcome import (
    Ending,
    Prepared,
    Raised,
    Returned,
    Stopped,
    TimedOut,
    conclude,
    prepare,
)
from fallback.execution.shown import Mask
from fallback.limits import Limits
from fallback.loop.actions import Job
from fallback.messages import ToolResult

__all__ = ["Wake", "aexecute", "apause", "execute", "pause"]


class Wake:
    """Lets another thread end every wait for a tool; one per turn."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Callable[[Ending], object]] = []
        self.requested = False

    def cancel(self) -> None:
        """End the waits, now or as soon as there is one."""
        with self._lock:
            self.requested = True
            waiting = tuple(self._waiting)
        for deliver in waiting:
            deliver(Stopped())

    @contextmanager
    def watching(self, deliver: Callable[[Ending], object]) -> Iterator[None]:
        """Name one to be told while something is waited for."""
        with self._lock:
            self._waiting.append(deliver)
            requested = self.requested
        try:
            if requested:
                deliver(Stopped())
            yield
        finally:
            with self._lock:
                self._waiting.remove(deliver)


def pause(seconds: float, wake: Wake) -> bool:
    """Wait; returns whether the time has passed without a call of :meth:`Wake.cancel`."""
    woken = threading.Event()
    with wake.watching(lambda _: woken.set()):
        return not woken.wait(seconds)


async def apause(seconds: float, wake: Wake) -> bool:
    """:func:`pause` without blocking the event loop."""
    loop = asyncio.get_running_loop()
    woken = asyncio.Event()
    with wake.watching(lambda _: loop.call_soon_threadsafe(woken.set)):
        try:
            async with asyncio.timeout(seconds):
                await woken.wait()
        except TimeoutError:
            return True
    return False


def execute(
    job: Job,
    context: Mapping[str, Any],
    limits: Limits,
    wake: Wake,
    masks: Sequence[Mask] = (),
    *,
    apart: bool = False,
) -> ToolResult:
    """Run one call and wait for it.

    Args:
        job: the call.
        context: values of injected parameters.
        limits: for the size of what the model is shown.
        wake: ends the wait.
        masks: what the model must not be shown.
        apart: run it in a thread of its own even without a deadline, so that the wait can be ended.
    """
    prepared = prepare(job, context)
    started = monotonic()
    here = job.seconds is None and not prepared.is_async and not apart
    ending = _attempt(prepared) if here else _in_thread(prepared, job.seconds, wake)
    took = monotonic() - started
    return conclude(job, prepared, ending, seconds=took, limits=limits, masks=masks)


async def aexecute(
    job: Job, context: Mapping[str, Any], limits: Limits, wake: Wake, masks: Sequence[Mask] = ()
) -> ToolResult:
    """Run one call without blocking the event loop."""
    prepared = prepare(job, context)
    started = monotonic()
    ending = await _in_loop(prepared, job.seconds, wake)
    took = monotonic() - started
    return conclude(job, prepared, ending, seconds=took, limits=limits, masks=masks)


def _attempt(prepared: Prepared) -> Ending:
    """Make the call in this thread; a coroutine gets an event loop for itself."""
    try:
        value = prepared()
        return Returned(asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 # a tool may raise anything, ``SystemExit`` too
        return Raised(error)


def _in_thread(prepared: Prepared, seconds: float | None, wake: Wake) -> Ending:
    results: queue.SimpleQueue[Ending] = queue.SimpleQueue()
    _start(prepared, results.put)
    with wake.watching(results.put):
        try:
            return results.get(timeout=seconds)
        except queue.Empty:
            return TimedOut(seconds or 0.0)


async def _in_loop(prepared: Prepared, seconds: float | None, wake: Wake) -> Ending:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Ending] = loop.create_future()

    def settle(ending: Ending) -> None:
        if not done.done():
            done.set_result(ending)

    def deliver(ending: Ending) -> None:
        # The loop may be gone by the time an abandoned thread has finished.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, ending)

    task: asyncio.Task[None] | None = None
    if prepared.is_async:
        task = asyncio.ensure_future(_settled(prepared, settle))
    else:
        _start(prepared, deliver)
    try:
        with wake.watching(deliver):
            async with asyncio.timeout(seconds):
                return await done
    except TimeoutError:
        return TimedOut(seconds or 0.0)
    finally:
        if task is not None:
            await _finished(task)


async def _settled(prepared: Prepared, settle: Callable[[Ending], None]) -> None:
    try:
        settle(Returned(await prepared()))
    except (Exception, SystemExit) as error:  # noqa: BLE001 # a tool may raise anything
        settle(Raised(error))


async def _finished(task: asyncio.Task[None]) -> None:
    """Cancel a tool's task and let it clean up."""
    task.cancel()
    await asyncio.wait([task])


def _start(prepared: Prepared, deliver: Callable[[Ending], object]) -> None:
    context = contextvars.copy_context()

    def work() -> None:
        deliver(context.run(_attempt, prepared))

    threading.Thread(target=work, name="tool", daemon=True).start()


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value
