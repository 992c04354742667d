"""A calibration with the real embedded model: few turns, to prove the path from it to a session."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from compare_kit import WEATHER, written

from fallback import Session
from fallback.cli import main
from fallback.compare.store import read_records

MODEL = "smollm2:135m"


@pytest.mark.engine
def test_what_a_calibration_of_the_embedded_model_finds_is_how_a_session_asks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FALLBACK_THREADS", "1")
    case = {"id": "a", "question": "Hello!", "tools": [WEATHER], "calls": []}
    suite = written(tmp_path / "mine.jsonl", case)
    profile, results = tmp_path / "profile.toml", tmp_path / "results"
    arguments = ["calibrate", MODEL, "--host", "embedded", "--suite", str(suite), "--budget", "4"]
    ways = ["--way", "prompt:pythonic", "--way", "prompt:fenced", "--num-predict", "24"]
    command = [*arguments, *ways, "--out", str(profile), "--results", str(results)]
    assert main(command) == 0
    records = list(read_records(results))
    assert sorted(record["way"] for record in records) == ["prompt:fenced", "prompt:pythonic"]
    found = tomllib.loads(profile.read_text("utf-8"))
    assert found["digest"] == records[0]["digest"]
    assert found["evidence"]["turns"] == 2
    # The same again asks nothing, and comes to the same end.
    assert main(command) == 0
    assert len(list(read_records(results))) == 2
    assert tomllib.loads(profile.read_text("utf-8"))["way"] == found["way"]
    capsys.readouterr()
    session = Session(
        MODEL, [WEATHER], host="embedded", profile=profile, options={"num_predict": 8}
    )
    with session:
        turn = session.run("Hello!")
    assert turn.steps[0].mode == "prompt"
    assert any(found["way"]["name"] in note for note in turn.steps[0].notes)
