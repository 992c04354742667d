"""The names of the dialects that are read: what a call says that it was written in."""

from __future__ import annotations

from collections.abc import Iterable

from fallback.dialects.markers import MARKERS
from fallback.errors import UnknownDialectError

__all__ = ["READ", "chosen_dialects"]

# Known by their form, not by a marker of their own.
_UNMARKED = ("fenced", "glm", "inline", "json", "name_json", "qwen_agent", "react", "tag_per_tool")

READ: frozenset[str] = frozenset((*_UNMARKED, *(m.dialect for m in MARKERS if m.dialect)))
"""Every name that :attr:`fallback.messages.ToolCall.dialect` can have for a call that was read."""


def chosen_dialects(names: Iterable[str] | None) -> frozenset[str] | None:
    """The dialects that a caller wants read; ``None`` for all.

    Raises:
        UnknownDialectError: one of them is not read.
    """
    if names is None:
        return None
    chosen = frozenset((names,) if isinstance(names, str) else names)
    unknown = sorted(map(str, chosen - READ))
    if unknown:
        known = ", ".join(sorted(READ))
        raise UnknownDialectError(f"there is no dialect {unknown[0]!r} to read; there are {known}")
    return chosen
