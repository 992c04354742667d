"""``fallback examples select``: what is printed and what is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback.backend import GenerationRequest
from fallback.cli import examples, main
from fallback.cli.exits import ExitCode

TOOLS = '''
from fallback import tool


@tool
def get_weather(city: str) -> str:
    """Weather in a city."""
    return city
'''


class Forced:
    """An engine that finds the right call easier where its prompt has a word."""

    def __init__(self, word: str) -> None:
        self.word, self.asked = word, 0
        self.at_end: Callable[[], object] = lambda: None

    def forced(self, request: GenerationRequest, text: str) -> tuple[float, ...]:
        self.asked += 1
        return (-0.2 if self.word in request.messages[0].content else -1.0,) * 8

    def close(self) -> None:
        """What happens when the work is done."""
        self.at_end()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Forced:
    made = Forced("in Rome?")
    monkeypatch.setattr(examples, "connect", lambda *_, **__: made)
    return made


@pytest.fixture
def select(tmp_path: Path) -> Any:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")

    def run(*options: str | Path, results: bool = False) -> int:
        lines = [
            {
                "question": f"How warm is it in {city}?",
                "calls": [{"name": "get_weather", "arguments": {"city": city}}],
            }
            | ({"results": ["7"]} if results else {})
            for city in ("Rome", "Oslo")
        ]
        file = tmp_path / "candidates.jsonl"
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        arguments = ["examples", "select", str(file), "--tools", str(tmp_path / "tools.py")]
        return main([*arguments, *map(str, options)])

    return run


def test_what_is_kept_is_written(
    select: Any, engine: Forced, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "kept.jsonl"
    assert select("--out", out) == 0
    assert [json.loads(line)["question"] for line in out.read_text().splitlines()] == [
        "How warm is it in Rome?"
    ]
    shown = capsys.readouterr()
    assert f"1 of 2 kept (threshold 0.1 nats), in {out}" in shown.out.replace("\n", "")
    assert "2 of 2" in shown.err  # how far it has got


def test_a_candidate_without_results_has_no_loss_without_them(
    select: Any, engine: Forced, capsys: pytest.CaptureFixture[str]
) -> None:
    assert select() == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "warm" in line]
    assert [row[-6:-1] for row in rows][:1] == [["1.000", "–", "0.200", "+0.800", "1"]]
    assert select("--json") == 0
    told = json.loads(capsys.readouterr().out)["examples"]
    assert [judged["loss_without_results"] for judged in told] == [None, None]
    assert select("--json", results=True) == 0
    told = json.loads(capsys.readouterr().out)["examples"]
    assert [judged["loss_without_results"] for judged in told] == [0.2, 1.0]


@pytest.mark.parametrize("dialect", ["fenced", "inline"])
def test_in_every_dialect_a_result_can_be_what_helps(
    select: Any,
    monkeypatch: pytest.MonkeyPatch,
    dialect: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = "\n7\n```" if dialect == "fenced" else "→ 7]"
    monkeypatch.setattr(examples, "connect", lambda *_, **__: Forced(shown))
    assert select("--dialect", dialect, "--json", results=True) == 0
    told = json.loads(capsys.readouterr().out)["examples"]
    assert [(j["loss_without_results"], j["gain"]) for j in told] == [(1.0, 0.8)] * 2


def test_that_a_file_cannot_be_written_is_told_before_anything_is_measured(
    select: Any, engine: Forced, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for out, why in [(tmp_path / "no" / "x.jsonl", "there is no folder"), (tmp_path, "a folder")]:
        assert select("--out", out) == ExitCode.FILE
        told = capsys.readouterr().err.strip()
        assert "cannot be written" in told
        assert why in told
        assert "\n" not in told
    assert engine.asked == 0


def test_where_none_is_kept_a_file_from_before_is_left_as_it_was(
    select: Any, engine: Forced, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "kept.jsonl"
    assert select("--out", out, "--threshold", "9") == 0
    assert "is not written" in capsys.readouterr().out
    assert not out.exists()
    out.write_text("before")
    assert select("--out", out, "--threshold", "9") == 0
    assert "is left as it was" in capsys.readouterr().out
    assert out.read_text() == "before"


def test_what_was_measured_is_shown_although_the_file_cannot_be_written_any_more(
    select: Any, engine: Forced, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "kept.jsonl"
    engine.at_end = out.mkdir
    assert select("--out", out) == ExitCode.FILE
    shown = capsys.readouterr()
    assert "+0.800" in shown.out
    assert str(out) in shown.err.replace("\n", "")
