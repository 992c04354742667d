"""The gateway as an ASGI application, for uvicorn or any other server of that kind."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from fallback.proxy.config import load_settings
from fallback.proxy.gateway import Gateway
from fallback.proxy.http import Incoming, Outgoing
from fallback.proxy.settings import Settings

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["create_app"]


def create_app(settings: Settings | None = None, *, gateway: Gateway | None = None) -> Starlette:
    """The application.

    Args:
        settings: what the server is told; read from the environment and ``fallback.toml`` if not
            given.
        gateway: in place of one that is made from the settings; closed with the application.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    served = gateway or Gateway(settings or load_settings())

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await served.aclose()

    return Starlette(routes=[Route("/{path:path}", _Endpoint(served))], lifespan=lifespan)


class _Endpoint:
    """The one endpoint: carries a request to the gateway and its response back."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = _Body(receive)
        incoming = Incoming(
            method=scope["method"],
            path=scope["path"],
            query=scope["query_string"].decode("latin-1"),
            headers=tuple(
                (key.decode("latin-1").lower(), value.decode("latin-1"))
                for key, value in scope["headers"]
            ),
            body=body.pieces(),
            client=(scope.get("client") or ("",))[0],
        )
        answering = asyncio.create_task(_respond(self._gateway, incoming, send))
        leaving = asyncio.create_task(body.gone())
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not answering.done():
                answering.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await answering


async def _respond(gateway: Gateway, incoming: Incoming, send: Any) -> None:
    try:
        reply = await gateway.handle(incoming)
    except _LeftError:
        return
    try:
        await _send(reply, send)
    finally:
        await reply.close()


async def _send(reply: Outgoing, send: Any) -> None:
    headers = [(key.encode("latin-1"), value.encode("latin-1")) for key, value in reply.headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if isinstance(reply.body, bytes):
        await send({"type": "http.response.body", "body": reply.body})
        return
    async for piece in reply.body:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


class _LeftError(Exception):
    """The client went away before its request was complete."""


class _Body:
    """The body of a request, and then the news that its client has gone."""

    def __init__(self, receive: Any) -> None:
        self._receive = receive
        self._read = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The pieces as they come."""
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise _LeftError
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body"):
                self._read.set()
                return

    async def gone(self) -> None:
        """Returns when the client has gone; a body that is still coming is not touched."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
