"""Functions of the application that may be plain or async, called from either kind of session.

What has to be called, in which order, and what follows from the answers is written once, as a
generator that yields functions and is sent what they return (:data:`Steps`). :func:`play` plays it
for a caller that blocks, :func:`aplay` for an event loop.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["Steps", "acall", "aplay", "call", "play"]

T = TypeVar("T")
Steps = Generator[Callable[[], Any], Any, T]
"""Yields functions without arguments; is sent what each returns, or thrown what it raises."""


def call(function: Callable[[], Any]) -> Any:
    """Call it here; a coroutine gets an event loop of its own, in a thread of its own.

    The thread is there because this one may already be running a loop, as a notebook's does.
    """
    value = function()
    if not inspect.isawaitable(value):
        return value
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, _awaited(value)).result()


async def acall(function: Callable[[], Any]) -> Any:
    """Call it without blocking the event loop: a plain function runs in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function()
    value = await asyncio.to_thread(function)
    return await value if inspect.isawaitable(value) else value


def play(steps: Steps[T]) -> T:
    """Take the steps one after the other; returns what the generator returns."""
    try:
        step = next(steps)
        while True:
            try:
                value = call(step)
            except BaseException as error:  # noqa: BLE001 # the generator decides what it means
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as stop:
        result: T = stop.value
        return result


async def aplay(steps: Steps[T]) -> T:
    """:func:`play` without blocking the event loop."""
    try:
        step = next(steps)
        while True:
            try:
                value = await acall(step)
            except BaseException as error:  # noqa: BLE001 # the generator decides what it means
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as stop:
        result: T = stop.value
        return result


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value
