"""A client of one server for plain HTTP/1.1: what generations need, and nothing besides.

Between a client and its model every layer is paid for on each request and each piece of a stream.
httpx looks at authentication, redirects, cookies and encodings on the way, and reads HTTP in
Python; a server on the same machine or in the same network has none of these. Where they may
matter (TLS, proxies, logins, somebody's own transport), httpx is used: see :func:`plain_client`.

The surface is what the backends use of ``httpx.AsyncClient``: ``stream``, and of its response
``status_code``, ``aiter_bytes`` and ``aclose``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import nullcontext
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx

if TYPE_CHECKING:
    from fallback.proxy.upstream.connection import Connection

__all__ = ["PlainClient", "PlainResponse", "plain_client"]

_IDLE_SECONDS = 5.0
"""How long an idle connection is kept, which is what httpx does: servers close theirs after that
time or later (uvicorn's default is the same)."""


def plain_client(
    url: str, *, headers: Mapping[str, str], most: int, direct: bool
) -> PlainClient | None:
    """The client for a server, or ``None`` where httpx has to do it.

    Args:
        url: of the server.
        headers: sent with every request.
        most: connections at once.
        direct: whether no proxy of the environment is meant for it.
    """
    parts = urlsplit(url)
    plain = parts.scheme == "http" and "@" not in parts.netloc and url.isascii()
    proxies = () if direct else getproxies()
    if not plain or "http" in proxies or "all" in proxies or find_spec("httptools") is None:
        return None
    return PlainClient(parts.hostname or "", parts.port or 80, headers=headers, most=most)


class PlainClient:
    """Keeps the connections to one server. It belongs to one event loop.

    Args:
        host: name or address.
        port: of the server.
        headers: sent with every request.
        most: connections at once.
    """

    def __init__(self, host: str, port: int, *, headers: Mapping[str, str], most: int) -> None:
        self._host, self._port = host, port
        shown = f"[{host}]" if ":" in host else host
        common = {
            "Host": shown if port == 80 else f"{shown}:{port}",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            "User-Agent": "toolcall-fallback",
            **headers,
        }
        self._common = "".join(f"{name}: {value}\r\n" for name, value in common.items())
        self._places = asyncio.Semaphore(most)
        self._idle: deque[Connection] = deque()
        self._open: set[Connection] = set()

    @property
    def idle(self) -> int:
        """Connections that wait for a request."""
        return len(self._idle)

    def stream(
        self,
        method: str,
        url: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: tuple[float, float, float, float],
    ) -> _Exchange:
        """One request: entered for its response, and left to give the connection back.

        Args:
            method: in capitals.
            url: an address of this server.
            content: the body, if there is one.
            headers: besides those of the client.
            timeout: seconds to connect, to read, to write, and to wait for a connection.
        """
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        lines = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        if content is not None:
            lines += f"Content-Length: {len(content)}\r\n"
        head = f"{method} {target} HTTP/1.1\r\n{self._common}{lines}\r\n"
        return _Exchange(self, head.encode("latin-1"), content or b"", timeout)

    async def aclose(self) -> None:
        """Close every connection, those in use as well."""
        self._idle.clear()
        for connection in list(self._open):
            connection.abort()
        await asyncio.sleep(0)  # a connection is closed by the loop, in its next round

    async def take(self, connect: float, wait: float) -> Connection:
        """A connection for one request.

        Raises:
            httpx.HTTPError: nobody answers, or all are in use for too long.
        """
        try:
            # A timeout costs more than a place that is free.
            async with asyncio.timeout(wait) if self._places.locked() else nullcontext():
                await self._places.acquire()
        except TimeoutError:
            raise httpx.PoolTimeout("all connections are in use") from None
        try:
            return self._kept() or await self._connected(connect)
        except BaseException:
            self._places.release()
            raise

    def _kept(self) -> Connection | None:
        """The idle connection that was used last; those idle for too long are closed."""
        now = asyncio.get_running_loop().time()
        while self._idle and now - self._idle[0].since > _IDLE_SECONDS:
            self._idle.popleft().abort()
        while self._idle:
            connection = self._idle.pop()
            if connection.idle:
                return connection
        return None

    async def _connected(self, seconds: float) -> Connection:
        from fallback.proxy.upstream.connection import Connection

        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                _, made = await loop.create_connection(
                    lambda: Connection(self._idle.append, self._open.discard),
                    self._host,
                    self._port,
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout("the server does not take the connection") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        self._open.add(made)
        return made

    def give_back(self, connection: Connection, patience: float) -> None:
        """The exchange is over; see :meth:`Connection.release`."""
        self._places.release()
        connection.release(patience)


class PlainResponse:
    """An answer whose headers have come."""

    def __init__(self, connection: Connection, read_seconds: float) -> None:
        self._connection, self._read_seconds = connection, read_seconds
        self.status_code = connection.status
        self.patience = 0.0

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The body, as much at a time as has come.

        Raises:
            httpx.HTTPError: the body does not go on, or is packed although nobody asked for that.
        """
        encoding = self._connection.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise httpx.DecodingError(f"the encoding {encoding[:40]!r} was not asked for")
        while data := await self._connection.read(self._read_seconds):
            yield data

    def let_finish(self, seconds: float) -> None:
        """Give the body that time to end, unheard, once the response is left: what matters has
        come, and the connection can then be used again."""
        self.patience = seconds


class _Exchange:
    """The context of one request."""

    def __init__(
        self,
        client: PlainClient,
        head: bytes,
        body: bytes,
        timeout: tuple[float, float, float, float],
    ) -> None:
        self._client, self._head, self._body, self._timeout = client, head, body, timeout
        self._connection: Any = None
        self._response: Any = None

    async def __aenter__(self) -> PlainResponse:
        connect, read, write, wait = self._timeout
        connection = await self._client.take(connect, wait)
        try:
            await connection.send(self._head, self._body, write=write, read=read)
        except BaseException:
            self._client.give_back(connection, 0.0)
            raise
        self._connection = connection
        response = self._response = PlainResponse(connection, read)
        return response

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.give_back(self._connection, self._response.patience)
