"""The adapter without a server: a transport for the HTTP client that some client of models uses.

::

    ollama.Client(transport=fallback.Transport())
    openai.OpenAI(http_client=httpx2.Client(transport=fallback.Transport()))

Both take the requests of httpx and of its fork httpx2, and answer in the library of the request. A
stream is one: each piece can be read while the model writes the next.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import httpx

from fallback.errors import BackendTimeoutError, FallbackError
from fallback.limits import Limits
from fallback.proxy.http import Outgoing
from fallback.proxy.inside import Gateways, Plan
from fallback.proxy.loopthread import LoopClosedError, LoopThread
from fallback.proxy.settings import Settings

__all__ = ["AsyncTransport", "Transport"]

if TYPE_CHECKING:
    # What is of any class may be given to the clients of httpx and of httpx2 alike; each declares a
    # base class of its own, and looks at what it is given only by calling it.
    from typing import Any as _AsyncBase
    from typing import Any as _Base
else:
    _Base, _AsyncBase = httpx.BaseTransport, httpx.AsyncBaseTransport


class Transport(_Base):  # type: ignore[misc]  # any class, see above
    """Gives a blocking client tools for models that have none.

    Requests are answered on a thread of this transport, which any number of threads may share and
    which a forked process has one of its own of. Closing a response ends its generation; closing
    the transport, which closing the client does, ends them all and gives back the connections.

    Args:
        upstream: URL of the server behind, or ``embedded``; where the client's own requests go if
            not given.
        settings: modes, windows and corrections, as for the server.
        limits: of one reply.
        network: how the upstream is reached, in place of connections of our own: for other
            certificates, proxies, or a server in this process. Closed with the transport.

    Raises:
        ConfigurationError: the upstream is no address, or a key has no upstream.
        BackendConnectionError: the embedded engine is not installed.
    """

    def __init__(
        self,
        *,
        upstream: str | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        network: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._plan = Plan.of(upstream, settings, limits, network)
        self._homes: dict[int, _Home] = {}
        self._closed = False

    def handle_request(self, request: Any) -> Any:
        """See :class:`httpx.BaseTransport`."""
        home = self._home()
        opened: list[Outgoing] = []
        opening = _opened(home.gateways, request, _sent(request), opened)
        try:
            with _told(request):
                reply = home.thread.run(opening, _patience(request))
        except BaseException:
            # It may have been opened at the moment when nobody waited for it any more.
            home.thread.post(_close_all(opened))
            raise
        stream = _stream(_Body, "SyncByteStream", _library(request))
        return _response(reply, request, lambda: stream(reply, request, home.thread, self))

    def close(self) -> None:
        """End everything under way, and give back the connections to the upstream."""
        self._closed = True
        home = self._homes.get(os.getpid())
        if home is not None:
            home.close()

    def _home(self) -> _Home:
        if self._closed:
            raise RuntimeError("the transport has been closed: make a new one")
        pid = os.getpid()
        home = self._homes.get(pid)
        if home is None:
            # Two threads may both come here; one of the two is used, and the other never begins.
            home = self._homes.setdefault(pid, _Home(self._plan))
            weakref.finalize(self, home.close)
        return home


class AsyncTransport(_AsyncBase):  # type: ignore[misc]  # any class, see above
    """The same for an asynchronous client, in the event loop that the client is used in.

    Args:
        upstream, settings, limits, network: as for :class:`Transport`.

    Raises:
        ConfigurationError, BackendConnectionError: as there.
    """

    def __init__(
        self,
        *,
        upstream: str | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        network: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._plan = Plan.of(upstream, settings, limits, network)
        # Connections belong to a loop. One that has ended took them along.
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Gateways] = (
            weakref.WeakKeyDictionary()
        )
        self._closed = False

    async def handle_async_request(self, request: Any) -> Any:
        """See :class:`httpx.AsyncBaseTransport`."""
        gateways = self._gateways()
        opened: list[Outgoing] = []
        try:
            with _told(request):
                async with asyncio.timeout(_patience(request)):
                    reply = await _opened(gateways, request, _asent(request), opened)
        except BaseException:
            await _close_all(opened)
            raise
        stream = _stream(_AsyncBody, "AsyncByteStream", _library(request))
        return _response(reply, request, lambda: stream(reply, request))

    async def aclose(self) -> None:
        """Give back the connections to the upstream."""
        self._closed = True
        gateways = self._loops.pop(asyncio.get_running_loop(), None)
        if gateways is not None:
            await gateways.aclose()

    def _gateways(self) -> Gateways:
        if self._closed:
            raise RuntimeError("the transport has been closed: make a new one")
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError("fallback.AsyncTransport works with asyncio only") from None
        if loop not in self._loops:
            self._loops[loop] = Gateways(self._plan)
        return self._loops[loop]


class _Home:
    """A thread, and the gateways that live on it."""

    def __init__(self, plan: Plan) -> None:
        self.thread, self.gateways = LoopThread(), Gateways(plan)

    def close(self) -> None:
        self.thread.close(self.gateways.aclose)


# Requests ---------------------------------------------------------------------------------------


async def _opened(
    gateways: Gateways, request: Any, body: AsyncIterator[bytes], opened: list[Outgoing]
) -> Outgoing:
    reply = await gateways.handle(request, body)
    opened.append(reply)
    return reply


async def _close_all(opened: list[Outgoing]) -> None:
    for reply in opened:
        await reply.close()


async def _sent(request: Any) -> AsyncIterator[bytes]:
    """The body of a blocking request; a file that is uploaded is read in another thread."""
    if (whole := _whole(request)) is not None:
        yield whole
        return
    pieces = iter(request.stream)
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


async def _asent(request: Any) -> AsyncIterator[bytes]:
    if (whole := _whole(request)) is not None:
        yield whole
        return
    async for piece in request.stream:
        yield piece


def _whole(request: Any) -> bytes | None:
    """The body, where it is in memory already, as that of every request in JSON is."""
    try:
        return bytes(request.content)
    except _library(request).RequestNotRead:
        return None


def _patience(request: Any) -> float | None:
    """Seconds that the client waits for the next piece, as it has told its transport."""
    patience = request.extensions.get("timeout", {}).get("read")
    return None if patience is None else float(patience)


# Responses --------------------------------------------------------------------------------------


class _Body:
    """The body of a response to a blocking client."""

    def __init__(
        self, reply: Outgoing, request: Any, thread: LoopThread, transport: Transport
    ) -> None:
        self._reply, self._request, self._thread = reply, request, thread
        self._transport = transport  # which ends its thread when nobody has it any more
        self._open = True

    def __iter__(self) -> Iterator[bytes]:
        patience = _patience(self._request)
        pieces = _pieces(self._reply)
        with _told(self._request):
            while (piece := self._thread.run(_next(pieces), patience)) is not None:
                yield piece

    def close(self) -> None:
        if self._open:
            self._open = False
            with contextlib.suppress(LoopClosedError):  # its generations ended with it
                self._thread.run(_close_all([self._reply]))


class _AsyncBody:
    """The body of a response to an asynchronous client."""

    def __init__(self, reply: Outgoing, request: Any) -> None:
        self._reply, self._request = reply, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        patience = _patience(self._request)
        pieces = _pieces(self._reply)
        while True:
            with _told(self._request):
                async with asyncio.timeout(patience):
                    piece = await _next(pieces)
            if piece is None:
                return
            yield piece

    async def aclose(self) -> None:
        await self._reply.close()


def _pieces(reply: Outgoing) -> AsyncIterator[bytes]:
    assert not isinstance(reply.body, bytes)  # noqa: S101 -- those are answered whole
    return aiter(reply.body)


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)


def _response(reply: Outgoing, request: Any, body: Callable[[], Any]) -> httpx.Response:
    library = _library(request)
    made: httpx.Response
    if reply.failure is not None and reply.failure.kind == "unreachable":
        # What the client would have met with without us, and knows what to do about.
        raise library.ConnectError(reply.failure.message, request=request)
    if isinstance(reply.body, bytes):
        made = library.Response(reply.status, headers=reply.headers, content=reply.body)
    else:
        made = library.Response(reply.status, headers=reply.headers, stream=body())
    return made


@contextlib.contextmanager
def _told(request: Any) -> Iterator[None]:
    """Errors as exceptions of the client's own library."""
    library = _library(request)
    try:
        yield
    except (TimeoutError, BackendTimeoutError) as error:
        message = str(error) or f"nothing came within {_patience(request)} seconds"
        raise library.ReadTimeout(message, request=request) from error
    except FallbackError as error:
        raise library.ConnectError(str(error), request=request) from error
    except LoopClosedError as error:
        raise library.ReadError(f"the transport: {error}", request=request) from error
    except httpx.TransportError as error:
        same = getattr(library, type(error).__name__, library.ReadError)
        raise same(str(error), request=request) from error


def _library(request: Any) -> Any:
    """httpx or httpx2: whose request it is."""
    fork = sys.modules.get("httpx2")
    return fork if fork is not None and isinstance(request, fork.Request) else httpx


@cache
def _stream(body: type, name: str, library: ModuleType) -> Any:
    """The class of bodies that a library takes: its client checks what they are."""
    return type(body.__name__, (body, getattr(library, name)), {})
