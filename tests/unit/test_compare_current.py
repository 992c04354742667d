"""Which records of a folder a report is about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from compare_kit import plain_cases, written
from compare_server import Server

from fallback.cli import main
from fallback.compare.current import current
from fallback.compare.store import read_records


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    """Compare six cases, with what is given besides; returns the server."""
    server = Server()
    suite = written(tmp_path / "mine.jsonl", *plain_cases(6))
    given = ["compare", "-m", "m", "--host", server.url, "--suite", str(suite)]
    given += ["--way", "prompt:pythonic", "--out", str(tmp_path / "out")]

    def ask(*more: str) -> Server:
        assert main([*given, *more]) == 0
        return server

    yield ask
    server.close()


def counted(folder: Path) -> int:
    return len(current([*read_records(folder / "out")]))


def report(folder: Path) -> str:
    return (folder / "out" / "report.md").read_text("utf-8")


def test_a_model_that_was_pulled_anew_is_not_averaged_with_the_old_one(
    tmp_path: Path, asked: Any
) -> None:
    asked().digest = "d2"
    asked()
    assert len([*read_records(tmp_path / "out")]) == 12
    assert counted(tmp_path) == 6
    assert "digest d2" in report(tmp_path)
    assert "6 older records are left out: they were made with another version" in report(tmp_path)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "6 older records are left out" in page
    assert re.search(r"digest\W*(<[^>]*>)*d2", page)


@pytest.mark.parametrize(
    "more", [("--temperature", "1"), ("--num-predict", "7"), ("--seed", "3"), ("--limit", "2")]
)
def test_results_of_other_options_are_no_repeats(
    tmp_path: Path, asked: Any, more: tuple[str, str]
) -> None:
    asked()
    asked(*more)
    assert counted(tmp_path) == 6
    asked("--temperature", "0.5")
    assert counted(tmp_path) == 6


def test_a_case_that_was_edited_counts_as_it_was_asked_last(tmp_path: Path, asked: Any) -> None:
    asked()
    cases = plain_cases(6)
    cases[2] |= {"question": "Something else?"}
    written(tmp_path / "mine.jsonl", *cases)
    asked()
    assert len([*read_records(tmp_path / "out")]) == 7
    assert counted(tmp_path) == 6


def test_repeats_and_ways_belong_together(tmp_path: Path, asked: Any) -> None:
    asked("--repeat", "2")
    asked("--way", "prompt:hermes")
    assert counted(tmp_path) == len([*read_records(tmp_path / "out")]) == 18
