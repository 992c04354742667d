"""What a tool may return in place of a plain value, to say where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fallback.messages import Source

__all__ = ["ToolOutput"]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A tool's value, and what is to be known about it.

    ::

        return ToolOutput(rows, provenance=["https://example.org/rows.csv"], untrusted=True)

    The value becomes ``ToolResult.value``; the rest is shown to the model in a line each.

    Attributes:
        value: what the tool would have returned.
        provenance: where it comes from: addresses or names, or a :class:`Source` with the time at
            which it was fetched; without one it is now.
        warnings: what the model has to know about it, in a sentence each.
        untrusted: whether it holds text of others; ``None`` for what the tool declares.
    """

    value: Any
    provenance: Iterable[str | Source] = ()
    warnings: Iterable[str] = ()
    untrusted: bool | None = None
