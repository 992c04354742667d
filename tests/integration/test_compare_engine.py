"""A comparison with the real embedded model: few cases, to prove the path."""

from __future__ import annotations

from pathlib import Path

import pytest
from compare_kit import WEATHER, written

from fallback.cli import main
from fallback.compare.store import read_records

MODEL = "smollm2:135m"


@pytest.mark.engine
def test_the_embedded_model_is_compared_by_way_of_both_endpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FALLBACK_THREADS", "1")
    case = {"id": "a", "question": "Hello!", "tools": [WEATHER], "calls": []}
    suite = written(tmp_path / "mine.jsonl", case)
    arguments = ["compare", "--model", MODEL, "--host", "embedded", "--suite", str(suite)]
    ways = ["--way", "native", "--way", "prompt:fenced", "--way", "prompt:pythonic+chat+no-example"]
    more = ["--num-predict", "24", "--no-report", "--out", str(tmp_path)]
    assert main([*arguments, *ways, *more]) == 0
    said = capsys.readouterr().err
    assert "cannot be asked by way of native" in said  # its template has no place for tools
    assert "2 of 3 finished now, 1 not possible" in said
    records = list(read_records(tmp_path))
    assert [record["steps"][0]["path"] for record in records] == ["generate/raw/chatml", "chat"]
    usages = [record["steps"][0]["usage"] for record in records]
    assert all(0 < usage["completion_tokens"] <= 24 for usage in usages)
    assert all(usage["prompt_tokens"] > 50 for usage in usages)
    # The same again finds everything done.
    assert main([*arguments, *ways, *more]) == 0
    assert "3 units, 2 of them finished before" in capsys.readouterr().err
    assert len(list(read_records(tmp_path))) == 2
