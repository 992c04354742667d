"""The results that are published beside the examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.published import FOLDER, ROOT, fronted, summary, written
from fallback.compare.current import current
from fallback.compare.store import read_cases, read_records
from fallback.compare.verdicts import judged
from fallback.families.table import FAMILIES
from fallback.profiles import read_profile, templates_hash
from fallback.profiles.places import SHIPPED, file_name

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
    assert all(run["command"].startswith(("fallback compare", "fallback calib")) for run in runs)


SHIPPED_PROFILES = sorted(SHIPPED.glob("*.toml"))


@pytest.mark.parametrize("path", SHIPPED_PROFILES, ids=lambda path: path.stem)
def test_a_profile_that_comes_along_rests_on_published_results_and_still_holds(path: Path) -> None:
    profile = read_profile(path)
    assert path.name == file_name(profile.model, profile.digest)
    folder = next(folder for folder in FOLDERS if folder.name == profile.model.replace(":", "-"))
    results = judged(current(list(read_records(folder))), read_cases(folder))
    for way in profile.evidence.ways:
        asked = [r.judgement.stages["right"] for r in results if r.record["way"] == way.name]
        assert len(asked) >= way.n
        assert len(asked) > way.n or round(sum(map(bool, asked)) / way.n, 4) == way.rate
    assert {result.record["digest"] for result in results} == {profile.digest}
    hashes = {templates_hash(profile.record, family) for family in (*FAMILIES, "")}
    assert profile.versions.templates in hashes
