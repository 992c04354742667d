from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
CALL = '```tool_call\n{"name": "get_weather", "arguments": {"city": "Tromsø"}}\n```'


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([WEATHER]), encoding="utf-8")
    return path


def parse(*arguments: str | Path, reply: bytes | str = b"") -> subprocess.CompletedProcess[bytes]:
    data = reply.encode() if isinstance(reply, str) else reply
    command = [sys.executable, "-m", "fallback", "parse", *map(str, arguments)]
    return subprocess.run(command, input=data, capture_output=True)


def test_a_reply_from_standard_input_is_one_json_object(tools: Path) -> None:
    done = parse("--tools", tools, reply=CALL)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\n") == 1
    assert "Tromsø" in done.stdout.decode()
    (call,) = json.loads(done.stdout)["calls"]
    assert call == {
        "name": "get_weather",
        "arguments": {"city": "Tromsø"},
        "dialect": "fenced",
        "repairs": [],
    }


def test_a_reply_from_a_file_is_the_same(tools: Path, tmp_path: Path) -> None:
    file = tmp_path / "reply.txt"
    file.write_bytes(CALL.encode("utf-8-sig"))
    assert parse(file, "-t", tools).stdout == parse("-t", tools, reply=CALL).stdout


def test_without_tools_there_are_no_calls() -> None:
    reading = json.loads(parse(reply="Hello.").stdout)
    assert reading["text"] == "Hello."
    assert reading["calls"] == reading["problems"] == []


def test_the_options_reach_the_parser(tools: Path) -> None:
    cut = json.loads(parse("-t", tools, "--finish-reason", "length", reply=CALL[:-8]).stdout)
    assert [problem["kind"] for problem in cut["problems"]] == ["truncated"]
    off = json.loads(parse("-t", tools, "--tool-choice", "none", reply=CALL).stdout)
    assert off["calls"] == []
    thought = json.loads(parse("-t", tools, "--reasoning-open", reply="hm</think>Hello").stdout)
    assert (thought["reasoning"], thought["text"]) == ("hm", "Hello")


def test_a_summary_is_for_people(tools: Path) -> None:
    reply = f"<think>Cold there.</think>I look.\n\n{CALL}"
    done = parse("-t", tools, "--summary", reply=reply)
    assert done.stdout.decode().splitlines() == [
        'call      get_weather {"city": "Tromsø"}  (fenced)',
        "thinking  Cold there.",
        "text      I look.",
    ]


def test_a_summary_names_what_was_refused_and_mended(tools: Path) -> None:
    unknown = parse("-t", tools, "--summary", reply=CALL.replace("get_weather", "get_sun"))
    assert b"problem   unknown_tool: " in unknown.stdout
    mended = parse("-t", tools, "--summary", reply=CALL.replace('"}}', '",}}'))
    assert b"(fenced, trailing_comma)" in mended.stdout


def test_a_summary_of_nothing_says_so(tools: Path) -> None:
    assert parse("-t", tools, "--summary").stdout == b"empty     no call and no text\n"


def test_a_summary_cannot_steer_the_terminal() -> None:
    assert b"\x1b" not in parse("--summary", reply="\x1b[2Jgone").stdout


@pytest.mark.parametrize("batch", [[], ["--batch"]], ids=["one", "batch"])
def test_a_file_that_is_not_there_is_one_line(batch: list[str], tmp_path: Path) -> None:
    done = parse(*batch, tmp_path / "gone")
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.decode() == f"fallback: {tmp_path / 'gone'}: No such file or directory\n"


def test_a_reply_that_is_not_utf8_says_where() -> None:
    done = parse(reply=b"caf\xe9")
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr == b"fallback: standard input: not UTF-8 at byte 3\n"


def test_a_tool_file_that_is_wrong_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "t.py"
    path.write_text("import nothing_of_that_name\n", encoding="utf-8")
    done = parse("-t", path, reply="Hello")
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.decode().startswith(f"fallback: {path}:1: ModuleNotFoundError: ")
    assert done.stderr.count(b"\n") == 1


def test_an_unknown_tool_choice_is_one_line(tools: Path) -> None:
    done = parse("-t", tools, "--tool-choice", "no_such_tool", reply=CALL)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no_such_tool" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_batch_is_not_explained(tmp_path: Path) -> None:
    done = parse("--batch", "--explain", tmp_path / "replies.jsonl")
    assert done.returncode == 2
    assert b"--explain is for one reply" in done.stderr
