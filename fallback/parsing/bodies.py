"""What a reader found in one body: items, and for each the calls it states or why it states
none."""

from __future__ import annotations

from dataclasses import dataclass, field

from fallback.messages import ProblemKind
from fallback.parsing.rawcall import RawCall


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an item is no call."""

    kind: ProblemKind
    message: str
    name: str = ""


@dataclass(slots=True)
class Item:
    """One object or call: where it stands, and the calls it states or why it states none."""

    start: int
    end: int
    calls: list[RawCall] = field(default_factory=list)
    fault: Fault | None = None


@dataclass(slots=True)
class Body:
    """What was read: its items, where it ended, and whether it was data after all."""

    items: list[Item] = field(default_factory=list)
    start: int = 0
    end: int = 0
    data: bool = False
    bracketed: bool = False

    @property
    def calls(self) -> list[RawCall]:
        """The calls of all items, in order."""
        return [call for item in self.items for call in item.calls]


def truncated(name: str) -> Fault:
    """The fault of a call that stops before its end."""
    return Fault("truncated", "the call was cut off before it was complete", name)
