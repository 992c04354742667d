"""The engine as an httpx transport: a client of Ollama that needs no server.

``httpx.Client(transport=EngineTransport(engine), base_url="http://embedded")`` speaks to the engine
exactly as it would to Ollama, streaming included: a piece can be read while the model still writes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from functools import partial
from typing import TypeVar

import httpx

from fallback.engine.cancel import Cancellation
from fallback.engine.core import Engine
from fallback.engine.pump import SilenceError
from fallback.engine.reply import Reply

T = TypeVar("T")


class EngineTransport(httpx.BaseTransport):
    """Answers the requests of an ``httpx.Client``. Closing a response ends its generation."""

    def __init__(self, engine: Engine | None = None) -> None:
        """Use ``engine``, or one of our own, which is closed with the transport."""
        self._owned = engine is None
        self.engine = Engine() if engine is None else engine

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """See :class:`httpx.BaseTransport`."""
        body = request.read()
        try:
            reply = _handle(self.engine, request, body, Cancellation())
        except SilenceError as error:
            raise httpx.ReadTimeout(str(error), request=request) from error
        return httpx.Response(reply.status, headers=reply.headers, stream=_Stream(reply))

    def close(self) -> None:
        """Unload the model if the engine is our own."""
        if self._owned:
            self.engine.close()


class AsyncEngineTransport(httpx.AsyncBaseTransport):
    """The same for an ``httpx.AsyncClient``; the engine works in threads."""

    def __init__(self, engine: Engine | None = None) -> None:
        """Use ``engine``, or one of our own, which is closed with the transport."""
        self._owned = engine is None
        self.engine = Engine() if engine is None else engine

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """See :class:`httpx.AsyncBaseTransport`."""
        body = await request.aread()
        cancellation = Cancellation()
        try:
            reply = await in_thread(
                partial(_handle, self.engine, request, body, cancellation), cancellation
            )
        except SilenceError as error:
            raise httpx.ReadTimeout(str(error), request=request) from error
        return httpx.Response(reply.status, headers=reply.headers, stream=_AsyncStream(reply))

    async def aclose(self) -> None:
        """Unload the model if the engine is our own."""
        if self._owned:
            await in_thread(self.engine.close, Cancellation())


async def in_thread(function: Callable[[], T], cancellation: Cancellation) -> T:
    """Run ``function`` in a thread; if the task is cancelled, the engine's request is given up."""
    import anyio.to_thread

    try:
        return await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
    except BaseException:
        cancellation.cancel()
        raise


async def pieces(reply: Reply) -> AsyncGenerator[bytes, None]:
    """The body of ``reply`` as it comes; ends the generation when it is left."""
    try:
        while (
            piece := await in_thread(partial(next, reply.body, None), reply.cancellation)
        ) is not None:
            yield piece
    finally:
        reply.close()


def _handle(
    engine: Engine, request: httpx.Request, body: bytes, cancellation: Cancellation
) -> Reply:
    timeout = request.extensions.get("timeout", {}).get("read")
    return engine.handle(
        request.method, request.url.path, body, cancellation=cancellation, timeout=timeout
    )


class _Stream(httpx.SyncByteStream):
    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._reply.body
        except SilenceError as error:
            raise httpx.ReadTimeout(str(error)) from error

    def close(self) -> None:
        self._reply.close()


class _AsyncStream(httpx.AsyncByteStream):
    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in pieces(self._reply):
                yield piece
        except SilenceError as error:
            raise httpx.ReadTimeout(str(error)) from error

    async def aclose(self) -> None:
        self._reply.close()
