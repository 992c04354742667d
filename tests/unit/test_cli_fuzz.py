from __future__ import annotations

import importlib.util
import json
import shlex
from pathlib import Path

import pytest

from fallback.cli import main

NAIVE = """
import json, re

def parse(text, tools):
    found = re.findall(r"<tool_call>\\\\s*(.*?)\\\\s*</tool_call>", text, re.DOTALL)
    return [json.loads(body) for body in found]

SIZE = 3
"""


@pytest.fixture
def naive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "naive_reader.py").write_text(NAIVE.replace("\\\\", "\\"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return "naive_reader:parse"


def fuzz(*arguments: str) -> int:
    return main(["fuzz", *arguments, "--seconds", "0"])


def test_a_fault_is_shown_with_its_law_and_the_way_to_find_it_again(
    naive: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--target", naive, "--law", "quoted_never_called", "--dialect", "hermes")
    assert fuzz(*arguments, "--seed", "5") == 1
    out = capsys.readouterr().out
    assert "quoted_never_called: A call that is quoted" in out
    assert "dialect   hermes" in out
    (again,) = [line for line in out.splitlines() if line.startswith("again")]
    words = shlex.split(again.removeprefix("again"))
    assert words[:2] == ["fallback", "fuzz"]
    assert main([*words[1:], "--seconds", "0"]) == 1
    assert capsys.readouterr().out == out


def test_a_fault_is_one_json_object(naive: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = fuzz("--target", naive, "--law", "round_trip", "--dialect", "fenced", "--json")
    assert code == 1
    record = json.loads(capsys.readouterr().out)
    assert record["target"] == naive
    assert record["fault"]["law"] == "round_trip"
    assert record["fault"]["reply"].startswith("```tool_call\n")
    assert record["fault"]["tools"][0]["type"] == "function"
    assert f"--seed {record['seed']}" in record["fault"]["again"]


def test_our_own_parser_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz("--law", "round_trip", "--dialect", "fenced", "--seed", "4") == 0
    out = capsys.readouterr().out
    assert out.startswith("no law broken: 1 law, 200 replies, seed 4")


def test_a_clean_run_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz("--law", "depth_is_bounded", "--seed", "4", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["target"], record["fault"], record["rounds"]) == ("fallback.parse", None, 1)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--law", "x"], "no law is called 'x'; there are never_raises, "),
        (["--dialect", "x"], "no dialect is called 'x'; there are fenced, "),
        (["--target", "x"], "a target is package.module:function, got 'x'"),
        (["--target", "no_such_module:f"], "no_such_module cannot be imported: ModuleNotFound"),
        (["--target", "naive_reader:f"], "naive_reader has no 'f'"),
        (["--target", "naive_reader:SIZE"], "naive_reader:SIZE is int, not a function"),
        (
            ["--target", "naive_reader:parse", "--law", "nothing_is_lost"],
            "the law 'nothing_is_lost' needs more than calls",
        ),
    ],
)
def test_what_is_asked_wrongly_is_one_line(
    naive: str, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    assert fuzz(*arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"fallback: {line}")
    assert err.count("\n") == 1


def test_without_hypothesis_the_way_to_get_it_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert fuzz() == 2
    assert "pip install 'toolcall-fallback[testing]'" in capsys.readouterr().err
