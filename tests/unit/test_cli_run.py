from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_ollama import ollama

from fallback.cli import main
from fallback.cli.inputs import context_values
from fallback.cli.run import RunOptions
from fallback.errors import ConfigurationError

TOOLS = '''
import os, subprocess, sys
from typing import Annotated
from fallback import tool
from fallback.tools import Injected

print("loading prints this")

@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("the tool prints this")
    subprocess.run([sys.executable, "-c", "print('a child prints this')"])
    return a + b

@tool
def whoami(user: Annotated[str, Injected] = "nobody") -> str:
    """Name of the user."""
    return user
'''
INJECTED = '''
from typing import Annotated
from fallback import tool
from fallback.tools import Injected

@tool
def mine(token: Annotated[str, Injected]) -> str:
    """What is mine."""
    return token
'''
CALL = '```tool_call\n{"name": "add", "arguments": {"a": 20, "b": 22}}\n```'
WHO = '```tool_call\n{"name": "whoami", "arguments": {}}\n```'


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.py"
    path.write_text(TOOLS, encoding="utf-8")
    return path


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fallback", *map(str, arguments)], capture_output=True, text=True
    )


def test_the_json_is_the_whole_turn_and_nothing_else(tools: Path) -> None:
    with ollama(CALL, "It is 42.") as (host, server):
        done = command(
            "run", "What is 20 + 22?", "-t", tools, "-m", "tiny", "--host", host, "--json"
        )
    assert done.returncode == 0, done.stderr
    turn = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert turn["answer"] == "It is 42."
    assert turn["stop_reason"] == "answered"
    assert turn["tools_used"] == ["add"]
    first, second = turn["steps"]
    assert first["mode"] == "prompt"
    assert first["path"] == "generate/raw/chatml"
    assert first["raw"] == CALL
    assert first["calls"][0]["arguments"] == {"a": 20, "b": 22}
    assert first["results"][0]["content"] == "42"
    assert first["results"][0]["call_id"] == first["calls"][0]["id"]
    assert second["calls"] == second["problems"] == []
    for step in turn["steps"]:
        assert {"prompt_tokens", "completion_tokens", "seconds"} <= set(step)
        assert (step["prompt_tokens"], step["completion_tokens"]) == (7, 5)
    for printed in ("loading", "the tool", "a child"):
        assert f"{printed} prints this" in done.stderr
    assert server.seen[0]["raw"] is True


def test_the_timeline_ends_with_what_was_used(tools: Path) -> None:
    with ollama(CALL, "It is 42.") as (host, _):
        done = command("run", "What is 20 + 22?", "-t", tools, "-m", "tiny", "--host", host)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert 'call      add {"a": 20, "b": 22}' in lines
    assert "result    42" in lines
    assert "answer    It is 42." in lines
    assert lines[-1].strip().startswith("tools used: add · prompt mode (generate/raw/chatml) · 2")
    assert "14 + 10 tokens" in lines[-1]
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def test_an_injected_value_comes_from_the_command_line(tools: Path) -> None:
    with ollama(WHO, "You are ada.") as (host, server):
        done = command(
            *("run", "Who am I?", "-t", tools, "-m", "tiny", "--host", host, "--json"),
            *("--context", "user=ada=1"),
        )
    assert json.loads(done.stdout)["steps"][0]["results"][0]["content"] == "ada=1"
    assert "ada" not in "".join(request["prompt"] for request in server.seen[:1])


def test_settings_reach_the_server(tools: Path) -> None:
    with ollama("Hello.") as (host, server):
        command(
            *("run", "Hi", "-m", "tiny", "--host", host, "--num-ctx", "2048"),
            *("--temperature", "0", "--seed", "7"),
        )
    options = server.seen[0]["options"]
    assert (options["num_ctx"], options["temperature"], options["seed"]) == (2048, 0, 7)
    assert server.seen[0]["truncate"] is False


def test_the_question_can_come_from_standard_input() -> None:
    with ollama("Hello.") as (host, server):
        done = subprocess.run(
            [sys.executable, "-m", "fallback", "run", "-", "-m", "tiny", "--host", host],
            input="How are you, Ørjan?".encode(),
            capture_output=True,
        )
    assert done.returncode == 0
    assert "How are you, Ørjan?" in server.seen[0]["prompt"]


def test_a_turn_that_is_not_answered_has_its_own_code(tools: Path) -> None:
    with ollama(CALL, CALL, CALL) as (host, _):
        done = command(
            *("run", "Add.", "-t", tools, "-m", "tiny", "--host", host, "--json"),
            *("--max-steps", "1"),
        )
    assert done.returncode == 1
    assert json.loads(done.stdout)["stop_reason"] == "max_steps"


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "Hi", "-m", "nope", "--host", "HOST"], 5, "tiny:latest"),
        (["run", "Hi", "--host", "HOST"], 2, "name a model with --model"),
        (["run", " ", "-m", "tiny", "--host", "HOST"], 2, "empty"),
        (["run", "Hi", "-m", "tiny", "--host", "127.0.0.1:9"], 4, "nothing answers at"),
        (["run", "Hi", "-m", "tiny", "--host", "ftp://x"], 2, "scheme must be http"),
        (["run", "Hi", "-m", "tiny", "--host", "HOST", "-t", "gone.py"], 3, "does not exist"),
        (["run", "Hi", "-m", "tiny", "--host", "HOST", "--context", "x"], 2, "not KEY=VALUE"),
    ],
)
def test_what_goes_wrong_is_one_line_with_its_code(
    arguments: list[str], code: int, words: str, as_json: list[str]
) -> None:
    with ollama() as (host, _):
        done = command(*[host if a == "HOST" else a for a in arguments], *as_json)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert done.stderr.startswith("fallback: ")
    assert done.stderr.count("\n") == 1


