"""Several calls at a time: in threads for a caller that blocks, in tasks for an event loop.

Calls begin in the order they are given, no more than ``width`` of them run at once, and each is
told when it begins and when it ends. Once the turn is cancelled none begins any more; those that
run are ended by the same :class:`~fallback.execution.runners.Wake` and still told.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from fallback.execution.pacing import Pace, attempts
from fallback.execution.runners import Wake, aexecute, apause, execute, pause
from fallback.loop.actions import Job
from fallback.loop.progress import ToolEnded, ToolStarted
from fallback.messages import ToolResult

__all__ = ["amake", "awave", "begin", "make", "wave"]

Told = ToolStarted | ToolEnded


def make(
    job: Job, context: Mapping[str, Any], pace: Pace, wake: Wake, *, apart: bool = False
) -> ToolResult:
    """Make one call when its turn comes, and again where that helps; see :func:`attempts`."""
    tries = attempts(job, pace)
    try:
        asked = next(tries)
        while True:
            if isinstance(asked, Job):
                asked = tries.send(
                    execute(asked, context, pace.limits, wake, pace.masks, apart=apart)
                )
            else:
                asked = tries.send(pause(asked, wake))
    except StopIteration as stop:
        result: ToolResult = stop.value
        return result


async def amake(job: Job, context: Mapping[str, Any], pace: Pace, wake: Wake) -> ToolResult:
    """:func:`make` without blocking the event loop."""
    tries = attempts(job, pace)
    try:
        asked = next(tries)
        while True:
            if isinstance(asked, Job):
                asked = tries.send(await aexecute(asked, context, pace.limits, wake, pace.masks))
            else:
                asked = tries.send(await apause(asked, wake))
    except StopIteration as stop:
        result: ToolResult = stop.value
        return result


def wave(
    jobs: Sequence[Job], run: Callable[[Job], ToolResult], *, width: int, wake: Wake
) -> Generator[Told]:
    """Run the calls in threads; one alone runs where this is called.

    Args:
        jobs: calls that do not depend on each other.
        run: makes one of them, and comes back when ``wake`` is called.
        width: how many run at a time.
        wake: ends the wait.
    """
    if min(len(jobs), width) <= 1:
        for job in jobs:
            if wake.requested:
                return
            yield ToolStarted(job.call.apart())
            yield ToolEnded(job.call.apart(), run(job))
        return
    yield from _in_threads(jobs, run, min(len(jobs), width), wake)


def _in_threads(
    jobs: Sequence[Job], run: Callable[[Job], ToolResult], width: int, wake: Wake
) -> Generator[Told]:
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    told: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def work() -> None:
        try:
            while not wake.requested:
                job = waiting.get_nowait()
                told.put(ToolStarted(job.call.apart()))
                told.put(ToolEnded(job.call.apart(), run(job)))
        except queue.Empty:
            pass
        except BaseException as error:  # noqa: BLE001 # it is raised where the wave is awaited
            told.put(error)
        finally:
            told.put(None)

    for _ in range(width):
        here = contextvars.copy_context()
        threading.Thread(target=here.run, args=(work,), name="call", daemon=True).start()
    running = width
    try:
        while running:
            event = told.get()
            if isinstance(event, BaseException):
                raise event
            if event is None:
                running -= 1
            else:
                yield event
    finally:
        if running:  # interrupted, or nobody listens any more
            wake.cancel()


def begin(job: Job, run: Callable[[Job], ToolResult]) -> Future[ToolResult]:
    """Run a call in a thread, for somebody who asks for its result later."""
    future: Future[ToolResult] = Future()

    def work() -> None:
        try:
            future.set_result(run(job))
        except BaseException as error:  # noqa: BLE001 # it is raised where the result is asked for
            future.set_exception(error)

    here = contextvars.copy_context()
    threading.Thread(target=here.run, args=(work,), name="call", daemon=True).start()
    return future


async def awave(
    jobs: Sequence[Job], run: Callable[[Job], Awaitable[ToolResult]], *, width: int, wake: Wake
) -> AsyncGenerator[Told]:
    """Run the calls in tasks; see :func:`wave`."""
    if min(len(jobs), width) <= 1:
        for job in jobs:
            if wake.requested:
                return
            yield ToolStarted(job.call.apart())
            yield ToolEnded(job.call.apart(), await run(job))
        return
    waiting = iter(jobs)
    told: asyncio.Queue[Told | BaseException | None] = asyncio.Queue()

    async def work() -> None:
        try:
            while not wake.requested and (job := next(waiting, None)) is not None:
                told.put_nowait(ToolStarted(job.call.apart()))
                told.put_nowait(ToolEnded(job.call.apart(), await run(job)))
        except Exception as error:  # noqa: BLE001 # it is raised where the wave is awaited
            told.put_nowait(error)
        finally:
            told.put_nowait(None)

    tasks = [asyncio.ensure_future(work()) for _ in range(min(len(jobs), width))]
    running = len(tasks)
    try:
        while running:
            event = await told.get()
            if event is None:
                running -= 1
            elif isinstance(event, BaseException):
                raise event
            else:
                yield event
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
