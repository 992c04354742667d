"""Serving a catalogue over MCP's two transports: standard input and output, and HTTP."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from io import TextIOWrapper
from typing import IO, Any

from fallback.errors import ConfigurationError
from fallback.mcp.service import Service, hints_of
from fallback.mcp.stdin import claimed, lines
from fallback.tools import Tool

__all__ = ["on_http", "on_stdio", "server_of"]

LOOPBACK = "127.0.0.1"


def server_of(service: Service) -> Any:
    """The SDK's server, which answers for the service."""
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError
    from mcp_types import INVALID_PARAMS, CallToolResult, ListToolsResult, TextContent

    from fallback import __version__

    tools = {tool.name: tool for tool in service.tools}

    async def listed(context: Any, params: Any) -> Any:
        return ListToolsResult(tools=[_listed(tool) for tool in tools.values()])

    async def called(context: Any, params: Any) -> Any:
        tool = tools.get(params.name)
        if tool is None:  # the protocol's own error for it
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:128]!r}")
        result = await service.call(tool, params.arguments or {})
        return CallToolResult(content=[TextContent(text=result.content)], is_error=not result.ok)

    return Server("fallback", version=__version__, on_list_tools=listed, on_call_tool=called)


def on_stdio(service: Service, out: IO[bytes]) -> None:
    """Serve the one client at standard input, until it closes it.

    Args:
        service: what is served.
        out: where answers go; standard output itself has to lead elsewhere, for tools print.
    """
    import anyio
    from mcp.server.stdio import stdio_server

    server = server_of(service)
    text = TextIOWrapper(out, encoding="utf-8", newline="\n", write_through=True)

    async def serve() -> None:
        given: Any = lines(private)  # of a file the SDK asks for no more than its lines
        async with stdio_server(given, anyio.wrap_file(text)) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    with claimed() as private:
        anyio.run(serve)
    text.detach()


def on_http(service: Service, port: int, *, on_start: Callable[[str], object]) -> None:
    """Serve clients of this machine over streamable HTTP, until interrupted.

    Args:
        service: what is served.
        port: 0 picks a free one.
        on_start: told the URL.

    Raises:
        ConfigurationError: the port is taken.
    """
    import uvicorn

    # The SDK refuses foreign Host and Origin headers for this address, and large bodies.
    app = server_of(service).streamable_http_app(host=LOOPBACK)
    try:
        # It listens before anybody is told, so whoever is told may connect at once.
        listener = socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise ConfigurationError(f"port {port}: {error.strerror}") from error
    # uvicorn passes its signal on when it has shut down in good order; that is then no failure.
    with listener, contextlib.suppress(KeyboardInterrupt):
        on_start(f"http://{LOOPBACK}:{listener.getsockname()[1]}/mcp")
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=2
        )
        uvicorn.Server(config).run(sockets=[listener])


def _listed(tool: Tool) -> Any:
    import mcp_types as types

    hints: dict[str, Any] = dict(hints_of(tool))
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema={**tool.parameters, "type": "object"},
        annotations=types.ToolAnnotations(**hints) if hints else None,
    )
