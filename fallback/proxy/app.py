"""The gateway as an ASGI application, for uvicorn or any other server of that kind.

ASGI is three kinds of scope and a handful of messages; between a client and its model a framework
would only be paid for. Source: https://asgi.readthedocs.io/en/latest/specs/main.html, its ``http``,
``lifespan`` and ``websocket`` parts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from fallback.proxy.config import load_settings
from fallback.proxy.gateway import Gateway
from fallback.proxy.http import Incoming, Outgoing
from fallback.proxy.settings import Settings

__all__ = ["App", "create_app"]


def create_app(
    settings: Settings | None = None,
    *,
    gateway: Gateway | None = None,
    on_start: Callable[[], object] | None = None,
) -> App:
    """The application.

    Args:
        settings: what the server is told; read from the environment and ``fallback.toml`` if not
            given.
        gateway: in place of one that is made from the settings; closed with the application.
        on_start: called in the event loop when the server starts.
    """
    return App(gateway or Gateway(settings or load_settings()), on_start)


class App:
    """Carries requests to a gateway, and its responses back."""

    def __init__(self, gateway: Gateway, on_start: Callable[[], object] | None = None) -> None:
        self._gateway, self._on_start = gateway, on_start

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One connection, as ASGI has it."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:  # a WebSocket that is closed before it was accepted is refused with 403
            await send({"type": "websocket.close"})

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        if self._on_start is not None:
            self._on_start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._gateway.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
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
        answering: Any = asyncio.current_task()
        watching = asyncio.create_task(body.gone(answering))
        try:
            await _respond(self._gateway, incoming, send, watching)
        except asyncio.CancelledError:
            # Its client has gone, unless it is the server that ends.
            if not body.left or answering.uncancel():
                raise
        finally:
            watching.cancel()


async def _respond(
    gateway: Gateway, incoming: Incoming, send: Any, watching: asyncio.Task[None]
) -> None:
    try:
        reply = await gateway.handle(incoming)
    except _LeftError:
        return
    try:
        await _send(reply, send)
        watching.cancel()  # now its going would only disturb
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
    """The body of a request, and then the news that its client has gone.

    Attributes:
        left: whether it has.
    """

    def __init__(self, receive: Any) -> None:
        self._receive = receive
        self._read = asyncio.Event()
        self.left = False

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

    async def gone(self, answering: asyncio.Task[None]) -> None:
        """Cancel the answer when the client has gone; a body still coming is not touched."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.left = True
        answering.cancel()
