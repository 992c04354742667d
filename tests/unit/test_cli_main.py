from __future__ import annotations

import os
import subprocess
import sys

import pytest

import fallback
from fallback.cli import main


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["run", "--help"], ["models", "-h"]])
def test_help_is_printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = main(arguments)
    shown = capsys.readouterr()
    assert "Usage: fallback" in shown.out + shown.err
    assert code == (0 if arguments else 2)


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fallback {fallback.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu"], "No such command 'rnu'"),
        (["run"], "Missing argument"),
        (["run", "x", "--mode", "magic"], "'magic'"),
        (["run", "x", "--max-steps", "0"], "greater than or equal to 1."),
        (["run", "x", "--nope"], "--nope"),
        (["parse", "--finish-reason", "bored"], "'bored'"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in shown.err
    assert shown.err.startswith("fallback: ")
    assert shown.err.count("\n") == 1
    assert shown.err.endswith("--help'.\n")


def test_an_error_is_one_line_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "no/such/reply.txt"]) == 3
    shown = capsys.readouterr()
    assert shown.err == "fallback: no/such/reply.txt: No such file or directory\n"


@pytest.mark.parametrize("arguments", [["--debug", "parse", "gone"], ["parse", "gone", "--debug"]])
def test_debug_shows_where_an_error_came_from(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 3
    shown = capsys.readouterr().err
    assert "Traceback (most recent call last)" in shown
    assert shown.splitlines()[-1].startswith("fallback: gone: ")


def test_what_stands_after_two_dashes_is_not_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "--", "--debug"]) == 3
    assert capsys.readouterr().err == "fallback: --debug: No such file or directory\n"


def test_a_bug_is_owned_up_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> int:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr("fallback.cli.models.show_list", broken)
    assert main(["models", "list"]) == 70
    shown = capsys.readouterr().err
    assert "this is a bug: ZeroDivisionError: by nought" in shown
    assert "Traceback" not in shown


def test_an_interrupt_is_said_and_has_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("fallback.cli.models.show_list", interrupted)
    assert main(["models", "list"]) == 130
    assert capsys.readouterr().err == "fallback: interrupted\n"


@pytest.mark.skipif(os.name != "posix", reason="closing a pipe is told otherwise on Windows")
def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "fallback", "models", "list"],
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_help_needs_nothing_heavy() -> None:
    code = (
        "import sys; from fallback.cli import main; main(['--help']);"
        "print(sorted({'httpx', 'jinja2', 'lark', 'jsonschema_rs'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_command_line_begins_without_the_loop() -> None:
    """Reading a reply needs no turn, and what a turn needs is as much again to load."""
    code = "import sys, fallback.cli.app; print([n for n in sys.modules if n == 'fallback.loop'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
