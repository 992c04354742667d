from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from compare_kit import plain_cases, written
from compare_server import Server

from fallback.cli import main
from fallback.compare.store import open_store, read_records, read_runs

CASES = plain_cases(3)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def arguments(tmp_path: Path, server: Server) -> list[str]:
    suite = written(tmp_path / "mine.jsonl", *CASES)
    given = ["compare", "--model", "m", "--host", server.url, "--suite", str(suite)]
    ways = ["--way", "prompt:fenced", "--way", "prompt:pythonic"]
    return [*given, *ways, "--out", str(tmp_path / "out")]


def test_a_comparison_is_run_kept_and_reported(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    out = tmp_path / "out"
    said = capsys.readouterr()
    assert said.out == ""
    assert "6 units, 0 of them finished before" in said.err
    assert f"wrote {out / 'report.html'}" in said.err
    assert len(list(read_records(out))) == 6
    assert "| prompt:fenced | 100 (44–100) [3] |" in (out / "report.md").read_text("utf-8")
    # Nothing is left to do, and the report can be written again.
    assert main([*arguments, "--no-report"]) == 0
    assert "6 units, 6 of them finished before" in capsys.readouterr().err
    (out / "report.html").unlink()
    assert main(["report", str(out)]) == 0
    assert (out / "report.html").exists()


def test_the_command_is_kept_without_secrets(tmp_path: Path, arguments: list[str]) -> None:
    host = arguments.index("--host") + 1
    arguments[host] = arguments[host].replace("http://", "http://me:secret@")
    assert main([*arguments, "--no-report", "--limit", "1"]) == 0
    (run,) = read_runs(tmp_path / "out")
    assert "secret" not in json.dumps(run)
    assert "--model m --way prompt:fenced --way prompt:pythonic" in run["command"]
    assert "secret" not in (tmp_path / "out" / "results.jsonl").read_text("utf-8")


@pytest.mark.parametrize(
    ("changed", "code"), [({"--model": ""}, 2), ({"--host": "http://me:secret@127.0.0.1:9"}, 4)]
)
def test_what_is_said_of_a_host_has_no_secrets(
    arguments: list[str],
    server: Server,
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, str],
    code: int,
) -> None:
    host = arguments.index("--host") + 1
    arguments[host] = changed.get("--host", server.url.replace("http://", "http://me:secret@"))
    if "--model" in changed:
        del arguments[1:3]
    assert main([*arguments, "--no-report"]) == code
    said = capsys.readouterr().err
    assert "127.0.0.1:" in said
    assert "secret" not in said


def test_a_server_that_dies_is_told_and_the_rest_is_done_later(
    tmp_path: Path, arguments: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.dies_after = 2
    assert main([*arguments, "--no-report"]) in (4, 9)
    said = capsys.readouterr().err
    assert "2 of 6 finished now" in said
    assert "4 are left; the same command goes on from here" in said
    server.dies_after = None
    assert main([*arguments, "--no-report"]) == 0
    assert "4 of 4 finished now" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "code", "complaint"),
    [
        ({"--suite": "nothing"}, 3, "there is no suite 'nothing'"),
        ({"--suite": "bfcl:java"}, 3, "no category 'java'"),
        ({"--way": "prompt:xml"}, 2, "there is no way 'prompt:xml'"),
        ({"--model": "other"}, 5, "other"),
        ({"--host": "http://127.0.0.1:9"}, 4, "127.0.0.1:9"),
        ({"--suite": ""}, 3, "there is no suite ''; there are builtin"),
        ({"--limit": "0"}, 2, "--limit"),
        ({"--repeat": "999999999"}, 2, "'--repeat': Input should be less than or equal to 1000"),
        ({"--temperature": "inf"}, 2, "--temperature"),
        ({"--temperature": "nan"}, 2, "--temperature"),
        ({"--out": ""}, 2, "name a folder"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, str],
    code: int,
    complaint: str,
) -> None:
    more = [word for pair in changed.items() for word in pair]
    for name, value in changed.items():
        if name in arguments and name != "--way":
            arguments[arguments.index(name) + 1] = value
            more = []
    assert main([*arguments, *more]) == code
    lines = capsys.readouterr().err.strip().splitlines()
    assert complaint in lines[-1]
    assert "Traceback" not in "".join(lines)


