"""What goes out on the wire: replies, errors, lines, times.

Source of every field name, status and text: Ollama's API as of version 0.33 (see ``wire.py``).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fallback.engine.cancel import Cancellation

JSON = "application/json; charset=utf-8"
NDJSON = "application/x-ndjson"
TEXT = "text/plain; charset=utf-8"


class WireError(Exception):
    """A request that is answered with an error.

    Attributes:
        status: the HTTP status.
        text: what stands under ``error`` in the body.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


@dataclass(slots=True)
class Reply:
    """The answer to one request. ``body`` yields bytes as they come into being.

    Closing it gives the generation up, if one is still running; so does giving up the request's
    :class:`~fallback.engine.cancel.Cancellation` from another thread.
    """

    status: int
    headers: Mapping[str, str]
    body: Iterator[bytes]
    cancellation: Cancellation = field(default_factory=Cancellation)

    def close(self) -> None:
        """End the generation behind the reply; a reply that is complete does not mind."""
        self.cancellation.cancel()

    def read(self) -> bytes:
        """The whole body."""
        return b"".join(self.body)


def encode(value: Any) -> bytes:
    """One JSON document as Go writes it: compact, UTF-8, and safe inside HTML."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return text.encode("utf-8", "replace")


def json_reply(value: Any, status: int = 200) -> Reply:
    """A reply of one JSON document."""
    return Reply(status, {"content-type": JSON}, iter((encode(value),)))


def text_reply(text: str, status: int = 200) -> Reply:
    """A reply of plain text."""
    return Reply(status, {"content-type": TEXT}, iter((text.encode(),)))


def error_reply(error: WireError) -> Reply:
    """The reply that reports ``error``."""
    return json_reply({"error": error.text}, error.status)


def timestamp(nanoseconds: int | None = None) -> str:
    """A moment (nanoseconds since the epoch, by default now) in RFC 3339, in UTC."""
    nanoseconds = time.time_ns() if nanoseconds is None else nanoseconds
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"


def without_zeros(stats: Mapping[str, int]) -> dict[str, int]:
    """Go's ``omitempty``: a statistic that is zero is not sent."""
    return {name: value for name, value in stats.items() if value}
