"""The same call again: within one reply it runs once, over many replies it is noticed.

Two calls are the same if name and arguments are, whatever the order of keys. Over several replies
the *result* has to be the same too, and any other call in between starts the count anew: build,
mend, build again is work, not a loop. Several calls of one reply are counted as one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from fallback.limits import Limits
from fallback.loop.spent import Seen, Spent
from fallback.messages import ToolCall, ToolResult

__all__ = ["Repetition", "canonical", "copies"]


def canonical(name: str, arguments: Mapping[str, Any]) -> str:
    """One text for all spellings of a call: keys sorted, nothing else changed."""
    return json.dumps([name, arguments], ensure_ascii=False, sort_keys=True)


def copies(calls: Iterable[ToolCall]) -> dict[str, str]:
    """Map the id of each call that repeats an earlier one of the same reply to that one's id."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for call in calls:
        original = first.setdefault(canonical(call.name, call.arguments), call.id)
        if original != call.id:
            found[call.id] = original
    return found


class Repetition:
    """Counts how often in a row the same calls have come back with the same results."""

    def __init__(self, limits: Limits, spent: Spent) -> None:
        self._limits = limits
        self.times = spent.repeated
        self.last: tuple[Seen, ...] = spent.last

    def saw(
        self, answered: Sequence[tuple[ToolCall, ToolResult]]
    ) -> Literal["fine", "tell", "stop"]:
        """Take the calls of one reply; says whether the model has to be told, or stopped."""
        if not answered:
            return "fine"
        seen = tuple(
            (canonical(call.name, call.arguments), result.status, result.content)
            for call, result in answered
        )
        self.times = self.times + 1 if seen == self.last else 1
        self.last = seen
        if self.times >= self._limits.repeats_stopped:
            return "stop"
        return "tell" if self.times >= self._limits.repeats_told else "fine"
