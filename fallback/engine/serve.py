"""The engine behind a port: ``fallback engine serve``, an Ollama for whoever has none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from fallback.engine.cancel import Cancellation
from fallback.engine.core import Engine
from fallback.engine.guard import host_allowed, is_loopback, origin_allowed
from fallback.engine.reply import Reply, WireError, error_reply
from fallback.engine.transport import in_thread, pieces
from fallback.errors import EngineError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 11434
MAX_BODY = 64 * 1024 * 1024
"""Bytes of one request: far beyond any window, far below what hurts."""

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_TOO_LARGE = WireError(413, f"the request is larger than {MAX_BODY} bytes")


def create_app(engine: Engine, *, check_host: bool = True) -> Starlette:
    """An ASGI application that answers as ``engine`` does.

    ``check_host`` refuses requests that name another machine; switch it off only where the engine
    is meant to be reached under other names. The engine stays open when the application ends.
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.routing import Route

    return Starlette(
        routes=[Route("/{path:path}", _Answer(engine))],
        middleware=[Middleware(_Guard, check_host=check_host)],
    )


def run(
    *,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    engine: Engine | None = None,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Serve until Ctrl-C. ``on_start`` is told the URL once the port is open.

    Without an ``engine`` one is made that does not open files by path, since a request could then
    name any file. Raises :class:`EngineError` if the port cannot be opened or the extra is not
    installed.
    """
    import socket

    try:
        import uvicorn

        app = create_app(
            engine := Engine(local_files=False) if engine is None else engine,
            check_host=is_loopback(host),
        )
    except ImportError as error:
        raise EngineError(
            "serving needs more packages; run `pip install 'toolcall-fallback[embedded]'`"
        ) from error
    try:
        listener = socket.create_server((host, port), family=_family(host))
    except OSError as error:
        raise EngineError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; choose another --port"
        ) from error
    if on_start is not None:
        shown = f"[{host}]" if ":" in host else host
        on_start(f"http://{shown}:{listener.getsockname()[1]}")
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
    # uvicorn passes Ctrl-C on when it has shut down in good order.
    with listener, engine, contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def _family(host: str) -> int:
    import socket

    return socket.AF_INET6 if ":" in host else socket.AF_INET


class _Answer:
    """The one endpoint: hands the request to the engine and sends on what it answers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        import anyio
        from starlette.requests import ClientDisconnect, Request

        request = Request(scope, receive)
        try:
            body = await _body(request)
        except ClientDisconnect:
            return
        if body is None:
            await _send(error_reply(_TOO_LARGE), send)
            return
        cancellation = Cancellation()
        answer = partial(
            self._engine.handle,
            request.method,
            request.url.path,
            body,
            cancellation=cancellation,
        )
        async with anyio.create_task_group() as group:
            group.start_soon(_watch, receive, cancellation)
            await _send(await in_thread(answer, cancellation), send)
            group.cancel_scope.cancel()


async def _send(reply: Reply, send: Any) -> None:
    headers = [(key.encode(), value.encode()) for key, value in reply.headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    async with contextlib.aclosing(pieces(reply)) as stream:
        async for piece in stream:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _watch(receive: Any, cancellation: Cancellation) -> None:
    """Give the request up when its client goes away, also while there is nothing to send."""
    while (await receive())["type"] != "http.disconnect":
        pass
    cancellation.cancel()


async def _body(request: Request) -> bytes | None:
    """The request's body; ``None`` if it is too large, whatever its headers say."""
    collected = bytearray()
    async for chunk in request.stream():
        collected += chunk
        if len(collected) > MAX_BODY:
            return None
    return bytes(collected)


class _Guard:
    """Refuses foreign hosts and origins, and answers browsers' questions about them."""

    def __init__(self, app: Any, *, check_host: bool) -> None:
        self._app, self._check_host = app, check_host

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        from starlette.datastructures import Headers
        from starlette.responses import Response

        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin", "")
        if not origin_allowed(origin, host) or (self._check_host and not host_allowed(host)):
            await Response(status_code=403)(scope, receive, send)
            return
        if not origin:
            await self._app(scope, receive, send)
            return
        shared = {"access-control-allow-origin": origin, "vary": "Origin"}
        if scope["method"] == "OPTIONS":
            asked = headers.get("access-control-request-headers", "")
            shared["access-control-allow-methods"] = ", ".join(_METHODS)
            shared["access-control-allow-headers"] = asked or "Content-Type"
            await Response(status_code=204, headers=shared)(scope, receive, send)
            return

        async def send_shared(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(k.encode(), v.encode()) for k, v in shared.items()]
            await send(message)

        await self._app(scope, receive, send_shared)
