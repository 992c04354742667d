"""The client's stop strings, applied to the text that it sees and to nothing else.

Sent to the server, they would cut calls too: ``Observation:`` or ``</code>`` may stand in an
argument. And a server does not say which string it was, which one wire has to report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["StopFilter"]


class StopFilter:
    """Passes text on until a stop string is complete; holds back only what can still become one.

    Attributes:
        hit: the string that ended the text, once one has.
    """

    def __init__(self, stops: Iterable[str]) -> None:
        self._stops = tuple(filter(None, stops))
        self._longest = max(map(len, self._stops), default=0)
        self._found = re.compile("|".join(map(re.escape, self._stops))) if self._stops else None
        self._held = ""
        self.hit: str | None = None

    def feed(self, text: str) -> str:
        """What can go out now."""
        if self._found is None:
            return text
        if self.hit is not None:
            return ""
        text = self._held + text
        match = self._found.search(text)
        if match is not None:
            self.hit, self._held = match[0], ""
            return text[: match.start()]
        keep = self._open_end(text)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def close(self) -> str:
        """What was held back and became nothing."""
        held, self._held = self._held, ""
        return held

    def _open_end(self, text: str) -> int:
        """Length of the longest end of the text that begins a stop string."""
        for size in range(min(self._longest - 1, len(text)), 0, -1):
            end = text[len(text) - size :]
            if any(stop.startswith(end) for stop in self._stops):
                return size
        return 0
