"""MCP, both ways: tools of MCP servers for a session, and a catalogue as an MCP server.

:class:`McpTools` is the client: it starts or reaches servers and gives their tools. ``Service`` is
the other way. The SDK (extra ``mcp``) is imported when one of them is used.
"""

from fallback.mcp.server import McpServer
from fallback.mcp.tools import McpTools, check_installed

__all__ = ["McpServer", "McpTools", "check_installed"]
