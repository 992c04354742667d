from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from compare_kit import WEATHER, plain_cases, written
from compare_server import Server

from fallback.cli import main
from fallback.compare.store import open_store, read_records, read_runs
from fallback.profiles import Profile, read_profile

CASES = plain_cases(40)


def pythonist(prompt: str) -> str:
    """A model that can do it the Python way alone."""
    right = "tool_code" in prompt
    return '```tool_code\nget_weather(city="Oslo")\n```' if right else "I do not know."


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(pythonist)
    yield made
    made.close()


@pytest.fixture
def arguments(tmp_path: Path, server: Server) -> list[str]:
    suite = written(tmp_path / "mine.jsonl", *CASES)
    given = ["calibrate", "m", "--host", server.url, "--suite", str(suite)]
    ways = ["--way", "prompt:fenced", "--way", "prompt:pythonic"]
    out = ["--out", str(tmp_path / "m.toml"), "--results", str(tmp_path / "results")]
    return [*given, *ways, *out]


def profile(folder: Path) -> Profile:
    return read_profile(folder / "m.toml")


def test_the_best_way_is_found_and_kept_with_its_evidence(
    tmp_path: Path, arguments: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--limit", "40", "--no-think"]) == 0
    (kept,) = read_runs(tmp_path / "results")
    assert kept["command"].startswith("fallback calibrate m --budget 300 --suite ")
    assert kept["command"].endswith(" --limit 40 --num-predict 1024 --no-think")
    made = profile(tmp_path)
    assert (made.way, made.mode, made.dialect, made.example) == (
        *("prompt:pythonic", "prompt", "pythonic", True),
    )
    assert (made.model, made.digest, made.versions.server) == ("m", "d1", "0.33.0")
    seen = made.evidence
    assert (seen.suites, seen.cases, seen.turns, seen.ended) == (
        *(("mine",), 8, 16, "distinguishable"),
    )
    assert [(way.name, way.n, way.rate) for way in seen.ways] == [
        ("prompt:pythonic", 8, 1.0),
        ("prompt:fenced", 8, 0.0),
    ]
    assert "prompt:pythonic is better than prompt:fenced" in seen.ways[1].sentence
    said = capsys.readouterr()
    assert "prompt:pythonic is better than every other way that was tried" in said.out
    assert f"wrote {tmp_path / 'm.toml'}" in said.err
    assert server.generations == 16


def test_the_first_cases_are_of_every_suite(
    tmp_path: Path, arguments: list[str], server: Server
) -> None:
    other = written(tmp_path / "other.jsonl", *CASES)
    assert main([*arguments, "--suite", str(other)]) == 0
    first = [record["suite"] for record in read_records(tmp_path / "results")][:8]
    assert first == ["mine", "other"] * 4


def test_the_same_command_asks_nothing_twice_and_finds_the_same(
    tmp_path: Path, arguments: list[str], server: Server
) -> None:
    assert main(arguments) == 0
    first, asked = profile(tmp_path), server.generations
    (tmp_path / "m.toml").unlink()
    assert main(arguments) == 0
    assert server.generations == asked
    again = profile(tmp_path)
    assert again.evidence == first.evidence
    assert again.way == first.way


def test_what_a_comparison_has_measured_counts(
    tmp_path: Path, arguments: list[str], server: Server
) -> None:
    suite = arguments[arguments.index("--suite") + 1]
    compare = ["compare", "-m", "m", "--host", server.url, "--suite", suite, "--no-report"]
    ways = ["--way", "prompt:fenced", "--way", "prompt:pythonic"]
    assert main([*compare, *ways, "--out", str(tmp_path / "results")]) == 0
    asked = server.generations
    assert main(arguments) == 0
    assert server.generations == asked


def test_where_no_way_stands_out_it_is_said(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(lambda prompt: "I do not know.")
    arguments[arguments.index("--host") + 1] = server.url
    try:
        assert main([*arguments, "--budget", "12"]) == 0
    finally:
        server.close()
    made = profile(tmp_path)
    assert (made.evidence.ended, made.evidence.turns) == ("budget", 12)
    assert "is not distinguishable from" in made.evidence.sentence
    assert "is better" not in capsys.readouterr().out


def test_a_profile_is_written_where_auto_looks_and_used_until_the_model_changes(
    tmp_path: Path,
    arguments: list[str],
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "profiles"
    monkeypatch.setenv("FALLBACK_PROFILE_DIR", str(folder))
    place = arguments.index("--out")
    assert main(arguments[:place] + arguments[place + 2 :]) == 0
    assert [path.name for path in folder.iterdir()] == ["m-d1.toml"]
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([WEATHER]), encoding="utf-8")
    run = ["run", "Weather in Oslo?", "-m", "m", "--host", server.url, "-t", str(tools), "--json"]
    capsys.readouterr()
    main(run)
    said = capsys.readouterr()
    assert json.loads(said.out)["steps"][0]["calls"][0]["name"] == "get_weather"
    assert "profile" not in said.err
    main(["doctor", "--host", server.url])
    told = " ".join(capsys.readouterr().out.split())
    assert f"profile {folder / 'm-d1.toml'} (calibrated here): prompt:pythonic" in told
    assert "mode prompt: measured" in told
    assert "prompt:fenced: 0% of 8 (0% to 32%) prompt:pythonic is better than" in told
    server.digest = "d2"
    main(run)
    said = capsys.readouterr()
    assert "the model is another one now (d2, measured was d1)" in said.err
    assert "measure again with: fallback calibrate m" in said.err
    assert not json.loads(said.out)["steps"][0]["calls"]
    main(["doctor", "--host", server.url, "--json"])
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert model["profile"]["trouble"].startswith("the model is another one now")
    assert model["why"] == "the server says nothing of tools for this model"


def test_a_host_that_dies_loses_nothing_and_writes_no_profile(
    tmp_path: Path, arguments: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.dies_after = 5
    assert main(arguments) in (4, 9)
    said = capsys.readouterr().err
    assert "5 results are kept, 5 of them new, and no profile is written" in said
    assert not (tmp_path / "m.toml").exists()
    assert len(list(read_records(tmp_path / "results"))) == 5
    server.dies_after = None
    assert main(arguments) == 0
    assert profile(tmp_path).way == "prompt:pythonic"
    assert server.generations <= 16 + 3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a child")
def test_ctrl_c_keeps_what_is_finished_and_writes_nothing_half(
    tmp_path: Path, arguments: list[str], server: Server
) -> None:
    server.waits_after = 3
    process = subprocess.Popen(
        [sys.executable, "-m", "fallback", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert server.waiting.wait(120)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "3 results are kept" in said
    assert "Traceback" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.jsonl", "results"]


@pytest.mark.parametrize(
    ("changed", "code", "complaint"),
    [
        ({"calibrate": "other"}, 5, "other"),
        ({"--suite": "nothing"}, 3, "there is no suite 'nothing'"),
        ({"--way": "prompt:xml"}, 2, "there is no way 'prompt:xml'"),
        ({"--host": "http://127.0.0.1:9"}, 4, "127.0.0.1:9"),
        ({"--budget": "soon"}, 2, "'soon' is no budget"),
        ({"--budget": "0"}, 2, "'0' is no budget"),
        ({"--budget": "1.5"}, 2, "'1.5' is no budget"),
        ({"--budget": "1"}, 2, "1 turns are too few for 2 ways"),
        ({"--budget": "0.001s"}, 2, "the time was up before every way had been asked"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tmp_path: Path,
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, str],
    code: int,
    complaint: str,
) -> None:
    for name, value in changed.items():
        if name in arguments:
            arguments[arguments.index(name) + 1] = value
        else:
            arguments += [name, value]
    assert main(arguments) == code
    lines = capsys.readouterr().err.strip().splitlines()
    assert complaint in lines[-1]
    assert "Traceback" not in "".join(lines)
    assert not (tmp_path / "m.toml").exists()


def test_two_calibrations_in_one_folder_are_refused(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with open_store(tmp_path / "results"):
        assert main(arguments) == 3
    assert "another run is writing to" in capsys.readouterr().err


def test_a_profile_that_cannot_be_written_is_told_and_the_results_are_kept(
    tmp_path: Path, arguments: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    arguments[arguments.index("--out") + 1] = str(tmp_path / "file" / "m.toml")
    assert main(arguments) == 3
    assert str(tmp_path / "file") in capsys.readouterr().err
    assert len(list(read_records(tmp_path / "results"))) == 16


def test_a_server_without_digests_is_told(
    arguments: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.digest = ""
    host = arguments.index("--host") + 1
    arguments[host] = arguments[host].replace("http://", "http://me:secret@")
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert "tells no digest of 'm'" in said
    assert "secret" not in said
