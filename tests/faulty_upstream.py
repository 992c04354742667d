"""An upstream without manners: the name of the model says what goes wrong on the connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

__all__ = ["FAULTS", "faulty_upstream"]

FAULTS = (
    "reset",  # the connection is reset in the middle of the text
    "ends",  # it is closed there, as if all were well
    "stalls",  # it stays open and says no more
    "mute",  # the request is taken and never answered
    "garbage",  # what comes is no HTTP
    "malformed",  # a line is no JSON
    "wrong",  # the lines are JSON, and nothing that belongs here
    "page",  # a web page with status 200, as some proxies answer
    "bytes",  # a line is no UTF-8
    "nothing",  # the answer is empty
)
_LINES = [{"response": "Paris is ", "done": False}, {"response": "the capital.", "done": False}]
_END = {"response": "", "done": True, "done_reason": "stop", "prompt_eval_count": 9}
_SHOWN = {
    "template": "{{ .System }}<|im_start|>user\n{{ .Prompt }}<|im_end|>",
    "capabilities": ["completion"],
}
_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def _line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


_BODIES = {
    "malformed": [
        _chunk(_line(_LINES[0])),
        _chunk(
            b'{"response": "the',
        ),
        _chunk(b"\n"),
        b"0\r\n\r\n",
    ],
    "wrong": [_chunk(b'[1, null]\n"text"\n{"response": 7, "done": "no"}\n'), b"0\r\n\r\n"],
    "page": [_chunk(b"<html><body>Sign in</body></html>\n"), b"0\r\n\r\n"],
    "bytes": [_chunk(b'{"response": "\xff\xfe", "done": \xff}\n'), b"0\r\n\r\n"],
    "nothing": [b"0\r\n\r\n"],
    "ends": [_chunk(_line(_LINES[0]))],
    "reset": [_chunk(_line(_LINES[0]))],
    "stalls": [_chunk(_line(_LINES[0]))],
    "well": [*(_chunk(_line(line)) for line in (*_LINES, _END)), b"0\r\n\r\n"],
}


async def _generate(model: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Answer; whether the connection can be used again."""
    if model == "mute":
        await reader.read()  # until the adapter gives up
        return False
    if model == "garbage":
        writer.write(b"\x00\x01 this is no HTTP\r\n\r\n")
        return False
    writer.write(_HEAD)
    while model == "flood":  # more than any client wants to hear
        writer.write(_chunk(_line({"response": "Paris is the capital. " * 500, "done": False})))
        await writer.drain()
    for piece in _BODIES[model]:
        size = 1 if model == "well" else len(piece)  # a slow one, byte by byte
        for start in range(0, len(piece), size):
            writer.write(piece[start : start + size])
            await writer.drain()
            await asyncio.sleep(0)
    if model == "stalls":
        await reader.read()
    if model == "reset":
        writer.transport.abort()
    return model not in ("stalls", "reset", "ends")


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        going_on = True
        while going_on:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = head.partition("content-length:")[2].split()[:1]
            body = await reader.readexactly(int(length[0]) if length else 0)
            if " /api/generate " in head:
                going_on = await _generate(json.loads(body)["model"], reader, writer)
                continue
            whole = _line(_SHOWN if " /api/show " in head else {"version": "0.33.0", "models": []})
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(whole), whole))
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def faulty_upstream() -> AsyncIterator[str]:
    """Start one in this event loop; gives its address."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
