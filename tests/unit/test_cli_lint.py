from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fallback.cli import main
from fallback.cli.exits import ExitCode

FETCH = {
    "name": "fetch_page",
    "description": "Fetch a page and return its text.",
    "parameters": {
        "type": "object",
        "properties": {"url": {"type": "string", "description": "its address"}},
        "required": ["url"],
    },
}


def written(folder: Path, *tools: dict[str, Any]) -> str:
    path = folder / "tools.json"
    path.write_text(json.dumps(tools), encoding="utf-8")
    return str(path)


def test_warnings_pass_unless_they_are_told_to_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, FETCH)
    assert main(["lint", path]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "warning  fetch_page $.parameters.properties.url  free_url" in shown
    assert "fix: take an id" in shown
    assert "0 errors, 1 warning, 1 note" in shown
    assert main(["lint", path, "--strict"]) == ExitCode.LINT


def test_errors_have_an_exit_code_of_their_own(tmp_path: Path) -> None:
    assert main(["lint", written(tmp_path, {**FETCH, "description": ""})]) == ExitCode.LINT == 10


def test_json_is_the_whole_report(tmp_path: Path, capfdbinary: Any) -> None:
    path = written(tmp_path, FETCH)
    assert main(["lint", path, "--json", "--off", "free_url=only our wiki"]) == ExitCode.OK
    report = json.loads(capfdbinary.readouterr().out)
    assert [f["rule"] for f in report["findings"]] == ["risk_undeclared"]
    assert report["silenced"][0]["reason"] == "only our wiki"
    assert report["counts"] == {"errors": 0, "warnings": 0, "notes": 1}
    assert report["tokens"]["counted_by"] == "estimate"
    assert report["tokens"]["total"] == report["tokens"]["tools"]["fetch_page"]


def test_a_project_switches_rules_off_in_its_pyproject(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = '[tool.fallback.lint.off]\n"free_url@fetch_page" = "only our wiki"\n'
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    inner = tmp_path / "tools"
    inner.mkdir()
    assert main(["lint", written(inner, FETCH)]) == ExitCode.OK
    assert "free_url: only our wiki" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["--off", "free_url"], "write RULE=REASON", ExitCode.USAGE),
        (["--off", "free_ulr=x"], "there is no rule 'free_ulr'", ExitCode.USAGE),
        (["--tokenizer", "no/such:model"], "no/such", ExitCode.ENGINE),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str],
    words: str,
    code: ExitCode,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lint", written(tmp_path, FETCH), *arguments]) == code
    complaint = capsys.readouterr().err
    assert words in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize("table", ["[tool.fallback.lint]\noff = 3\n", "[tool\n"])
def test_a_table_that_is_none_is_one_line(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    assert main(["lint", written(tmp_path, FETCH)]) == ExitCode.FILE
    assert "pyproject.toml" in capsys.readouterr().err


def test_a_file_without_tools_is_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert main(["lint", written(tmp_path)]) == ExitCode.FILE


@pytest.mark.engine
def test_a_model_counts_its_own_tokens(tmp_path: Path, capfdbinary: Any) -> None:
    path = written(tmp_path, FETCH)
    assert main(["lint", path, "--json", "--tokenizer", "qwen2.5-coder:0.5b"]) == ExitCode.OK
    tokens = json.loads(capfdbinary.readouterr().out)["tokens"]
    assert tokens["counted_by"] == "qwen2.5-coder:0.5b"
    assert 10 < tokens["total"]["prompt"] < tokens["total"]["native"]
