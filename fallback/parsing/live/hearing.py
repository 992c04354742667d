"""Chunks on their way to a framer, heard by a follower as well."""

from __future__ import annotations

from fallback.parsing.framing import Framer
from fallback.parsing.live.follow import Follower
from fallback.parsing.source import Waiter


class Heard:
    """Wakes as its waiter does, and lets a follower hear each chunk.

    Nearly all chunks of a long call are a few plain characters in the middle of a string. Those are
    told as they are, and only counted.

    Args:
        waiter: feeds the framer.
        framer: follows the same value as the follower.
        follower: has not heard anything yet.
        text: what has arrived of the value; the framer has been fed with it.
    """

    __slots__ = ("_follower", "_framer", "_quote", "_tell", "_waiter")

    def __init__(self, waiter: Waiter, framer: Framer, follower: Follower, text: str) -> None:
        self._waiter, self._framer, self._follower = waiter, framer, follower
        follower.feed(text)
        self._look()

    def feed(self, chunk: str, /) -> bool:
        """See :class:`~fallback.parsing.source.Waiter`."""
        if (
            self._tell is not None
            and chunk.isprintable()
            and '"' not in chunk
            and "\\" not in chunk
            and self._quote not in chunk
        ):
            self._framer.seen += len(chunk)
            self._follower.before = chunk
            self._tell(chunk)
            return False
        self._follower.feed(chunk)
        settled = self._waiter.feed(chunk)
        self._look()
        return settled

    def _look(self) -> None:
        framer = self._framer
        watching = getattr(self._waiter, "watching", False)
        plain = framer.quote and not framer.carry and not watching
        self._tell = self._follower.direct if plain else None
        self._quote = framer.quote[:1]
