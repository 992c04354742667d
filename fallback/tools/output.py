"""What a tool may return in place of a plain value, to say where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

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
        verbatim: whether a page is the matter itself, such as a file that is to be edited, and is
            shown as the HTML that it is.
    """

    value: Any
    provenance: Iterable[str | Source] = ()
    warnings: Iterable[str] = ()
    untrusted: bool | None = None
    verbatim: bool = False

    def __post_init__(self) -> None:
        # Here, inside the tool, a mistake is an error of the tool.
        put = object.__setattr__
        given = self.provenance
        listed = (given,) if isinstance(given, str | Source) else given
        put(self, "provenance", tuple(s if isinstance(s, Source) else Source(s) for s in listed))
        told = self.warnings
        put(self, "warnings", (told,) if isinstance(told, str) else tuple(map(str, told)))

    @property
    def sources(self) -> tuple[Source, ...]:
        """The provenance, each entry as a :class:`Source`."""
        return cast("tuple[Source, ...]", self.provenance)
