"""uvicorn's HTTP with deadlines for clients that dawdle, which it does not have itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["HEADER_SECONDS", "UNREAD_SECONDS", "TimedProtocol"]

HEADER_SECONDS = 20.0
"""Time that a connection has for the headers of a request, from its first byte; a new one from the
moment that it is made."""
UNREAD_SECONDS = 300.0
"""Time that a client may leave an answer unread while more of it waits to be sent."""
_GATHERED = 16_384
"""Bytes that are not held back for more."""

if TYPE_CHECKING:

    class _Base:
        """What the two classes of uvicorn have in common."""

        loop: asyncio.AbstractEventLoop
        cycle: Any
        transport: Any

        def connection_made(self, transport: Any) -> None: ...

        def connection_lost(self, exc: Exception | None) -> None: ...

        def data_received(self, data: bytes) -> None: ...

        def pause_writing(self) -> None: ...

        def resume_writing(self) -> None: ...

else:
    _Base = AutoHTTPProtocol  # one of two classes, by what is installed


class TimedProtocol(_Base):
    """Cuts off a client that takes too long to say what it wants, or to hear the answer.

    Without this, a client that sends or reads a byte now and then keeps a connection for ever, and
    some thousand of them keep everybody else out.
    """

    _speaking: asyncio.TimerHandle | None = None
    _hearing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """The clock starts."""
        super().connection_made(_Gathering(transport, self.loop))
        self._speaking = self.loop.call_later(HEADER_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to cut off."""
        _stop(self._speaking)
        self._speaking = None
        _stop(self._hearing)
        self._hearing = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The clock stops with complete headers, and starts with the first byte of the next."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            _stop(self._speaking)
            self._speaking = None
        elif self._speaking is None:
            self._speaking = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def pause_writing(self) -> None:
        """What waits to be read is more than the socket holds: the other clock starts."""
        super().pause_writing()
        if self._hearing is None:
            # Closing would wait for what nobody reads.
            self._hearing = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read on."""
        _stop(self._hearing)
        self._hearing = None
        super().resume_writing()


class _Gathering:
    """A transport whose writes of one round of the event loop leave in one.

    uvicorn writes the head of an answer, its body and its end apart; each write is a call of the
    system, and may wake the client for nothing.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send it, soon; much at a time at once, so that a slow client is noticed."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _GATHERED:
            self._flush()

    def close(self) -> None:
        """Close it behind what was written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))


def _stop(clock: asyncio.TimerHandle | None) -> None:
    if clock is not None:
        clock.cancel()
