"""Every reply of ``replies.jsonl`` is read as it should be, however it arrives."""

from __future__ import annotations

from typing import Any

import pytest
from conformance import judging

CASES = judging.load()
SHORT = 4000  # characters; longer replies are not cut into single ones


def _id(case: dict[str, Any]) -> str:
    return str(case["id"])


def test_the_cases_are_there() -> None:
    assert len(CASES) >= 85


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_a_whole_reply_is_read_right(case: dict[str, Any]) -> None:
    assert judging.faults(case, judging.read(case, [case["output"]])) == []


@pytest.mark.parametrize("case", [c for c in CASES if len(c["output"]) <= SHORT], ids=_id)
def test_one_character_at_a_time_gives_the_same_reading(case: dict[str, Any]) -> None:
    assert judging.read(case, case["output"]) == judging.read(case, [case["output"]])


@pytest.mark.parametrize("case", [c for c in CASES if c.get("chunks")], ids=_id)
def test_the_reported_chunks_give_the_same_reading(case: dict[str, Any]) -> None:
    assert "".join(case["chunks"]) == case["output"]
    assert judging.read(case, case["chunks"]) == judging.read(case, [case["output"]])


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_every_character_is_accounted_for(case: dict[str, Any]) -> None:
    reading = judging.read(case, [case["output"]])
    at = 0
    for segment in reading.segments:
        assert segment.start == at
        at = segment.end
    assert at == len(case["output"])
    shown = "".join(case["output"][s.start : s.end] for s in reading.segments if s.kind == "text")
    assert shown == reading.text
