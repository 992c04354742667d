"""The results that are published beside the examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.published import FOLDER, ROOT, fronted, summary, written

FOLDERS = sorted(path.parent for path in FOLDER.glob("*/results.jsonl"))


def test_the_tables_of_the_results_are_what_the_folders_say() -> None:
    readme = (FOLDER / "README.md").read_text("utf-8")
    assert FOLDERS
    assert written(readme) == readme


def test_the_rows_of_the_front_page_are_what_the_folders_say() -> None:
    front = (ROOT / "README.md").read_text("utf-8")
    assert fronted(front) == front
    assert all(row in front for row in summary())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_folder_has_its_report_and_the_commands_that_made_it(folder: Path) -> None:
    for name in ("report.html", "report.md", "report.png", "results.csv"):
        assert (folder / name).stat().st_size > 1000
    runs = [json.loads(line) for line in (folder / "runs.jsonl").read_text("utf-8").splitlines()]
    assert all("fallback compare" in run["command"] for run in runs)