def interrupted(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Press Ctrl-C, and again if nothing comes of it: one that arrives in the moment before a read
    of a socket begins is only heard when the read is over."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=60)


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise on Windows")
def test_an_interrupt_in_the_middle_of_a_reply_stops_cleanly(as_json: list[str]) -> None:
    with ollama("<hang>") as (host, server):
        arguments = ["run", "Hi", "-m", "tiny", "--host", host, *as_json]
        with subprocess.Popen(
            [sys.executable, "-m", "fallback", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert server.asked.wait(60)
            shown = ""
            while not as_json and "half a sen" not in shown:
                shown += process.stdout.read(1)
            rest, errors = interrupted(process)
    assert process.returncode == 130
    assert errors == "fallback: interrupted\n"
    assert (shown + rest)[-11:] == ("" if as_json else "half a sen\n")


def test_a_prompt_that_does_not_fit_is_told_with_the_numbers() -> None:
    with ollama("<too long>") as (host, _):
        done = command("run", "Hi", "-m", "tiny", "--host", host, "--json")
    assert (done.returncode, done.stdout) == (7, "")
    assert "5,000 tokens" in done.stderr
    assert "4,096 tokens" in done.stderr


def test_a_model_that_does_not_write_text_is_told() -> None:
    with ollama() as (host, server):
        server.capabilities = ("embedding",)
        done = command("run", "Hi", "-m", "tiny", "--host", host)
    assert (done.returncode, done.stdout) == (6, "")
    assert "does not write text" in done.stderr


def test_empty_replies_end_the_turn_without_an_answer() -> None:
    with ollama("", "", "") as (host, _):
        done = command("run", "Hi", "-m", "tiny", "--host", host)
    assert done.returncode == 1
    assert "stopped   failed: " in done.stdout
    assert "empty" in done.stdout


def test_a_missing_injected_value_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(INJECTED, encoding="utf-8")
    with ollama() as (host, _):
        done = command("run", "Hi", "-m", "tiny", "--host", host, "-t", path)
    assert done.returncode == 2
    assert "'mine' needs the value of its injected parameter 'token'" in done.stderr
    assert done.stderr.endswith("give it with --context KEY=VALUE\n")


def test_a_question_that_is_not_utf8_is_told() -> None:
    with ollama() as (host, _):
        done = subprocess.run(
            [sys.executable, "-m", "fallback", "run", "-", "-m", "tiny", "--host", host],
            input=b"caf\xe9",
            capture_output=True,
        )
    assert done.returncode == 3
    assert done.stderr == b"fallback: standard input: not UTF-8 at byte 3\n"


def test_context_is_read_in_pairs() -> None:
    assert context_values(("a=1", "b=", "c=x=y")) == {"a": "1", "b": "", "c": "x=y"}


@pytest.mark.parametrize("pairs", [("a",), ("=1",), ("a=1", "a=2")])
def test_context_that_is_not_in_pairs_is_refused(pairs: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError):
        context_values(pairs)


TWO = (
    '```tool_call\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n'
    '{"name": "add", "arguments": {"a": 3, "b": 4}}\n```'
)
ANSWER = '```tool_call\n{"name": "respond", "arguments": {"text": "It is 3."}}\n```'
SETTINGS: list[tuple[list[str], list[str], str]] = [
    (["--no-parallel-tool-calls"], ["ok", "denied"], "only the first call of a reply counts"),
    (["--allow", "whoami"], ["denied", "denied"], "this is not allowed"),
    (["--allow", "whoami", "--allow", "add", "--eager", "--respond"], ["ok", "ok"], "3"),
    (["--tool-choice", "add"], ["ok"], "7"),
]


@pytest.mark.parametrize(("given", "statuses", "told"), SETTINGS, ids=lambda v: str(v)[:30])
def test_the_settings_of_a_session_are_options_too(
    given: list[str], statuses: list[str], told: str, tools: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # A required call has been begun for the model, which only goes on.
    begun = '{"name": "add", "arguments": {"a": 3, "b": 4}}\n```'
    first = begun if "--tool-choice" in given else TWO
    last = ANSWER if "--respond" in given else "It is 3."
    with ollama(first, last) as (host, _):
        command_line = ["run", "What is 1 + 2?", "-t", str(tools), "-m", "tiny", "--host", host]
        assert main([*command_line, "--json", *given]) == 0
    turn = json.loads(capfd.readouterr().out.splitlines()[-1])
    results = turn["steps"][0]["results"]
    assert [result["status"] for result in results] == statuses
    assert any(told in result["content"] for result in results)
    assert turn["answer"] == "It is 3."


def test_only_what_was_given_is_sent() -> None:
    assert RunOptions(question="x").sampling == {}
    assert RunOptions(question="x", temperature=0.0).sampling == {"temperature": 0.0}


def test_an_unknown_embedded_model_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("xllamacpp")
    assert main(["run", "Hi", "--host", "embedded", "-m", "no-such-model"]) == 5
    shown = capfd.readouterr()
    assert "no-such-model" in shown.err
    assert shown.err.count("\n") == 1
