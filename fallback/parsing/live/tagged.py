"""Raw text between tags, as it arrives; see :mod:`fallback.parsing.tagged`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fallback.parsing.live.arguments import Arguments

_TEXTS = (None, "", "true", "string")
_NULLS = ("null", "None")


class TaggedValue:
    """Tells one raw value. What the schema makes of it in the end may not be told before.

    Args:
        arguments: the writer of the call.
        key: the parameter.
        json_type: how the tag says that the value has to be read, if it does.
        exact: whether no line break around the value is markup.
    """

    def __init__(
        self, arguments: Arguments, key: str, json_type: str | None, *, exact: bool = False
    ) -> None:
        self._arguments = arguments
        arguments.key(key)
        self._live = json_type in _TEXTS and not arguments.stopped and arguments.streams
        self._nullable = not arguments.stopped and arguments.nullable
        self._trimmed = False if exact else None  # whether line breaks around the value are markup
        self._kept = ""  # what may yet turn out not to belong to it
        self._sent = 0
        self._tell: Callable[[str], None] | None = None  # takes plain characters, if they may go
        self._piece: Callable[[str], None] | None = None

    def feed(self, text: str) -> None:
        """Take the next piece of the value."""
        if not self._live or not text:
            return
        if self._tell is not None and text.isprintable() and '"' not in text and "\\" not in text:
            self._sent += len(text)
            self._tell(text)
            return
        text = self._kept + text
        if self._trimmed is None:
            if text == "\r":
                self._kept = text
                return
            self._trimmed = text.startswith(("\n", "\r\n"))
            if self._trimmed:
                text = text.removeprefix("\r").removeprefix("\n")
        end = len(text)
        if self._trimmed:
            end -= text.endswith(("\n", "\r"))
            end -= text.endswith("\r\n")
        if self._nullable and not self._sent and any(n.startswith(text[:end]) for n in _NULLS):
            end = 0
        self._kept = text[end:]
        if end:
            self._emit(text[:end])
            self._arguments.flush()
        self._tell = self._arguments.direct if self._piece and not self._kept else None

    def end(self, value: Any) -> None:
        """The value is whole, and this is what was read."""
        if self._arguments.stopped:
            return
        if self._piece is not None:
            self._emit(value[self._sent :])
            self._arguments.end_string()
        elif self._nullable and value in _NULLS:
            self._arguments.scalar(None)
        else:
            self._arguments.scalar(value)
        self._arguments.flush()

    def _emit(self, text: str) -> None:
        self._piece = self._piece or self._arguments.string()
        self._piece(text)
        self._sent += len(text)
