from __future__ import annotations

import pytest

from fallback.cli.mcp_servers import mcp_servers
from fallback.errors import ConfigurationError
from fallback.mcp import McpServer


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("npx -y @scope/server-files .", "server-files"),
        ("python server.py", "server"),
        ("/usr/bin/time-server --utc", "time-server"),
        ("https://mcp.example.org/mcp", "mcp_example_org"),
        ("mine=python server.py", "mine"),
        ("http://127.0.0.1:9/mcp?a=b", "127_0_0_1"),
    ],
)
def test_a_server_has_a_readable_name(address: str, name: str) -> None:
    assert McpServer.of(address).name == name


def test_each_option_reaches_its_server() -> None:
    one, two = mcp_servers(
        ["a=x", "b=y"], trust=["b"], only=["a:t"], hide=["b:u"], risk=["a:t=read_only"]
    )
    assert (one.trusted, one.allow, one.hide, one.risk) == (
        False,
        {"t"},
        frozenset(),
        {"t": "read_only"},
    )
    assert (two.trusted, two.allow, two.hide, two.risk) == (True, None, {"u"}, {})


def test_with_one_server_its_name_is_not_needed() -> None:
    (server,) = mcp_servers(["x"], risk=["a:b=destructive"])
    assert server.risk == {"a:b": "destructive"}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"trust": ["z"]}, "--mcp-trust 'z': which MCP server is meant"),
        ({"hide": ["t"]}, "--mcp-hide 't': which MCP server is meant"),
        ({"risk": ["a:t"]}, "is not TOOL=TIER"),
        ({"risk": ["a:t=harmless"]}, "risk 'harmless' is none of read_only"),
    ],
)
def test_a_slip_is_told(options: dict[str, list[str]], line: str) -> None:
    with pytest.raises(ConfigurationError, match=line):
        mcp_servers(["a=x", "b=y"], **options)
