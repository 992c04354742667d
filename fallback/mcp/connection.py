"""One server, from its start to its end: a task on the event loop of its :class:`McpTools`.

The SDK's client is entered and left by one task, as its cancel scopes demand. Other threads ask for
things through the loop and are told by futures.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from fallback.errors import McpError, ToolFailed
from fallback.execution.masking import mask_credentials
from fallback.limits import Limits
from fallback.mcp.content import value_of
from fallback.mcp.server import McpServer
from fallback.mcp.sieve import sifted
from fallback.mcp.stderr import Stderr
from fallback.tools import ToolOutput

__all__ = ["Connection"]

_MAX_PAGES = 100
_RELIST_SECONDS = 10.0
_CANCEL_SECONDS = 1.0
"""A call lasts that much longer here than for the session, whose own deadline has the word."""
_SHOWN = 300
_MOST_DROPPED = 50


class Connection:
    """A server that has been asked for.

    Attributes:
        server: what the application said of it.
        listed: its tools, as the SDK has them.
        dropped: a line for each tool that is not what the protocol says.
        changed: whether the server has said that its tools are others now.
        dead: why it cannot be used any more; empty while it can.
        ready: done once the tools are listed; holds the :class:`McpError` if they cannot be.
    """

    def __init__(self, server: McpServer, limits: Limits) -> None:
        self.server, self._limits = server, limits
        self.listed: tuple[Any, ...] = ()
        self.dropped: list[str] = []
        self.changed = False
        self.dead = ""
        self.ready: Future[None] = Future()
        self._session: Any = None
        self._stop: Any = None
        self._scope: Any = None
        self._stderr: Stderr | None = None

    # On the event loop ----------------------------------------------------------------------------

    async def run(self) -> None:
        """Start, list, and stay until :meth:`stop`; never raises."""
        import anyio

        self._stop = anyio.Event()
        deadline = anyio.current_time() + self.server.start_seconds
        error: BaseException | None = None
        try:
            with anyio.CancelScope(deadline=deadline) as scope:
                self._scope = scope
                async with self._client() as client, anyio.create_task_group() as group:
                    self._session = client.session
                    await self._list()
                    scope.deadline = float("inf")
                    self.ready.set_result(None)
                    group.start_soon(self._listen, client)
                    await self._stop.wait()
                    group.cancel_scope.cancel()
        except Exception as raised:  # noqa: BLE001 # the world, mapped to one line here
            error = _first(raised)
        self._session = None
        seconds = self.server.start_seconds
        late = f"it did not start and list its tools within {seconds:g} seconds"
        self.dead = self._why(error) if error else late if not self.ready.done() else "it has ended"
        if not self.ready.done():
            self.ready.set_exception(McpError(f"MCP server {self.server.name!r}: {self.dead}"))
        if self._stderr is not None:
            self._stderr.close()

    def stop(self) -> None:
        """End it; :meth:`run` returns once its process has gone."""
        if not self.ready.done():
            self._scope.cancel()
        self._stop.set()

    async def call(self, name: str, arguments: dict[str, Any], seconds: float | None) -> ToolOutput:
        """Call a tool.

        Raises:
            ToolFailed: the server says that it failed, or that there is no such call.
            McpError: there is no telling what became of it.
        """
        from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

        who, trusted = self.server.name, self.server.trusted
        if self._session is None:
            raise McpError(f"the MCP server {who!r} cannot be reached: {self.dead}")
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=arguments))
        # Asked at this level, the SDK leaves the output schema alone: it is the server's, and its
        # patterns would be run here.
        patience = None if seconds is None else seconds + _CANCEL_SECONDS
        try:
            result = await self._session.send_request(
                request, CallToolResult, request_read_timeout_seconds=patience
            )
        except Exception as error:  # noqa: BLE001 # it is mapped in one place
            raise self._failure(error) from None
        return ToolOutput(
            value_of(result, trusted=trusted),
            provenance=[f"MCP server {who}"],
            untrusted=not trusted,
        )

    async def catch_up(self) -> str:
        """List the tools again if they have changed; returns what went wrong, or nothing."""
        import anyio

        if not self.changed or self.dead:
            return ""
        try:
            with anyio.fail_after(_RELIST_SECONDS):
                await self._list()
        except Exception as error:  # noqa: BLE001 # the tools stay as they were
            self._failure(error)
            return f"its tools have changed, and could not be listed: {self._why(error)}"
        return ""

    async def _list(self) -> None:
        from mcp_types import PaginatedRequestParams

        self.changed = False
        found: list[Any] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MAX_PAGES):
            params = None if cursor is None else PaginatedRequestParams(cursor=cursor)
            page = await self._session.list_tools(params=params)
            found += page.tools
            cursor = page.next_cursor
            if len(found) > self._limits.max_tools:
                raise McpError(f"it has more than {self._limits.max_tools} tools (max_tools)")
            if cursor is None:
                self.listed = tuple(found)
                return
            if cursor in seen:
                break
            seen.add(cursor)
        raise McpError("its list of tools does not come to an end")

    async def _listen(self, client: Any) -> None:
        """Servers of protocol 2026-07-28 tell changes to those who ask; older ones tell anyway."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        try:
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self.changed = True
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            return

    async def _heard(self, message: Any) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self.changed = True

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Any]:
        from mcp.client.client import Client

        async with AsyncExitStack() as stack:
            transport = sifted(await self._transport(stack), self._version, self._drop)
            client = Client(transport, message_handler=self._heard, client_info=_info(), cache=None)
            yield await stack.enter_async_context(client)

    def _version(self) -> str | None:
        found: str | None = self._session.protocol_version if self._session else None
        return found

    def _drop(self, line: str) -> None:
        if len(self.dropped) < _MOST_DROPPED:
            self.dropped.append(_cut(line))

    async def _transport(self, stack: AsyncExitStack) -> Any:
        if self.server.is_url:
            from mcp.client.streamable_http import streamable_http_client
            from mcp.shared._httpx_utils import create_mcp_http_client

            http = create_mcp_http_client(headers=dict(self.server.headers))
            await stack.enter_async_context(http)
            return streamable_http_client(self.server.url, http_client=http)
        from mcp.client.stdio import StdioServerParameters, stdio_client

        program, *arguments = self.server.command
        self._stderr = Stderr()
        parameters = StdioServerParameters(
            command=program, args=arguments, env=dict(self.server.env), cwd=self.server.cwd
        )
        return stdio_client(parameters, errlog=self._stderr.file)

    # What went wrong ------------------------------------------------------------------------------

    def _failure(self, error: Exception) -> Exception:
        """What a call raises for an error of the SDK."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND

        if isinstance(error, MCPError) and error.code in (INVALID_PARAMS, METHOD_NOT_FOUND):
            return ToolFailed(_cut(str(error)), untrusted=not self.server.trusted)
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            self.dead = self._why(error)
        return McpError(f"MCP server {self.server.name!r}: {self._why(error)}")

    def _why(self, error: BaseException) -> str:
        """One line, without credentials; with the process's own last words where it has ended."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED
        from pydantic import ValidationError

        if isinstance(error, McpError):
            return str(error)
        if isinstance(error, FileNotFoundError) and not self.server.is_url:
            return f"there is no program {self.server.command[0]!r}"
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            return _cut(f"its answer is not what the protocol says: {where}: {first['msg']}")
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            said = self._stderr.last_line() if self._stderr is not None else ""
            return f"it has ended: {said}" if said else "it has ended"
        return _cut(
            f"{error}" if isinstance(error, MCPError) else f"{type(error).__name__}: {error}"
        )


def _info() -> Any:
    from mcp_types import Implementation

    from fallback import __version__

    return Implementation(name="fallback", version=__version__)


def _first(error: BaseException) -> BaseException:
    """The first error of a group: the others follow from it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _cut(text: str) -> str:
    line = " ".join(mask_credentials(text).split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
