"""One HTTP/1.1 connection to the upstream, read by httptools.

Strategy. The parser's callbacks only collect; whoever asks is given all that has come, however many
reads of the socket that were. A request leaves in one write, head and body together. Closing is an
event here, not something to be tried out: an idle connection whose server has gone says so.

What must stay true: a connection is used again only behind a whole answer with nothing after it; a
server that sends faster than it is heard is made to wait; errors are httpx's, so that there is one
place where they become ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httptools
import httpx

__all__ = ["Connection"]

_MOST_WAITING = 256 * 1024
"""Bytes of an answer that may wait for the one who reads it."""
_MOST_HEAD = 128 * 1024
"""Bytes that may come before the headers are complete."""


class Connection(asyncio.Protocol):
    """A connection, and the one answer that is under way on it.

    Args:
        free: told when the answer has ended and the next request may be sent.
        gone: told once, when the connection is closed.

    Attributes:
        status: of the answer; 0 until its headers are complete.
        headers: of the answer, names in small letters.
        since: when the connection became idle, by the clock of the loop.
    """

    def __init__(
        self, free: Callable[[Connection], None], gone: Callable[[Connection], None]
    ) -> None:
        self._free, self._gone = free, gone
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._waiter: asyncio.Future[None] | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._full = self._lost = False
        self.since = 0.0
        self._begin()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: dict[str, str] = {}
        self._pieces: list[bytes] = []
        self._waiting = self._head = 0
        self._held = self._whole = self._reusable = False
        self._asked = self._unheard = False
        self._error: httpx.HTTPError | None = None

    @property
    def idle(self) -> bool:
        """Whether a request may be sent."""
        return not self._asked and not self._lost and not self._transport.is_closing()

    # What the socket says -----------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """It is open."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Some of the answer, or what nobody has asked for."""
        if not self._asked or self._whole:
            self.abort()
            return
        if not self.status:
            self._head += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(httpx.RemoteProtocolError(f"that is no HTTP: {error}"))
        if not self.status and self._head > _MOST_HEAD:
            self._fail(httpx.RemoteProtocolError("the headers do not end"))
        if self._waiting > _MOST_WAITING and not self._held:
            self._held = True
            self._transport.pause_reading()
        if self._unheard:
            self._heard()
            if self._over:
                self._ended()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed; an answer without a length ends so."""
        self._lost = True
        if self._asked and not self._whole:
            if exc is None and self.status and not self._has_length:
                self._whole = True
            else:
                detail = f": {exc}" if exc is not None else " before the answer was complete"
                self._fail(httpx.RemoteProtocolError(f"the server closed the connection{detail}"))
        _stop(self._clock)
        self._wake()
        self._gone(self)

    def pause_writing(self) -> None:
        """The socket holds no more."""
        self._full = True

    def resume_writing(self) -> None:
        """It does again."""
        self._full = False
        self._wake()

    # What the parser says -----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """An answer begins; a second one was not asked for."""
        if self._whole:
            self._reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        if not self._whole:
            self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The headers are complete; those of an interim answer do not count."""
        status = self._parser.get_status_code()
        if self._whole:
            return
        if status < 200:
            self.headers.clear()
        else:
            self.status = status

    def on_body(self, piece: bytes) -> None:
        """Some of the body."""
        if self.status and not self._whole:
            self._pieces.append(piece)
            self._waiting += len(piece)

    def on_message_complete(self) -> None:
        """The answer is whole."""
        if self.status and not self._whole:
            self._whole = True
            self._reusable = self._parser.should_keep_alive()

    @property
    def _over(self) -> bool:
        return self._whole or self._error is not None

    @property
    def _has_length(self) -> bool:
        return "content-length" in self.headers or "transfer-encoding" in self.headers

    # What the client does -----------------------------------------------------------------------

    async def send(self, head: bytes, body: bytes, *, write: float, read: float) -> None:
        """Send a request, and wait for the headers of its answer.

        Args:
            head: request line and headers.
            body: all of it.
            write: seconds that the server may leave it unread.
            read: seconds until the headers have to be complete.

        Raises:
            httpx.HTTPError: it took too long, or the connection is broken.
        """
        self._begin()
        self._asked = True
        self._transport.writelines((head, body) if body else (head,))
        # A server may answer before it has heard everything, and then hear no more.
        while self._full and not self.status and self._error is None:
            await self._wait(write, httpx.WriteTimeout("the server does not read"))
        while not self.status:
            if self._error is not None:
                raise self._error
            await self._wait(read, httpx.ReadTimeout("the server does not answer"))

    async def read(self, seconds: float) -> bytes:
        """What has come of the body, at least one byte; nothing at its end.

        Raises:
            httpx.HTTPError: nothing came in that time, or the connection is broken.
        """
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self._whole:
                return b""
            await self._wait(seconds, httpx.ReadTimeout("the server does not go on"))
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._heard()
        return data

    def release(self, patience: float = 0.0) -> None:
        """The answer is of no more interest.

        Args:
            patience: seconds that it may take to end by itself, unheard; the connection is closed
                if it does not, which ends a generation.
        """
        if self._whole or self._lost or patience <= 0:
            self._ended()
            return
        self._unheard = True
        self._heard()
        self._clock = self._loop.call_later(patience, self.abort)

    def _heard(self) -> None:
        """Nothing waits to be read any more."""
        self._pieces.clear()
        self._waiting = 0
        if self._held:
            self._held = False
            self._transport.resume_reading()

    def abort(self) -> None:
        """Close it at once, whatever is on its way."""
        _stop(self._clock)
        self._transport.abort()

    def _ended(self) -> None:
        _stop(self._clock)
        self._asked = False
        if self._whole and self._reusable and not self._lost:
            self._heard()
            self.since = self._loop.time()
            self._free(self)
        elif not self._lost:
            self.abort()

    def _fail(self, error: httpx.HTTPError) -> None:
        if not self._whole and self._error is None:
            self._error = error
        self._reusable = False

    async def _wait(self, seconds: float, late: httpx.HTTPError) -> None:
        """Wait for anything to happen."""
        self._waiter = waiter = self._loop.create_future()
        clock = self._loop.call_later(seconds, _expire, waiter, late)
        try:
            await waiter
        finally:
            clock.cancel()
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _expire(waiter: asyncio.Future[None], late: httpx.HTTPError) -> None:
    if not waiter.done():
        waiter.set_exception(late)


def _stop(clock: asyncio.TimerHandle | None) -> None:
    if clock is not None:
        clock.cancel()
