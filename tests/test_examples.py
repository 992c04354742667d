"""The lessons run, one by one, in an interpreter of their own, and assert what they show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LESSONS = sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))


def test_the_lessons_are_numbered_without_a_gap() -> None:
    assert [int(path.name[:2]) for path in LESSONS] == list(range(1, len(LESSONS) + 1))
    assert len(LESSONS) >= 7


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_runs_and_prints_what_it_found(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_says_what_it_teaches_and_asserts_it(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.startswith(f'"""Lesson {int(path.name[:2])}: ')
    assert source.count("assert ") >= 3
    assert len(source.splitlines()) <= 100
