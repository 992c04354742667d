"""What the application says about an MCP server: where it is, and how far it is trusted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlsplit

from fallback.errors import ConfigurationError
from fallback.policy.context import names
from fallback.tools import Risk
from fallback.tools.record import RiskLike

__all__ = ["McpServer"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}\Z")
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,31})=(.+)\Z", re.DOTALL)
_URL = re.compile(r"https?://", re.IGNORECASE)
# Programs that run others: the server is named after what they run.
_RUNNERS = frozenset(
    ("bunx", "docker", "env", "node", "npx", "python", "python3", "run", "sh", "uv", "uvx")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server of tools, as the application sees it.

    Attributes:
        address: a command line (text, or its words) for a server on standard input and output, or
            the URL of one that speaks streamable HTTP.
        name: stands before the names of its tools where they would be another's; by default made
            of the address.
        trusted: whether its hints may make a tool less guarded, and its results are the
            application's own. By default neither.
        risk: the tier of all its tools, or of each by the server's own name for it.
        allow: the only tools that are taken, by the server's names; ``None`` for all.
        hide: tools that are not taken.
        env: variables for the process, beside the few that every one gets (``PATH``, ``HOME``).
        cwd: folder in which the process runs.
        headers: sent with every request, such as ``Authorization``.
        start_seconds: how long it may take to start and to list its tools.
        call_seconds: how long a call may take; ``None`` for ``Limits.tool_seconds``.

    Raises:
        ConfigurationError: an address, a name, a tier or a time that cannot be.
    """

    address: str | Sequence[str] = field(kw_only=False)
    name: str = ""
    trusted: bool = False
    risk: RiskLike | Mapping[str, RiskLike] | None = None
    allow: AbstractSet[str] | None = None
    hide: AbstractSet[str] = frozenset()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    start_seconds: float = 30.0
    call_seconds: float | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__  # frozen: this is the one moment when it is not
        if not isinstance(self.address, str):
            put(self, "address", tuple(map(str, self.address)))
        if not self.is_url and not self.command:
            raise ConfigurationError("an MCP server needs a command or a URL, got nothing")
        put(self, "name", self.name or _name_of(self))
        if not _NAME.match(self.name):
            raise ConfigurationError(
                f"the MCP server's name {self.name!r} is not made of letters, digits, _ and -"
            )
        risk = self.risk
        known = dict(risk) if isinstance(risk, Mapping) else risk
        put(self, "risk", known)
        for tier in known.values() if isinstance(known, dict) else filter(None, (known,)):
            if tier not in list(Risk):
                raise ConfigurationError(
                    f"MCP server {self.name!r}: risk {tier!r} is none of {', '.join(Risk)}"
                )
        put(self, "hide", names("hide", self.hide))
        if self.allow is not None:
            put(self, "allow", names("allow", self.allow))
        if min(self.start_seconds, self.call_seconds or 1.0) <= 0:
            raise ConfigurationError(f"MCP server {self.name!r}: times are more than 0 seconds")

    @classmethod
    def of(cls, given: McpServer | str) -> McpServer:
        """A server as it is; a text is its address, with a name before it if wanted: ``name=...``.

        Raises:
            ConfigurationError: see the class.
        """
        if isinstance(given, McpServer):
            return given
        text: Any = given
        if not isinstance(text, str):
            kind = type(text).__name__
            raise ConfigurationError(f"an MCP server is a text or an McpServer, got {kind}")
        named = _NAMED.match(text.strip())
        return cls(named[2], name=named[1]) if named else cls(text.strip())

    @property
    def is_url(self) -> bool:
        """Whether it is reached over HTTP rather than started."""
        return isinstance(self.address, str) and bool(_URL.match(self.address))

    @property
    def url(self) -> str:
        """The URL of a server that is reached over HTTP."""
        return str(self.address)

    @property
    def command(self) -> tuple[str, ...]:
        """The words of the command line.

        Raises:
            ConfigurationError: a quote is not closed.
        """
        if not isinstance(self.address, str):
            return tuple(self.address)
        try:
            return tuple(shlex.split(self.address))
        except ValueError as error:
            raise ConfigurationError(
                f"MCP server: the command line has an error: {error}"
            ) from None

    def tier(self, tool: str) -> Risk | None:
        """The tier that the application has set for a tool; ``None`` if it has set none."""
        given = self.risk.get(tool) if isinstance(self.risk, Mapping) else self.risk
        return None if given is None else Risk(given)

    def takes(self, tool: str) -> bool:
        """Whether a tool of that name is taken at all."""
        return tool not in self.hide and (self.allow is None or tool in self.allow)

    def mentioned(self) -> frozenset[str]:
        """The tools that the settings speak of: one that does not exist is a slip."""
        tiers = self.risk.keys() if isinstance(self.risk, Mapping) else ()
        return frozenset((*tiers, *self.hide, *(self.allow or ())))

    def but(self, **changes: object) -> McpServer:
        """The same server with some settings changed."""
        return replace(self, **changes)  # type: ignore[arg-type]  # checked again when it is made


def _name_of(server: McpServer) -> str:
    """A readable name: the host, or the program that is run in the end."""
    if server.is_url:
        told = urlsplit(server.url).hostname or "server"
    else:
        words = [PurePath(w).stem for w in server.command if not w.startswith("-")]
        kept = [word for word in words if word.lower() not in _RUNNERS and "=" not in word]
        told = (kept or words or ["server"])[0]
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", told).strip("_-")[:32]
    return plain or "server"
