from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from fallback.execution.content import cap, to_text


class Colour(Enum):
    RED = "red"
    ODD = object()


@dataclass
class Place:
    name: str
    founded: date
    token: str = field(default="secret", repr=False)


class Weather(BaseModel):
    city: str
    at: datetime


class Opaque:
    pass


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no")


def test_a_string_is_shown_as_it_is() -> None:
    assert to_text('say "hi"\n{{ x }}') == 'say "hi"\n{{ x }}'


def test_other_values_are_json_without_escapes() -> None:
    assert to_text({"ort": "Köln", "n": [1, 2.5, None, True]}) == (
        '{"ort": "Köln", "n": [1, 2.5, null, true]}'
    )


def test_none_is_null_unless_it_says_nothing() -> None:
    assert to_text(None) == "null"
    assert to_text(None, none="done") == "done"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Place("Oslo", date(1048, 1, 1)), '{"name": "Oslo", "founded": "1048-01-01"}'),
        (
            Weather(city="Rome", at=datetime(2025, 1, 2, tzinfo=UTC)),
            '{"city": "Rome", "at": "2025-01-02T00:00:00Z"}',
        ),
        ({"c": Colour.RED, "d": Colour.ODD}, '{"c": "red", "d": "ODD"}'),
        (Colour.RED, "red"),
        (date(2025, 1, 2), "2025-01-02"),
        ([Path("a.txt")], '["a.txt"]'),
        ({"s": {3, 1, 2}}, '{"s": [1, 2, 3]}'),
        (b"caf\xc3\xa9 \xff", "café \ufffd"),
        ([b"x"], '["x"]'),
        (OrderedDict(a=(1, 2)), '{"a": [1, 2]}'),
        ({1: "a"}, '{"1": "a"}'),
        ([Opaque()], '["(Opaque)"]'),
        (Opaque(), '"(Opaque)"'),
        ([Broken()], '["(Broken)"]'),
    ],
)
def test_common_types_are_understood(value: object, text: str) -> None:
    assert to_text(value) == text


def test_a_mapping_that_is_no_dict_is_an_object() -> None:
    class Frozen(Mapping[str, int]):
        def __getitem__(self, key: str) -> int:
            return 1

        def __iter__(self) -> Any:
            return iter(("a",))

        def __len__(self) -> int:
            return 1

    assert to_text(Frozen()) == '{"a": 1}'


def test_cycles_and_odd_keys_do_not_raise() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert to_text(loop) == "[[...]]"
    assert to_text({(1, 2): 3}) == "{(1, 2): 3}"


def test_endless_nesting_does_not_raise() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert isinstance(to_text(deep), str)


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_shown_can_always_be_encoded(text: str) -> None:
    to_text(text).encode("utf-8")
    to_text([text]).encode("utf-8")


@given(st.text(max_size=400), st.integers(min_value=0, max_value=300))
def test_a_capped_text_fits_and_keeps_both_ends(text: str, limit: int) -> None:
    shown, warning = cap(text, limit)
    assert len(shown) <= limit or shown == text
    if warning is None:
        assert shown == text
    elif limit >= 120:
        note = shown[shown.index("\n[... ") :]
        assert text.startswith(shown[: shown.index("\n[... ")])
        assert text.endswith(note[note.index("...]\n") + len("...]\n") :])


def test_the_note_says_how_much_is_missing() -> None:
    shown, warning = cap("a" * 1000 + "z" * 1000, 500)
    assert len(shown) <= 500
    missing = 2000 - shown.count("a", 0, shown.index("\n[")) - shown.count("z")
    assert warning == f"{missing} of 2000 characters left out"
    assert warning in shown
    assert shown.startswith("aaa")
    assert shown.endswith("zzz")


def test_json_survives_when_it_fits() -> None:
    value = {"rows": [{"id": n, "text": "ü" * 10} for n in range(20)]}
    assert json.loads(to_text(value)) == value
