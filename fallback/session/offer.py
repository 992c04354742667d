"""Which tools a session offers: the application's own, and those of MCP servers as they come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fallback.catalogue import Catalogue
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.tools import Tool

if TYPE_CHECKING:
    from fallback.mcp import McpServer, McpTools
    from fallback.mcp.tools import Borrower

__all__ = ["ToolOffer"]


class ToolOffer:
    """The tools of one session.

    Args:
        own: the application's.
        mcp: servers of more; those that are opened here are closed here.
        limits: of the session.
    """

    def __init__(
        self,
        own: Catalogue,
        mcp: McpTools | Iterable[McpServer | str] = (),
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._own, self._limits = own, limits
        self._tools: tuple[Tool, ...] = ()
        self._catalogue = own
        self._outside, self._opened = _servers(mcp, limits)
        self._borrower = None if self._outside is None else _borrower()

    @property
    def outside(self) -> bool:
        """Whether there are servers to be asked."""
        return self._outside is not None

    def catalogue(self) -> Catalogue:
        """The tools as they are now; the same object as long as they are the same.

        Raises:
            McpError: a server does not start.
            InvalidToolError: there are too many tools together.
        """
        if self._outside is not None:
            own = [*self._own, *self._own.hidden]
            tools = self._outside.offered([tool.name for tool in own], to=self._borrower)
            if tools is not self._tools:
                self._catalogue = Catalogue([*own, *tools], limits=self._limits)
                self._tools = tools
        return self._catalogue

    def cancel(self) -> None:
        """End this session's calls of servers that are under way."""
        if self._borrower is not None:
            self._borrower.cancel()

    def close(self) -> None:
        """End the servers that were opened here."""
        if self._outside is not None and self._opened:
            self._outside.close()


def _borrower() -> Borrower:
    from fallback.mcp.tools import Borrower

    return Borrower()


def _servers(
    given: McpTools | Iterable[McpServer | str], limits: Limits
) -> tuple[McpTools | None, bool]:
    if given == ():
        return None, False
    from fallback.mcp import McpTools

    if isinstance(given, McpTools):
        return given, False
    return McpTools(given, limits=limits), True
