from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripted_ollama import ollama

from fallback.cli import main
from fallback.cli.exits import ExitCode
from fallback.errors import FlowFileError
from fallback.flow.file import load_flow

ROOT = Path(__file__).resolve().parents[2]
# A call is required, so the prompt already holds its beginning, the name included.
LATER = '{"name": "date_after", "arguments": {"start": "2031-12-24", "days": 10}}\n```'
DAY = '{"name": "weekday", "arguments": {"day": "2032-01-03"}}\n```'


def written(folder: Path, text: str) -> Path:
    path = folder / "flow.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_what_the_python_objects_say(tmp_path: Path) -> None:
    told = load_flow(
        written(
            tmp_path,
            """
model = "tiny"
instructions = "Be brief."
tools = ["tools.py"]
needs = ["city"]
[inputs]
days = 3
[[step]]
name = "weather"
ask = "Weather in ${city} for ${days} days?"
tools = ["forecast"]
of = "forecast"
takes = "all"
tool_choice = "forecast"
max_steps = 3
max_calls = 2
seconds = 1.5
tries = 2
""",
        )
    )
    (step,) = told.flow.steps
    assert (told.model, told.instructions) == ("tiny", "Be brief.")
    assert told.tools == (tmp_path / "tools.py",)
    assert told.flow.inputs == ("city", "days")
    assert told.inputs == {"days": 3}
    assert (step.tools, step.takes, step.of, step.tool_choice) == (
        ("forecast",),
        "all",
        "forecast",
        "forecast",
    )
    assert (step.max_steps, step.max_calls, step.seconds, step.tries) == (3, 2, 1.5, 2)


STEP = '[[step]]\nname = "a"\nask = "?"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model = ", "flow.toml: Invalid value (at end of document)"),
        ("", "flow.toml: a flow has at least one step"),
        ("modle = 'x'\n" + STEP, "there is no setting 'modle'; there are model,"),
        ("model = 3\n" + STEP, "model has to be text"),
        ("tools = [1]\n" + STEP, "tools has to be a list of texts"),
        ("step = ['a']", "flow.toml:1: step 1: a step is a table"),
        (STEP + "\n[[ step ]]\nname = 'b'\n", "flow.toml:5: step 2: a step needs 'ask'"),
        (STEP + "max_step = 1", "flow.toml:1: step 1: there is no setting 'max_step'"),
        (STEP + "tries = true", "step 1: tries has to be a whole number"),
        (STEP + "seconds = 'x'", "step 1: seconds has to be a number"),
        (STEP + "\n" + STEP, "flow.toml:5: step 2 'a': the name is taken"),
        (
            STEP + '\n[[step]]\nname = "b"\nask = "${c}"\n',
            "flow.toml:5: step 2 'b': ${c} is neither an input nor an earlier step; there are a",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FlowFileError) as raised:
        load_flow(written(tmp_path, text))
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["flow", str(tmp_path / "none.toml")]) == ExitCode.FILE
    assert "none.toml: No such file" in capsys.readouterr().err
    (tmp_path / "x.toml").write_bytes(b"\xff")
    assert main(["flow", str(tmp_path / "x.toml")]) == ExitCode.FILE


def flow(*arguments: str | Path) -> int:
    return main(["flow", str(ROOT / "examples" / "flow.toml"), *map(str, arguments)])


def test_the_example_hands_the_date_on(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with ollama(LATER, "In January.", DAY, "Saturday.") as (host, server):
        code = flow("--host", host, "-m", "tiny", "--json")
    assert code == ExitCode.OK
    run = json.loads(capfdbinary.readouterr().out)
    assert run["done"] is True
    assert run["value"] == "Saturday"
    assert [step["value"] for step in run["steps"]] == ["2032-01-03", "Saturday"]
    assert "What day of the week is 2032-01-03?" in server.seen[2]["prompt"]


def test_a_run_is_kept_and_taken_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "run.json"
    with ollama(LATER, "In January.", "No idea.", "None.") as (host, _):
        code = flow("--host", host, "-m", "tiny", "--record", record)
    assert code == ExitCode.NOT_ANSWERED
    shown = capsys.readouterr().out
    assert "done      later: 2032-01-03" in shown
    assert "flow      failed at 'day', step 2 of 2" in shown
    with ollama(DAY, "Saturday.") as (host, server):
        code = flow("--host", host, "-m", "tiny", "--record", record)
    assert code == ExitCode.OK
    assert len(server.seen) == 2
    assert "flow      Saturday" in capsys.readouterr().out
    assert json.loads(record.read_text(encoding="utf-8"))["done"] is True


def test_a_record_that_is_none_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "run.json"
    record.write_text("{", encoding="utf-8")
    assert flow("--record", record) == ExitCode.FILE
    assert "run.json" in capsys.readouterr().err


def test_an_input_is_given_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with ollama(LATER, "x", DAY, "y") as (host, server):
        assert flow("--host", host, "-m", "tiny", "--input", "start=2030-01-01") == ExitCode.OK
    assert "10 days after 2030-01-01" in server.seen[0]["prompt"]
    assert flow("--input", "start") == ExitCode.USAGE
    assert "--input 'start' is not KEY=VALUE" in capsys.readouterr().err
