"""The tools of MCP servers, for one session: a thread with an event loop, a task for each server.

Both kinds of session use it: what a handler awaits is a future of that loop, so a session that runs
in a loop of its own can cancel a call, and one that blocks can wait for it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from fallback.errors import ConfigurationError, McpError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.mcp.connection import Connection
from fallback.mcp.offer import offer
from fallback.mcp.server import McpServer
from fallback.tools import Tool, ToolOutput

__all__ = ["Borrower", "McpTools", "check_installed"]

_CLOSE_SECONDS = 10.0
_WAIT_SECONDS = 5.0
"""How much longer than its own deadline a start is waited for: the process has to be ended."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Borrower:
    """One who uses the tools: its calls under way, and what it was offered last, and for what."""

    calls: set[Future[ToolOutput]] = field(default_factory=set)
    known: tuple[Any, ...] = ()
    tools: tuple[Tool, ...] = ()

    def cancel(self) -> None:
        """End its calls; may be called from any thread. The servers are told."""
        for call in tuple(self.calls):
            call.cancel()


class McpTools:
    """Servers of tools, started when they are first needed and ended by :meth:`close`.

    Args:
        servers: command lines, URLs, or :class:`McpServer` objects.
        limits: bounds of schemas, the number of tools, and how long a call may take.
        on_note: told each line of :attr:`notes` when it is new.

    Raises:
        ConfigurationError: the extra ``mcp`` is not installed, or two servers have one name.
    """

    def __init__(
        self,
        servers: Iterable[McpServer | str] | str | McpServer,
        *,
        limits: Limits = DEFAULT_LIMITS,
        on_note: Callable[[str], object] | None = None,
    ) -> None:
        given = [servers] if isinstance(servers, str | McpServer) else servers
        self._servers = [McpServer.of(server) for server in given]
        _check_names(self._servers)
        check_installed()
        self._limits, self._on_note = limits, on_note
        self._lock = threading.Lock()
        self._portal: Any = None
        self._connections: dict[str, Connection] = {}
        self._self = Borrower()
        self._borrowers: weakref.WeakSet[Borrower] = weakref.WeakSet([self._self])
        self._told: list[str] = []
        self._closing: weakref.finalize[Any, Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person may wonder about: tools left out or renamed, servers that have ended."""
        return tuple(self._told)

    def offered(self, taken: Iterable[str] = (), *, to: Borrower | None = None) -> tuple[Tool, ...]:
        """The tools as they are now; starts the servers, and lists again what has changed.

        Blocks for as long as that takes, which the servers' own deadlines bound.

        Args:
            taken: names of the application's own tools, which keep them.
            to: who will call them; the same tools again as long as nothing has changed.

        Raises:
            McpError: a server does not start, or does not list its tools.
        """
        with self._lock:
            if self._portal is None:
                self._open()
            for connection in self._connections.values():
                if connection.changed and not connection.dead:
                    self._note(connection, self._portal.call(connection.catch_up))
                for line in connection.dropped:
                    self._note(connection, line)
                if connection.dead:
                    self._note(connection, f"its tools are left out, {connection.dead}")
            listed = [(c.server, c.listed) for c in self._connections.values() if not c.dead]
        borrower, names = to or self._self, tuple(taken)
        known = (names, *listed)
        if borrower.known != known:
            found = offer(listed, names, partial(self._call, borrower), self._limits)
            borrower.known, borrower.tools = known, found.tools
            self._borrowers.add(borrower)
            for note in found.notes:
                self._tell(note)
        return borrower.tools

    def cancel(self) -> None:
        """End the calls under way; may be called from any thread. The servers are told."""
        for borrower in tuple(self._borrowers):
            borrower.cancel()

    def close(self) -> None:
        """End all calls and servers, with their processes. It can be opened again."""
        self.cancel()
        with self._lock:
            if self._closing is not None:
                self._closing()
            self._closing, self._portal, self._connections = None, None, {}

    def _open(self) -> None:
        from anyio.from_thread import start_blocking_portal

        # The SDK logs what servers do wrong, with the traceback. An application that keeps a log
        # gets it; without one it must not reach the terminal.
        for name in ("mcp", "client"):
            if not logging.getLogger(name).handlers:
                logging.getLogger(name).addHandler(logging.NullHandler())
        stack = ExitStack()
        portal = stack.enter_context(start_blocking_portal("asyncio", name="mcp"))
        running: list[tuple[Connection, Future[None]]] = []
        # Also at the end of the process, for whoever forgets to close.
        self._closing = weakref.finalize(self, _end, stack, portal, running)
        try:
            for server in self._servers:
                connection = Connection(server, self._limits)
                running.append((connection, portal.start_task_soon(connection.run)))
            for connection, _ in running:
                _await_start(connection)
        except BaseException:
            self._closing()
            self._closing = None
            raise
        self._connections = {c.server.name: c for c, _ in running}
        self._portal = portal

    async def _call(
        self, borrower: Borrower, server: McpServer, name: str, arguments: dict[str, Any]
    ) -> ToolOutput:
        connection, portal = self._connections.get(server.name), self._portal
        if connection is None or portal is None:
            raise McpError(f"the MCP server {server.name!r} has been closed")
        seconds = server.call_seconds or self._limits.tool_seconds
        future: Future[ToolOutput] = portal.start_task_soon(
            connection.call, name, arguments, seconds
        )
        borrower.calls.add(future)
        future.add_done_callback(borrower.calls.discard)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # not the call was cancelled: its caller
                raise
            raise McpError(f"the call to the MCP server {server.name!r} was cancelled") from None

    def _note(self, connection: Connection, text: str) -> None:
        if text:
            self._tell(f"{connection.server.name}: {text}")

    def _tell(self, note: str) -> None:
        if note not in self._told:
            self._told.append(note)
            if self._on_note is not None:
                self._on_note(note)


def _await_start(connection: Connection) -> None:
    try:
        connection.ready.result(connection.server.start_seconds + _WAIT_SECONDS)
    except TimeoutError:
        name = connection.server.name
        raise McpError(f"MCP server {name!r}: it does not start, and cannot be ended") from None


def _end(stack: ExitStack, portal: Any, running: list[tuple[Connection, Future[None]]]) -> None:
    """End the servers, then the loop; nothing waits for longer than ``_CLOSE_SECONDS``."""
    for connection, _ in running:
        portal.call(connection.stop)
    for _, task in running:
        with suppress(TimeoutError, CancelledError):
            task.result(_CLOSE_SECONDS)
        task.cancel()
    stack.close()


def _check_names(servers: Iterable[McpServer]) -> None:
    seen: set[str] = set()
    for server in servers:
        if server.name in seen:
            raise ConfigurationError(
                f"two MCP servers are called {server.name!r}; name one of them: other=ADDRESS"
            )
        seen.add(server.name)


def check_installed() -> None:
    """Make sure that the SDK is there.

    Raises:
        ConfigurationError: it is not; says how it is installed.
    """
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise ConfigurationError("MCP needs the extra mcp: pip install 'toolcall-fallback[mcp]'")
