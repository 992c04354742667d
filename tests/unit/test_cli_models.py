from __future__ import annotations

import json
from pathlib import Path

import pytest

from fallback.cli import main
from fallback.engine.models import DEFAULT_MODEL


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FALLBACK_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def smol(empty_cache: Path) -> Path:
    """A file of the right name and size; its content does not matter to who only lists it."""
    from fallback.engine.registry import builtin_registry

    record = builtin_registry().find("smollm2:135m")
    assert record is not None
    path = empty_cache / "models" / f"sha256-{record.sha256}.gguf"
    path.parent.mkdir()
    with path.open("wb") as file:
        file.truncate(record.size)
    return path


def test_the_list_says_what_is_here(smol: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "qwen2.5-coder:0.5b",
        "qwen2.5-coder:1.5b",
        "smollm2:135m",
    ]
    assert lines[0].endswith("not pulled  (default)")
    assert lines[2].endswith("Apache-2.0  here")


def test_the_list_as_json(smol: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["models", "list", "--json"]) == 0
    models = {m["name"]: m for m in json.loads(capfdbinary.readouterr().out)["models"]}
    assert models[DEFAULT_MODEL]["default"]
    assert models[DEFAULT_MODEL]["path"] is None
    assert models["smollm2:135m"]["path"] == str(smol)


def test_the_path_is_printed_and_nothing_else(
    smol: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "path", "smollm2:135m"]) == 0
    assert capsys.readouterr().out == f"{smol}\n"


def test_the_path_of_a_model_that_is_not_here_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["models", "path"]) == 8
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"`fallback models pull {DEFAULT_MODEL}`" in shown.err


@pytest.mark.parametrize("action", ["pull", "rm", "path"])
def test_an_unknown_model_is_told(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", action, "no-such-model"]) == 8
    shown = capsys.readouterr()
    assert "no-such-model" in shown.err
    assert shown.err.count("\n") == 1


def test_pulling_what_is_here_downloads_nothing(
    smol: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "pull", "smollm2:135m"]) == 0
    assert capsys.readouterr().out == "smollm2:135m is ready\n"


def test_removing_deletes_the_file(smol: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "rm", "smollm2:135m"]) == 0
    assert not smol.exists()
    assert "removed smollm2:135m" in capsys.readouterr().err
    assert main(["models", "rm", "smollm2:135m"]) == 0
    assert "was not here" in capsys.readouterr().err
