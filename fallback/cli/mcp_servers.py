"""The options ``--mcp...`` as servers of tools."""

from __future__ import annotations

from collections.abc import Iterable

from fallback.errors import ConfigurationError
from fallback.mcp import McpServer

__all__ = ["mcp_servers"]

Given = Iterable[str] | None


def mcp_servers(
    addresses: Given,
    *,
    trust: Given = None,
    only: Given = None,
    hide: Given = None,
    risk: Given = None,
) -> tuple[McpServer, ...]:
    """The servers, each with what the other options say of it.

    Args:
        addresses: commands or URLs, with ``NAME=`` before them if wanted.
        trust: names of servers.
        only: ``TOOL``, or ``NAME:TOOL`` where there are several servers; the same for the others.
        hide: the same.
        risk: the same, with ``=TIER`` behind it.

    Raises:
        ConfigurationError: an option speaks of a server that there is not, or leaves open which.
    """
    servers = [McpServer.of(address) for address in addresses or ()]
    known = [server.name for server in servers]
    trusted = set(trust or ())
    if unknown := sorted(trusted - set(known)):
        raise _no_such("--mcp-trust", unknown[0], known)
    kept, hidden = _by_server("--mcp-only", only, known), _by_server("--mcp-hide", hide, known)
    tiers = _by_server("--mcp-risk", risk, known)
    return tuple(
        server.but(
            trusted=server.name in trusted,
            allow=frozenset(kept[server.name]) if server.name in kept else None,
            hide=frozenset(hidden.get(server.name, ())),
            risk=dict(map(_tier, tiers.get(server.name, ()))),
        )
        for server in servers
    )


def _by_server(option: str, given: Given, known: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in given or ():
        name, colon, tool = text.partition(":")
        if colon and name in known:
            found.setdefault(name, []).append(tool)
        elif len(known) == 1:
            found.setdefault(known[0], []).append(text)
        else:
            raise _no_such(option, name if colon else text, known)
    return found


def _tier(text: str) -> tuple[str, str]:
    tool, equals, tier = text.rpartition("=")
    if not equals or not tool:
        raise ConfigurationError(f"--mcp-risk {text!r} is not TOOL=TIER")
    return tool, tier


def _no_such(option: str, name: str, known: list[str]) -> ConfigurationError:
    there = ", ".join(known) or "none, there is no --mcp"
    return ConfigurationError(f"{option} {name!r}: which MCP server is meant? There are: {there}")
