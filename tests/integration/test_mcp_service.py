"""``fallback mcp`` as the SDK's own client sees it, over both transports."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from serving_child import serving_child

from fallback import Catalogue, Session
from fallback.cli import main
from fallback.ledger import Ledger
from fallback.mcp import McpServer
from fallback.mcp.service import Service
from fallback.mcp.serving import on_http
from fallback.testing import ScriptedBackend

TOOLS = '''
from fallback import Risk, tool
from fallback.errors import ToolFailed

print("loading prints this")

@tool(risk=Risk.READ_ONLY, injected=["user"])
def orders(status: str, user: str) -> list[str]:
    """List orders."""
    print("the tool prints this")
    return [f"order 7 of {user}, {status}, mail ada@example.org"]

@tool(risk=Risk.DESTRUCTIVE)
def wipe() -> str:
    """Wipe all."""
    return "wiped"

@tool(risk=Risk.REVERSIBLE_WRITE)
def note(text: str) -> str:
    """Keep a note."""
    return f"kept {text}"

@tool(hidden=True)
def secret() -> str:
    """For the application."""
    return "hidden"

@tool(risk=Risk.READ_ONLY)
def broken() -> str:
    """Fail."""
    raise ToolFailed("the disk is full")

@tool(risk=Risk.READ_ONLY)
async def bad() -> str:
    """Raise."""
    raise ValueError("password=hunter22 /home/ada/secret.txt")
'''
Work = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    path = tmp_path / "tools.py"
    path.write_text(TOOLS, encoding="utf-8")
    return ["-m", "fallback", "mcp", "--tools", str(path), "--user", "ada"]


def over_stdio(arguments: list[str], work: Work) -> Any:
    async def run() -> Any:
        parameters = StdioServerParameters(command=sys.executable, args=arguments)
        with open_errors() as errors:
            async with Client(stdio_client(parameters, errlog=errors)) as client:
                return await work(client)

    return anyio.run(run)


def open_errors() -> Any:
    return Path("/dev/null").open("w", encoding="utf-8")


async def said(client: Client, name: str, **arguments: Any) -> tuple[bool, str]:
    result = await client.call_tool(name, arguments)
    return result.is_error, "".join(getattr(block, "text", "?") for block in result.content)


def test_the_tools_are_listed_as_the_model_would_see_them(arguments: list[str]) -> None:
    async def work(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in over_stdio(arguments, work)}
    assert list(tools) == ["orders", "wipe", "note", "broken", "bad"]  # the hidden one is not there
    assert set(tools["orders"].input_schema["properties"]) == {"status"}  # nor what is injected
    assert tools["orders"].annotations.read_only_hint is True
    assert tools["wipe"].annotations.destructive_hint is True
    assert tools["note"].annotations.destructive_hint is False


def test_calls_pass_the_same_gates_as_in_a_turn(
    arguments: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(client: Client) -> None:
        failed, text = await said(client, "orders", status="open")
        assert not failed
        assert "order 7 of ada, open" in text
        assert "ada@example.org" not in text
        assert (await said(client, "orders", status=4, more=1))[0]
        failed, text = await said(client, "orders", status="open", user="mallory")
        assert failed
        assert "mallory" not in text
        failed, text = await said(client, "wipe")
        assert failed
        assert "a person has to approve" in text
        assert await said(client, "note", text="a") == (False, "kept a")
        assert await said(client, "note", text="a") == (False, "kept a")
        failed, text = await said(client, "broken")
        assert failed
        assert "the disk is full" in text
        failed, text = await said(client, "bad")
        assert failed
        assert "hunter22" not in text
        for name in ("secret", "nothing"):
            with pytest.raises(MCPError, match="there is no tool"):
                await client.call_tool(name, {})

    ledger = tmp_path / "ledger.sqlite"
    more = ["--mask", "personal-data", "--pre-approve", "note", "--ledger", str(ledger)]
    over_stdio([*arguments, *more], work)
    assert not caplog.records  # nothing but the protocol came over the pipe
    with Ledger.open(ledger, create=False) as book:
        kept = book.list()
    assert [stored.tool for stored in kept] == ["note", "note"]


def test_it_is_the_same_over_http_for_this_machine_only(arguments: list[str]) -> None:
    command = [sys.executable, *arguments, "--http", "0"]
    with serving_child(command, stderr=subprocess.PIPE) as (url, process):

        async def work() -> Any:
            async with Client(url) as client:
                return await said(client, "orders", status="open")

        failed, text = anyio.run(work)
        foreign = httpx.post(url, json={}, headers={"Host": "evil.example"})
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert not failed
    assert "order 7 of ada" in text
    assert foreign.status_code in (403, 421)
    assert process.returncode == 0
    assert "fallback: clients of MCP reach the tools there; Ctrl-C stops it\n" in errors
    assert errors.splitlines()[-1] == "fallback: stopped"


def test_whoever_is_told_its_address_can_connect_at_once() -> None:
    class Connected(Exception):
        pass

    def told(url: str) -> None:
        with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=5):
            raise Connected

    with Ledger.in_memory() as ledger, pytest.raises(Connected):
        on_http(Service(catalogue=Catalogue(), ledger=ledger), 0, on_start=told)


def test_a_session_takes_tools_from_it(arguments: list[str]) -> None:
    server = McpServer([sys.executable, *arguments], name="own", trusted=True)
    replies = ['```tool_call\n{"name": "orders", "arguments": {"status": "open"}}\n```', "One."]
    with Session("any", mcp=[server], backend=ScriptedBackend(replies)) as session:
        turn = session.run("Which orders?")
    assert turn.tools_used == ("orders",)
    assert "order 7 of ada" in turn.steps[0].results[0].content


def test_an_interrupt_ends_it_though_the_client_says_nothing(arguments: list[str]) -> None:
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "server/nothing"}\n')
        process.stdin.flush()
        assert '"id":1' in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_a_slip_on_the_command_line_is_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments[2:5], "--pre-approve", "typo"]) == 2
    assert main([*arguments[2:5]]) == 2  # the injected user has no value
    assert main(["mcp", "--tools", "no-such.py"]) == 3
    lines = [line for line in capsys.readouterr().err.splitlines() if "prints" not in line]
    assert len(lines) == 3
    assert "--context KEY=VALUE" in lines[0]
