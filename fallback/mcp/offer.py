"""The tools of several servers, as one list for a catalogue: named, tiered, and what is left out.

A name that two have is nobody's: each of the two is called by its server's name and its own. So a
server that turns up with a tool called like another's takes nothing over, neither its calls nor
what a policy says of that name. The application's own tools keep their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fallback.catalogue import fold
from fallback.errors import InvalidToolError
from fallback.limits import Limits
from fallback.mcp.hints import Hints, tier_of
from fallback.mcp.server import McpServer
from fallback.schema.places import preview
from fallback.tools import Risk, Tool, ToolOutput

__all__ = ["Caller", "Offer", "offer"]

Caller = Callable[[McpServer, str, dict[str, Any]], Awaitable[ToolOutput]]
"""Calls a tool of a server, by the server's own name for it."""

_LONGEST_DESCRIPTION = 4_000


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools, and a line for each thing that a person may wonder about."""

    tools: tuple[Tool, ...]
    notes: tuple[str, ...]


def offer(
    listed: Iterable[tuple[McpServer, Iterable[Any]]],
    taken: Iterable[str],
    call: Caller,
    limits: Limits,
) -> Offer:
    """Make tools of what servers list.

    Args:
        listed: each server with its tools as the SDK has them.
        taken: names of the application's own tools.
        call: makes a call.
        limits: bounds of the schemas.
    """
    notes: list[str] = []
    kept = [(server, tool) for server, tools in listed for tool in _kept(server, tools, notes)]
    counts = Counter(fold(tool.name) for _, tool in kept)
    used = {fold(name) for name in taken}
    shared = {name for name, number in counts.items() if number > 1} | used
    made: list[Tool] = []
    for server, tool in kept:
        name = tool.name
        if fold(name) in shared:
            name = f"{server.name}_{tool.name}"
            notes.append(f"{server.name}: {preview(tool.name)} is called {name}, the name is taken")
        if fold(name) in used or (name != tool.name and fold(name) in counts):
            notes.append(
                f"{server.name}: {preview(tool.name)} is left out, {name} is taken as well"
            )
            continue
        try:
            made.append(_tool(server, tool, name, call, limits, notes))
        except InvalidToolError as error:
            notes.append(f"{server.name}: left out, {error}")
            continue
        used.add(fold(name))
    return Offer(tuple(made), tuple(notes))


def _kept(server: McpServer, tools: Iterable[Any], notes: list[str]) -> list[Any]:
    """The tools that the application takes, each name once."""
    found: dict[str, Any] = {}
    for tool in tools:
        if tool.name in found:
            notes.append(f"{server.name}: it lists {preview(tool.name)} twice, the first counts")
        found.setdefault(tool.name, tool)
    missing = sorted(server.mentioned() - found.keys())
    notes += [f"{server.name}: the settings speak of {preview(n)}, no such tool" for n in missing]
    return [tool for name, tool in found.items() if server.takes(name)]


def _tool(
    server: McpServer, listed: Any, name: str, call: Caller, limits: Limits, notes: list[str]
) -> Tool:
    told = listed.annotations
    hints = (
        Hints()
        if told is None
        else Hints(
            read_only=told.read_only_hint,
            destructive=told.destructive_hint,
            idempotent=told.idempotent_hint,
            open_world=told.open_world_hint,
        )
    )
    own = server.tier(listed.name)
    risk = tier_of(own, hints, trusted=server.trusted)
    if own not in (None, risk):
        notes.append(f"{name}: {own} is not enough, the server says that it is {risk}")
    description = listed.description or listed.title or ""
    if len(description) > _LONGEST_DESCRIPTION:
        notes.append(f"{name}: its description is cut at {_LONGEST_DESCRIPTION} characters")
        description = description[:_LONGEST_DESCRIPTION] + "…"

    async def handler(**arguments: Any) -> ToolOutput:
        return await call(server, listed.name, arguments)

    return Tool(
        name=name,
        description=description,
        parameters=listed.input_schema,
        handler=handler,
        risk=risk,
        untrusted=not server.trusted,
        idempotent=server.trusted and hints.idempotent is True and risk is not Risk.DESTRUCTIVE,
        timeout=server.call_seconds,
        limits=limits,
    )
