"""Every reply of ``fallback/testing/replies.jsonl`` is read as it should be, however it arrives."""

from __future__ import annotations

import pytest

from fallback.messages import SHOWN
from fallback.testing.cases import Case, cases, faults, read

CASES = cases()
SHORT = 4000  # characters; longer replies are not cut into single ones


def _id(case: Case) -> str:
    return str(case["id"])


def test_the_cases_are_there() -> None:
    assert len(CASES) >= 85
    assert len({case["id"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_a_whole_reply_is_read_right(case: Case) -> None:
    assert faults(case, read(case)) == []


@pytest.mark.parametrize("case", [c for c in CASES if len(c["output"]) <= SHORT], ids=_id)
def test_one_character_at_a_time_gives_the_same_reading(case: Case) -> None:
    assert read(case, case["output"]) == read(case)


@pytest.mark.parametrize("case", [c for c in CASES if c.get("chunks")], ids=_id)
def test_the_reported_chunks_give_the_same_reading(case: Case) -> None:
    assert "".join(case["chunks"]) == case["output"]
    assert read(case, case["chunks"]) == read(case)


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_every_character_is_accounted_for(case: Case) -> None:
    reading = read(case)
    at = 0
    for segment in reading.segments:
        assert segment.start == at
        at = segment.end
    assert at == len(case["output"])
    shown = "".join(case["output"][s.start : s.end] for s in reading.segments if s.kind in SHOWN)
    assert shown == reading.text
