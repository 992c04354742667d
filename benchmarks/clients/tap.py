"""Between a client and the adapter: what the client asks for, and requests made odder.

::

    python -m benchmarks.clients.tap URL

prints its own address. ``GET /_tap`` gives method, path and status of every request that it has
passed on; ``POST /_tap`` forgets them, and says with ``{"odd": true}`` that to each body fields,
headers, content blocks, messages and tools of unknown kinds are to be added: what clients will send
some day.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

_METHODS = ["GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"]
_OWN_TO_A_HOP = {"host", "connection", "content-length", "transfer-encoding", "keep-alive"}
_ODD_HEADERS = {
    "x-unheard-of": "1",
    "anthropic-beta": "telepathy-2030-01-01",
    "openai-organization": "none",
    "originator": "nobody",
}


def odd(body: dict[str, Any]) -> dict[str, Any]:
    """The body with things of unknown kinds at every place where a kind stands."""
    told = {**body, "x_unheard_of": {"deep": [1, None]}, "safeguards": True}
    for key in ("messages", "input"):
        if isinstance(body.get(key), list):
            told[key] = [{"role": "oracle", "content": ""}, *map(_odd_message, body[key])]
    if isinstance(body.get("input"), list):
        told["input"].append({"type": "telepathy_call", "id": "t1", "status": "completed"})
    if body.get("tools"):
        told["tools"] = [*body["tools"], {"type": "telepathy_20300101", "name": "mind", "x": 1}]
    return told


def _odd_message(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    told = {**message, "x_unheard_of": 1}
    content = message.get("content")
    if isinstance(content, list):
        told["content"] = [*content, {"type": "hologram", "data": "AAAA"}]
    return told


class _Tap:
    def __init__(self, target: str) -> None:
        self._target = target
        self._http = httpx.AsyncClient(trust_env=False, timeout=None)  # noqa: S113 -- the client's own limits count
        for name in tuple(self._http.headers):
            del self._http.headers[name]  # what a client does not send counts too
        self.asked: list[dict[str, Any]] = []
        self.odd = False

    async def told(self, request: Request) -> Response:
        return JSONResponse(self.asked)

    async def told_to(self, request: Request) -> Response:
        self.asked.clear()
        self.odd = bool((await request.json()).get("odd"))
        return JSONResponse({})

    async def passed_on(self, request: Request) -> Response:
        body = await request.body()
        headers = {k: v for k, v in request.headers.items() if k not in _OWN_TO_A_HOP}
        if self.odd and body and request.method == "POST":
            body = json.dumps(odd(json.loads(body))).encode()
            headers |= _ODD_HEADERS
        record = {"method": request.method, "path": request.url.path, "status": 0}
        self.asked.append(record)
        query = f"?{request.url.query}" if request.url.query else ""
        url = f"{self._target}{request.url.path}{query}"
        sent = self._http.build_request(request.method, url, content=body, headers=headers)
        reply = await self._http.send(sent, stream=True)
        record["status"] = reply.status_code
        kept = {k: v for k, v in reply.headers.items() if k not in _OWN_TO_A_HOP}
        return StreamingResponse(_pieces(reply), reply.status_code, kept)


async def _pieces(reply: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for piece in reply.aiter_raw():
            yield piece
    finally:
        await reply.aclose()


def main(target: str) -> None:
    tap = _Tap(target)
    app = Starlette(
        routes=[
            Route("/_tap", tap.told, methods=["GET"]),
            Route("/_tap", tap.told_to, methods=["POST"]),
            Route("/{path:path}", tap.passed_on, methods=_METHODS),
        ]
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1])
