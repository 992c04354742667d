"""A streamed answer on its way: started early, kept alive, and ended when the client has gone.

Strategy. One task pulls the events, so that a silence can be noticed without disturbing the
generation; whoever writes the response takes what has come, several at a time if they have.

What must stay true: closing a delivery, at any moment, closes the generation behind it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator

from fallback.proxy.events import Event, Failed, Failure
from fallback.proxy.wires import StreamEncoder

__all__ = ["BROKEN", "Delivery", "encoded"]

_log = logging.getLogger("fallback.proxy")
_AHEAD = 32
"""Batches of events that may wait for a slow client before the generation waits too."""


class Delivery:
    """Events that are pulled by a task of their own. To be closed."""

    def __init__(self, batches: AsyncGenerator[list[Event]]) -> None:
        self._batches = batches
        self._queue: asyncio.Queue[list[Event] | None] = asyncio.Queue(_AHEAD)
        self._task = asyncio.create_task(self._pull())

    async def next(self, seconds: float) -> list[Event] | None:
        """What has come, at least one event; empty after so many seconds; ``None`` at the end."""
        queue = self._queue
        try:
            first = queue.get_nowait()
        except asyncio.QueueEmpty:
            try:
                async with asyncio.timeout(seconds):
                    first = await queue.get()
            except TimeoutError:
                return []
        if first is None:
            return None
        taken = list(first)
        while not queue.empty():
            more = queue.get_nowait()
            if more is None:
                queue.put_nowait(None)
                break
            taken += more
        return taken

    async def aclose(self) -> None:
        """End it; what generates is cancelled."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        if self._queue.empty():  # whoever still waits for more
            self._queue.put_nowait(None)

    async def _pull(self) -> None:
        try:
            async with contextlib.aclosing(self._batches):
                async for events in self._batches:
                    await self._queue.put(events)
        except Exception:  # noqa: BLE001 -- whatever it was, the stream has to end as one
            _log.exception("an answer failed inside the server")
            await self._queue.put([Failed(BROKEN)])
        await self._queue.put(None)


BROKEN = Failure(kind="internal", message="the server failed; its log says where", status=500)


async def encoded(
    delivery: Delivery, encoder: StreamEncoder, first: list[Event], *, silence: float
) -> AsyncIterator[bytes]:
    """The bytes of a stream that has begun.

    Args:
        delivery: where the events come from; closed by the caller.
        encoder: of the client's wire.
        first: events that have come already.
        silence: seconds after which the client is told that the answer is still coming.
    """
    yield encoder.open() + b"".join(map(encoder.encode, first))
    while (events := await delivery.next(silence)) is not None:
        piece = b"".join(map(encoder.encode, events)) if events else encoder.keep_alive()
        if piece:
            yield piece
