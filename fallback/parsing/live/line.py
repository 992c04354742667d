"""One line of plain text that is the only argument, as it arrives; see ``labelled``."""

from __future__ import annotations

from collections.abc import Callable

from fallback.parsing.live.arguments import Arguments

_QUOTES = "\"'"


class PlainLine:
    """Tells a line without the blanks and the quotes around it. Wakes at its end.

    Args:
        arguments: the writer of the call.
        key: the parameter.
    """

    def __init__(self, arguments: Arguments, key: str) -> None:
        self._arguments = arguments
        arguments.key(key)
        self._live = not arguments.stopped and arguments.streams
        self._kept = ""  # what may yet turn out to stand around the text
        self._stage: Callable[[str], str] | None = str.lstrip  # what is taken from the beginning
        self._piece: Callable[[str], None] | None = None
        self._sent = 0

    def feed(self, chunk: str, /) -> bool:
        """See :class:`~fallback.parsing.source.Waiter`."""
        line, end, _ = chunk.partition("\n")
        self._take(self._kept + line)
        return bool(end)

    def _take(self, text: str) -> None:
        while self._stage is not None and self._live:
            text = self._stage(text)
            if not text:
                self._kept = ""
                return
            self._stage = _unquoted if self._stage is str.lstrip else None
        inner, before = text, ""
        while inner != before:
            before, inner = inner, inner.rstrip().rstrip(_QUOTES)
        self._kept = text[len(inner) :]
        if inner and self._live:
            self._emit(inner)
            self._arguments.flush()

    def end(self, value: str) -> None:
        """The line is whole, and this is what was read."""
        if self._arguments.stopped:
            return
        if self._piece is None:
            self._arguments.scalar(value)
        else:
            self._emit(value[self._sent :])
            self._arguments.end_string()
        self._arguments.flush()

    def _emit(self, text: str) -> None:
        self._piece = self._piece or self._arguments.string()
        self._piece(text)
        self._sent += len(text)


def _unquoted(text: str) -> str:
    return text.lstrip(_QUOTES)
