from __future__ import annotations

import json
from typing import Any

import pytest

from fallback.results import shrink

ROWS = [{"id": n, "title": f"post {n}", "tags": ["a", "b"]} for n in range(1_000)]


def shrunk(value: Any, limit: int) -> tuple[Any, str]:
    made = shrink(json.dumps(value, ensure_ascii=False), limit)
    assert made is not None
    assert len(made[0]) <= limit
    return json.loads(made[0]), made[1]


def test_whole_records_are_kept_at_both_ends_and_the_missing_are_counted() -> None:
    kept, told = shrunk(ROWS, 2_000)
    (note,) = [row for row in kept if isinstance(row, str)]
    at = kept.index(note)
    assert kept[:at] == ROWS[:at]
    assert kept[at + 1 :] == ROWS[-(len(kept) - at - 1) :]
    missing = 1_000 - (len(kept) - 1)
    assert note == f"... {missing} of 1000 records left out; ask for less to see more ..."
    assert told == f"{missing} records left out"
    assert at > len(kept) - at - 1 > 0


def test_as_many_records_are_kept_as_fit() -> None:
    small, large = shrunk(ROWS, 2_000)[0], shrunk(ROWS, 4_000)[0]
    assert len(large) >= 2 * len(small) - 4


def test_long_texts_are_shortened_before_few_records_are_left() -> None:
    pages = [{"page": n, "text": "x" * 50_000} for n in range(8)]
    kept, told = shrunk(pages, 8_000)
    assert [row["page"] for row in kept] == list(range(8))
    assert told == "8 texts shortened"
    assert "characters ..." in kept[0]["text"]


def test_depth_goes_last() -> None:
    deep: Any = ["x" * 40] * 30
    for _ in range(20):
        deep = {"in": deep, "n": 1}
    kept, told = shrunk(deep, 150)
    assert kept["n"] == 1
    assert "not opened" in told


def test_an_object_of_many_members_says_how_many_are_missing() -> None:
    kept, _ = shrunk({f"key{n}": n for n in range(5_000)}, 1_000)
    assert kept["key0"] == 0
    assert kept["..."].endswith("of 5000 members left out")


@pytest.mark.parametrize("text", ["plain " * 500, "[not json" * 99, '"' + "x" * 999 + '"', "["])
def test_what_is_no_data_is_left_to_be_cut_as_text(text: str) -> None:
    assert shrink(text, 100) is None


def test_data_that_cannot_be_made_small_enough_is_not_forced() -> None:
    assert shrink(json.dumps([["x" * 70] * 9] * 9), 20) is None


def test_endless_nesting_is_no_error() -> None:
    assert shrink("[" * 100_000, 100) is None
