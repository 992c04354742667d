"""Standard input as lines for an event loop, which an interrupt does not have to wait for.

A thread that reads a file object keeps a loop, and the interpreter, from ending until the next line
comes. This one reads the descriptor, holds no lock, and is left behind.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

__all__ = ["claimed", "lines"]

_CHUNK = 65_536


@contextmanager
def claimed(descriptor: int = 0) -> Iterator[int]:
    """A private copy of standard input; tools and their children find the original empty."""
    private = os.dup(descriptor)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)
    try:
        yield private
    finally:
        os.dup2(private, descriptor)


async def lines(descriptor: int) -> AsyncIterator[str]:
    """The lines that come in, until the other side closes; what is not UTF-8 is replaced."""
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        with suppress(RuntimeError, OSError):  # the loop has ended, or the descriptor is gone
            while chunk := os.read(descriptor, _CHUNK):
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)
            loop.call_soon_threadsafe(chunks.put_nowait, b"")

    threading.Thread(target=read, name="mcp-stdin", daemon=True).start()
    kept: list[bytes] = []
    while chunk := await chunks.get():
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*kept, line]).decode("utf-8", "replace")
            kept = []
        kept.append(rest)
