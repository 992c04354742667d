"""The benchmarks run, and the claims that do not depend on the machine hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def result_of(script: str) -> Any:
    return printed_by(str(BENCHMARKS / script), "--json")


def printed_by(*arguments: str) -> Any:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=BENCHMARKS.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.engine
def test_the_catalogue_costs_at_most_sixty_percent_of_its_json() -> None:
    pytest.importorskip("xllamacpp")
    result = result_of("catalogue_tokens.py")
    assert result["share"] <= 0.60
    assert all(row["compact"] < row["json"] for row in result["tools"].values())


@pytest.mark.engine
def test_a_step_evaluates_only_what_is_new() -> None:
    pytest.importorskip("xllamacpp")
    steps = result_of("prefix_cache.py")["steps"]
    assert [step["cached"] > 0 for step in steps][1:] == [True] * (len(steps) - 1)


def test_the_speed_of_the_parser_is_measured_against_other_work() -> None:
    rows = printed_by("-m", "benchmarks.parse", "--quick", "--json")
    assert len(rows) >= 7
    assert all(row["ratio"] > 0 for row in rows.values())


def test_what_an_early_call_gains_is_measured_beside_what_it_could() -> None:
    rows = result_of("eager_calls.py")
    for row in rows.values():
        assert set(row) == {"plain_seconds", "eager_seconds", "ratio", "bound"}
    assert rows["the first call is slow"]["bound"] < 0.7


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory as Linux shows it")
def test_streams_through_the_adapter_are_complete_and_its_memory_stays() -> None:
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-m", "benchmarks.proxy", "--quick", "--alone", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=BENCHMARKS.parent)
    rows = {row["what"]: row for row in json.loads(done.stdout)}  # its status is that of the times
    assert rows["streams at once that are complete"]["holds"]
    assert rows["resident memory"]["holds"]
    assert rows["request, of the direct one"]["value"] > 1
