"""Requests and responses without a framework: what the gateway takes and gives."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fallback.proxy.ask import Refused
from fallback.proxy.events import Failure
from fallback.proxy.failures import invalid

__all__ = ["Incoming", "Outgoing", "json_reply", "read_json", "too_large"]

_MOST_DEPTH = 200
"""Nesting of a body. Schemas are allowed 128 levels, and stand some ten levels deep."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request.

    Attributes:
        method: in capitals.
        path: decoded, without the query.
        query: as it stands behind the ``?``.
        headers: names in small letters.
        body: the pieces of the body.
        client: whose limits it counts towards; empty for anybody.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: AsyncIterator[bytes] | None = None
    query: str = ""
    client: str = ""

    def header(self, name: str) -> str:
        """The first header of that name; empty if there is none."""
        return next((value for key, value in self.headers if key == name), "")


async def _nothing() -> None:
    return None


@dataclass(slots=True)
class Outgoing:
    """A response; ``close`` has to be awaited when it has been sent, or cannot be.

    ``failure`` is what went wrong, where the response tells of an error of ours.
    """

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes | AsyncIterator[bytes] = b""
    close: Callable[[], Awaitable[None]] = _nothing
    failure: Failure | None = None


def json_reply(
    status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> Outgoing:
    """A response in JSON."""
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    lines = [("content-type", "application/json"), ("content-length", str(len(data)))]
    return Outgoing(status, [*lines, *(headers or {}).items()], data)


def too_large(limit: int) -> Refused:
    """The body has more bytes than are taken."""
    message = f"the request is larger than {limit:,} bytes; send less, or raise max_body"
    return Refused(Failure(kind="too_large", message=message, status=413))


async def read_json(incoming: Incoming, limit: int) -> tuple[dict[str, Any], bytes]:
    """The body as a JSON object, and its bytes.

    Raises:
        Refused: too large, too deep, or no JSON object.
    """
    data = bytearray()
    if incoming.body is not None:
        async for piece in incoming.body:
            data += piece
            if len(data) > limit:
                raise too_large(limit)
    raw = bytes(data)
    try:
        # NaN and infinities are no JSON; nothing behind us takes them.
        body = json.loads(raw.decode("utf-8", "replace"), parse_constant=lambda name: None)
    except RecursionError:
        raise Refused(invalid("the request is nested too deeply")) from None
    except ValueError as error:
        raise Refused(invalid(f"the request is no JSON: {error}")) from None
    if not isinstance(body, dict):
        raise Refused(invalid("the request has to be a JSON object"))
    if _deeper(body, _MOST_DEPTH):
        raise Refused(invalid(f"the request is nested more than {_MOST_DEPTH} levels deep"))
    return body, raw


def _deeper(value: Any, levels: int) -> bool:
    """Whether a value has more levels than that; goes through it level by level."""
    layer = [value]
    for _ in range(levels):
        layer = [
            inner
            for item in layer
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, dict | list)
        ]
        if not layer:
            return False
    return True