def test_a_bad_line_of_a_suite_is_told_with_its_number(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "mine.jsonl", CASES[0], {"id": "x", "question": "?", "calls": []})
    assert main(arguments) == 3
    assert "mine.jsonl, line 2: there is no 'tools'" in capsys.readouterr().err


def test_a_run_that_finished_nothing_ends_with_its_own_error_and_no_report(
    tmp_path: Path, arguments: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.dies_after = 0
    assert main(arguments) == 9
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith(f"fallback: {server.url} broke off in the middle of an answer")
    assert not (tmp_path / "out" / "report.html").exists()


def test_a_report_that_cannot_be_written_does_not_hide_why_the_run_ended(
    tmp_path: Path, arguments: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    server.dies_after = 2
    assert main(arguments) == 9
    said = capsys.readouterr().err
    assert "broke off in the middle of an answer" in said
    assert "report.html" in said.splitlines()[-1]
    server.dies_after = None
    assert main(arguments) == 3


def test_a_model_that_is_named_twice_is_asked_once(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--model", "m", "--model", "m:latest", "--no-report"]) == 0
    assert "6 units, 0 of them finished before" in capsys.readouterr().err
    (run,) = read_runs(tmp_path / "out")
    assert run["command"].count("--model") == 1


def test_two_runs_on_one_folder_are_refused(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with open_store(tmp_path / "out"):
        assert main(arguments) == 3
    assert "another run is writing to" in capsys.readouterr().err


def test_a_report_of_nothing_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 3
    assert "holds no results" in capsys.readouterr().err


@pytest.mark.parametrize(
    "damage", [b"[" * 100_000, b'{"v": 2, "key": [1]}', b'{"v": 2, "key": "x"}']
)
def test_a_damaged_line_is_told_with_what_to_do_by_both_commands(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str], damage: bytes
) -> None:
    assert main([*arguments, "--no-report"]) == 0
    file = tmp_path / "out" / "results.jsonl"
    whole = file.read_bytes()
    file.write_bytes(damage + b"\n" + whole)
    for command in (arguments, ["report", str(tmp_path / "out")]):
        capsys.readouterr()
        assert main(command) == 3
        said = capsys.readouterr().err
        assert f"fallback: {file}, line 1: this is no line of results: " in said
        assert "remove the line" in said.splitlines()[-1]


def test_results_of_another_version_are_counted(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--no-report"]) == 0
    file = tmp_path / "out" / "results.jsonl"
    lines = file.read_text("utf-8").splitlines()
    file.write_text("".join(line.replace('"v": 2', '"v": 1', 1) + "\n" for line in lines), "utf-8")
    capsys.readouterr()
    assert main(["report", str(tmp_path / "out")]) == 3
    said = capsys.readouterr().err
    assert "6 results in" in said
    assert "were made by another version of fallback, and there are no others" in said
    # They are made anew, and the report says what it does not show.
    assert main(arguments) == 0
    said = capsys.readouterr().err
    assert "6 units, 0 of them finished before" in said
    assert "6 results in" in said
    assert "another version of fallback and are passed over" in said


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a child")
def test_ctrl_c_keeps_what_is_finished(
    tmp_path: Path, arguments: list[str], server: Server
) -> None:
    server.waits_after = 2
    command = [sys.executable, "-m", "fallback", *arguments]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}
    )
    assert server.waiting.wait(60)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped; 2 results are kept. The same command goes on from here." in said
    assert "Traceback" not in said
    assert len(list(read_records(tmp_path / "out"))) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_terminal_shows_a_bar_with_the_time_that_is_left(arguments: list[str]) -> None:
    import pty

    inside, outside = pty.openpty()
    shape = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen(
        [sys.executable, "-m", "fallback", *arguments, "--no-report"], stderr=outside, env=shape
    )
    os.close(outside)
    shown = b""
    try:
        while piece := os.read(inside, 65536):
            shown += piece
    except OSError:  # how Linux says that the other end has gone
        pass
    os.close(inside)
    assert process.wait(60) == 0
    text = shown.decode()
    assert "6/6" in text
    assert "left" in text
    assert "m prompt:pythonic" in text
    assert "6 of 6 finished now" in text
