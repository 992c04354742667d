"""Tools of real MCP servers, written with the SDK's own server: a process, and one on a port."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_servers import TEXT
from scripted_ollama import ollama
from serving_child import serving_child

from fallback import AsyncSession, Policy, Risk, Session, tool
from fallback.cli import main
from fallback.errors import ConfigurationError, McpError
from fallback.mcp import McpServer, McpTools
from fallback.testing import ScriptedBackend

SERVER = [sys.executable, str(Path(__file__).parent.parent / "mcp_servers.py")]
COMMAND = " ".join(SERVER)
OPEN = Policy(destructive="run", staged_writes=False)


def call(name: str, **arguments: Any) -> str:
    return f"```tool_call\n{json.dumps({'name': name, 'arguments': arguments})}\n```"


def server(*flags: str, **settings: Any) -> McpServer:
    return McpServer([*SERVER, *flags], **{"name": "it", **settings})


@pytest.fixture(scope="module")
def shared() -> Iterator[McpTools]:
    """One server for all tests that leave it as it is."""
    with McpTools([server()]) as tools:
        tools.offered()
        yield tools


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving_child([*SERVER, "--http"]) as (url, process):
        yield url
        process.terminate()


def result_of(mcp: Any, name: str, policy: Policy = OPEN, **arguments: Any) -> Any:
    backend = ScriptedBackend([call(name, **arguments), "done"])
    with Session("any", mcp=mcp, backend=backend, policy=policy) as session:
        turn = session.run("Go on.")
    return turn.steps[0].results[0]


def test_all_pages_are_listed_and_hostile_tools_are_left_out_with_a_line(shared: McpTools) -> None:
    names = [tool.name for tool in shared.offered()]
    assert names[:2] == ["weather", "structured"]
    assert "wipe" in names
    assert "remote" not in names
    assert any("leads out of the schema" in note for note in shared.notes)
    assert any("bad`name" in note for note in shared.notes)


def test_a_result_is_text_from_outside(shared: McpTools) -> None:
    result = result_of(shared, "weather", city="Oslo")
    assert result.ok
    assert result.value == "Oslo: 4 degrees"
    assert result.untrusted
    assert result.content.startswith("[text from outside")
    assert result.provenance[0].name == "MCP server it"


def test_structured_content_is_the_value(shared: McpTools) -> None:
    assert result_of(shared, "structured").value == {"degrees": 4}


def test_pictures_and_resources_are_told_as_text(shared: McpTools) -> None:
    assert result_of(shared, "blocks").value.split("\n") == [
        TEXT,
        "[image: image/png, 3 bytes, not shown]",
        "[resource file:///a.txt]",
        "inside",
        "[resource b: file:///b.txt]",
    ]


def test_an_error_of_the_tool_is_a_failed_call_in_words_from_outside(shared: McpTools) -> None:
    result = result_of(shared, "broken")
    assert result.kind == "failed"
    assert result.untrusted
    assert result.content.startswith("[text from outside")
    assert "the disk is full" in result.content


def test_arguments_are_validated_before_the_server_sees_them(shared: McpTools) -> None:
    backend = ScriptedBackend([call("weather", city=4, more=1), "done"])
    with Session("any", mcp=shared, backend=backend, policy=OPEN) as session:
        turn = session.run("Go on.")
    assert not turn.steps[0].results
    assert {problem.kind for problem in turn.steps[0].problems} == {"invalid_arguments"}


def test_what_a_server_says_of_itself_does_not_spare_the_approval(shared: McpTools) -> None:
    result = result_of(shared, "weather", Policy(), city="Oslo")
    assert result.kind == "approval_required"


def test_a_trusted_server_is_believed() -> None:
    with McpTools([server(trusted=True)]) as mcp:
        tools = {tool.name: tool for tool in mcp.offered()}
        assert tools["weather"].risk is Risk.READ_ONLY
        assert tools["wipe"].risk is Risk.DESTRUCTIVE
        result = result_of(mcp, "weather", Policy(), city="Oslo")
    assert result.content.startswith("Oslo: 4 degrees")
    assert not result.untrusted


def test_the_application_sets_tiers_and_hints_only_tighten_them() -> None:
    given = server(risk="read_only", hide={"slow"}, allow={"weather", "slow", "wipe", "typo"})
    with McpTools([given]) as mcp:
        tools = {tool.name: tool.risk for tool in mcp.offered()}
        assert tools == {"weather": Risk.READ_ONLY, "wipe": Risk.DESTRUCTIVE}
        assert "wipe: read_only is not enough, the server says that it is destructive" in mcp.notes
        assert any("'typo'" in note or '"typo"' in note for note in mcp.notes)
        assert result_of(mcp, "weather", Policy(), city="Oslo").ok


def test_a_name_that_two_servers_have_is_neithers() -> None:
    @tool(risk="read_only")
    def wipe() -> str:
        """Wipe the screen."""
        return "the screen"

    pair = [server(name="a", allow={"weather", "wipe"}), server(name="b", allow={"weather"})]
    with McpTools(pair) as mcp, Session("any", tools=[wipe], mcp=mcp, backend=scripted()) as s:
        s.run("Hello.")
        assert s.catalogue.names == ("wipe", "a_weather", "a_wipe", "b_weather")
        assert any("b_weather" in note for note in mcp.notes)


def scripted(*replies: str) -> ScriptedBackend:
    return ScriptedBackend([*replies, "done"])


@pytest.mark.parametrize("flags", [(), ("--old",)], ids=["listened", "told"])
def test_new_tools_are_there_with_the_next_turn(flags: tuple[str, ...]) -> None:
    replies = [call("grow"), call("new"), "none yet", call("new"), "done"]
    with Session(
        "any", mcp=[server(*flags)], backend=ScriptedBackend(replies), policy=OPEN
    ) as session:
        first = session.run("Grow.")
        assert first.steps[1].problems[0].kind == "unknown_tool"
        second = session.run("Use it.")
    assert second.tools_used == ("new",)


def test_a_call_that_takes_too_long_is_given_up_and_the_server_told() -> None:
    with McpTools([server(risk="read_only", call_seconds=0.2)]) as mcp:
        assert result_of(mcp, "slow").status == "timeout"
        counted = next(tool.handler for tool in mcp.offered() if tool.name == "cancelled")
        assert counted is not None
        while asyncio.run(counted()).value == "0":
            pass  # the call here ends a moment after that of the session


def test_cancelling_the_session_cancels_its_call_and_no_others(shared: McpTools) -> None:
    slow = next(tool.handler for tool in shared.offered() if tool.name == "slow")
    assert slow is not None
    others = threading.Thread(target=lambda: asyncio.run(gone(slow)), daemon=True)
    others.start()
    backend = scripted(call("slow"))
    with Session("any", mcp=shared, backend=backend, policy=OPEN) as session:
        for event in session.stream("Go on."):
            if type(event).__name__ == "ToolStarted":
                threading.Timer(0.05, session.cancel).start()
    assert session.turn is not None
    assert session.turn.stop_reason == "cancelled"
    assert others.is_alive()
    shared.cancel()
    others.join(10)
    assert not others.is_alive()


async def gone(slow: Any) -> None:
    with pytest.raises(McpError, match="was cancelled"):
        await slow()


def test_an_async_session_has_the_same_tools_and_cancels_its_calls(shared: McpTools) -> None:
    async def run() -> tuple[Any, Any]:
        backend = scripted(call("weather", city="Oslo"))
        async with AsyncSession("any", mcp=shared, backend=backend, policy=OPEN) as session:
            turn = await session.run("Go on.")
        backend = scripted(call("slow"))
        async with AsyncSession("any", mcp=shared, backend=backend, policy=OPEN) as session:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await session.run("Go on.")
            return turn, session.turn

    turn, broken = asyncio.run(run())
    assert turn.steps[0].results[0].value == "Oslo: 4 degrees"
    assert broken.stop_reason == "cancelled"


@pytest.mark.parametrize("flags", [(), ("--old",)], ids=["new", "old"])
def test_a_malformed_tool_does_not_cost_its_page(flags: tuple[str, ...]) -> None:
    with McpTools([server("--malformed", *flags, risk="read_only")]) as mcp:
        names = [tool.name for tool in mcp.offered()]
        assert names[:2] == ["weather", "structured"]
        assert "slow" in names
        assert "listed" not in names
        said = "malformed: inputSchema: Input should be a valid dictionary"
        assert any(n.startswith('it: "listed" is left out') and said in n for n in mcp.notes)
        assert any(n.startswith("it: a tool is left out") for n in mcp.notes)
        assert result_of(mcp, "weather", city="Oslo").value == "Oslo: 4 degrees"


def test_a_server_that_dies_is_one_line_and_its_tools_are_left_out() -> None:
    with McpTools([server(risk="read_only")]) as mcp:
        result = result_of(mcp, "die")
        assert "it has ended: out of memory" in result.content
        assert mcp.offered() == ()
        assert "it: its tools are left out, it has ended: out of memory" in mcp.notes


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ([*SERVER, "--crash"], "MCP server 'it': it has ended: no configuration: token=***"),
        ([*SERVER, "--hang"], "it did not start and list its tools within 1.5 seconds"),
        (["no-such-program"], "MCP server 'it': there is no program 'no-such-program'"),
        ("http://127.0.0.1:1/mcp", "MCP server 'it': ConnectError"),
    ],
    ids=["crash", "hang", "missing", "refused"],
)
def test_a_server_that_does_not_start_is_one_clear_line(address: Any, line: str) -> None:
    seconds = 1.5 if "--hang" in address else 30.0
    with (
        McpTools([McpServer(address, name="it", start_seconds=seconds)]) as mcp,
        pytest.raises(McpError) as raised,
    ):
        mcp.offered()
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_process_ends_with_the_session(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"echo $$ > {pid}; exec {COMMAND}"
    with Session("any", mcp=[McpServer(["sh", "-c", script])], backend=scripted()) as session:
        session.run("Hello.")
        number = int(pid.read_text())
        os.kill(number, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_a_server_over_http_is_the_same(url: str) -> None:
    with McpTools([McpServer(url, name="web")]) as mcp:
        assert result_of(mcp, "weather", city="Oslo").value == "Oslo: 4 degrees"
        assert result_of(mcp, "grow").ok


def test_a_fork_keeps_the_tools_of_its_servers(shared: McpTools) -> None:
    backend = scripted(call("weather", city="Oslo"))
    with Session("any", mcp=shared, backend=backend, policy=OPEN) as session:
        fork = session.fork(tools=["weather"])
        assert fork.catalogue.names == ("weather",)
        assert fork.run("Go on.").tools_used == ("weather",)


def test_a_slip_in_the_settings_is_told_at_once() -> None:
    for wrong in ("", "python 'x"):
        with pytest.raises(ConfigurationError):
            McpServer.of(wrong)
    with pytest.raises(ConfigurationError, match="none of read_only"):
        McpServer("x", risk="harmless")  # type: ignore[arg-type]  # the slip
    with pytest.raises(ConfigurationError, match="two MCP servers are called 'x'"):
        McpTools(["x", "npx -y x"])


def test_the_command_takes_tools_from_a_server(capfd: pytest.CaptureFixture[str]) -> None:
    with ollama(call("weather", city="Oslo"), "Cold.") as (host, _):
        code = main(
            [
                *("run", "Weather?", "--host", host, "--model", "tiny", "--json"),
                *("--mode", "prompt", "--mcp", f"it={COMMAND}", "--mcp-risk", "weather=read_only"),
                *("--mcp-only", "weather"),
            ]
        )
    out, err = capfd.readouterr()
    assert (code, err) == (0, "")
    assert json.loads(out)["answer"] == "Cold."


def test_a_flow_takes_tools_from_a_server(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    steps = tmp_path / "flow.toml"
    steps.write_text(
        '[[step]]\nname = "sky"\nask = "Weather in Oslo?"\ntools = ["weather"]\n'
        '[[step]]\nname = "told"\nask = "Say it: ${sky}"\ntools = []\ntakes = "answer"\n',
        encoding="utf-8",
    )
    begun = '{"name": "weather", "arguments": {"city": "Oslo"}}\n```'
    with ollama(begun, "Cold.", "It is cold.") as (host, seen):
        code = main(
            [
                *("flow", str(steps), "--host", host, "--model", "tiny", "--json"),
                *("--mode", "prompt", "--mcp", f"it={COMMAND}", "--mcp-risk", "weather=read_only"),
                *("--mcp-only", "weather"),
            ]
        )
    out, err = capfd.readouterr()
    assert (code, err) == (0, "")
    assert [step["status"] for step in json.loads(out)["steps"]] == ["done", "done"]
    assert "Oslo: 4 degrees" in json.dumps(seen.seen[-1])


def test_ctrl_c_ends_the_servers_of_the_command(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"echo $$ > {pid}; exec {COMMAND}"
    with ollama(call("slow"), "done") as (host, _):
        arguments = [
            *("run", "Go.", "--host", host, "--model", "tiny", "--mode", "prompt"),
            *("--mcp", f"it=sh -c '{script}'", "--mcp-risk", "slow=read_only"),
        ]
        with subprocess.Popen(
            [sys.executable, "-m", "fallback", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("call"):
                    break
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
            assert process.stderr is not None
            assert process.stderr.read() == "fallback: interrupted\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
