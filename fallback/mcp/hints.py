"""From the hints of a server to a tier: hints of somebody who is not trusted only tighten.

The hints are ``readOnlyHint``, ``destructiveHint`` and ``openWorldHint`` of the MCP specification
(server/tools, ``ToolAnnotations``), with its defaults: a tool that says nothing may destroy.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallback.tools import Risk

__all__ = ["Hints", "tier_of"]

_ORDER = (
    Risk.READ_ONLY,
    Risk.REVERSIBLE_WRITE,
    Risk.EXTERNAL_COMMUNICATION,
    Risk.DESTRUCTIVE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What a server says of a tool; ``None`` where it says nothing."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


def tier_of(own: Risk | None, hints: Hints, *, trusted: bool) -> Risk:
    """The tier under which a tool of a server is offered.

    Args:
        own: what the application has set; hints only make it stricter.
        hints: what the server says.
        trusted: whether they are believed where the application has set nothing. Otherwise the tool
            counts as one that may destroy, whatever the server says.
    """
    if own is not None:
        return max(own, _at_least(hints), key=_ORDER.index)
    return _believed(hints) if trusted else Risk.DESTRUCTIVE


def _at_least(hints: Hints) -> Risk:
    """What a server admits to, in so many words."""
    if hints.read_only is True:
        return Risk.READ_ONLY
    if hints.destructive is True:
        return Risk.DESTRUCTIVE
    return Risk.REVERSIBLE_WRITE if hints.read_only is False else Risk.READ_ONLY


def _believed(hints: Hints) -> Risk:
    if hints.read_only is True:
        return Risk.READ_ONLY
    if hints.destructive is not False:
        return Risk.DESTRUCTIVE
    return Risk.REVERSIBLE_WRITE if hints.open_world is False else Risk.EXTERNAL_COMMUNICATION
