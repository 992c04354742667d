from __future__ import annotations

import json
from pathlib import Path

import pytest

from fallback import doctor
from fallback.cli import main
from fallback.doctor import Trouble, examine

NOBODY = "127.0.0.1:9"


def test_a_server_that_does_not_answer_is_told_with_what_to_do() -> None:
    report = examine(NOBODY)
    assert report.server is None
    (trouble,) = report.troubles
    assert trouble.what == f"http://{NOBODY} (named with --host)"
    assert "--host or OLLAMA_HOST" in trouble.advice


def test_the_environment_decides_where_to_look() -> None:
    report = examine(environ={"OLLAMA_HOST": NOBODY})
    assert report.troubles[0].what == f"http://{NOBODY} (OLLAMA_HOST is set)"


def test_an_address_that_is_none_is_told() -> None:
    (trouble,) = examine("ftp://x").troubles
    assert "scheme must be http" in trouble.advice


def test_what_is_installed_is_told(tmp_path: Path) -> None:
    report = examine(NOBODY, environ={"FALLBACK_CACHE_DIR": str(tmp_path)})
    assert report.python.startswith("3.")
    assert report.packages["httpx"]
    assert report.cache == str(tmp_path)


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "lark" else found(name))
    assert (
        Trouble("not installed: lark", "pip install toolcall-fallback") in examine(NOBODY).troubles
    )


def test_a_secret_in_an_address_is_not_shown() -> None:
    report = examine(f"http://ada:hunter2@{NOBODY}")
    assert "hunter2" not in str(report)


def test_the_command_prints_lines_and_ends_with_the_code_of_the_trouble(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor", "--host", NOBODY]) == 4
    shown = capsys.readouterr().out
    assert "python    3." in shown
    assert f"problem   http://{NOBODY} (named with --host): nothing answers" in shown
    assert "everything works" not in shown


def test_the_command_prints_json(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["doctor", "--host", NOBODY, "--json"]) == 4
    report = json.loads(capfdbinary.readouterr().out)
    assert set(report["troubles"][0]) == {"what", "advice"}
    assert report["models"] == []


def test_an_embedded_engine_is_examined_like_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xllamacpp")
    monkeypatch.setenv("FALLBACK_CACHE_DIR", str(tmp_path))
    report = examine("embedded")
    assert report.server is not None
    assert report.server.embedded
    assert [t.advice for t in report.troubles] == ["get one: fallback models pull"]


@pytest.mark.engine
def test_a_model_is_told_with_its_mode_and_why() -> None:
    report = examine("embedded")
    (model,) = [m for m in report.models if m.name == "qwen2.5-coder:0.5b"]
    assert model.family == "chatml"
    assert model.mode == "prompt"  # as was measured
    assert model.capabilities == ("completion", "tools")
    assert (model.window, model.trained) == (8192, 32768)
