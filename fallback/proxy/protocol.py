"""uvicorn's HTTP with a deadline for the headers, which it does not have itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["HEADER_SECONDS", "TimedProtocol"]

HEADER_SECONDS = 20.0
"""Time that a new connection has for the headers of its first request."""

if TYPE_CHECKING:

    class _Base:
        """What the two classes of uvicorn have in common."""

        loop: asyncio.AbstractEventLoop
        cycle: object

        def connection_made(self, transport: Any) -> None: ...

        def connection_lost(self, exc: Exception | None) -> None: ...

        def data_received(self, data: bytes) -> None: ...

else:
    _Base = AutoHTTPProtocol  # one of two classes, by what is installed


class TimedProtocol(_Base):
    """Cuts off a client that takes too long to say what it wants.

    Without this, a client that sends a byte now and then keeps a connection for ever, and some
    thousand of them keep everybody else out.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """The clock starts."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEADER_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to cut off."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The clock stops with the first complete headers."""
        super().data_received(data)
        if self.cycle is not None:
            self._disarm()

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
