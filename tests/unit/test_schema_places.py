from __future__ import annotations

import pytest

from fallback.schema.places import child, cut, place, preview


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ([], "$"),
        (["days"], "$.days"),
        (["edits", 0, "old"], "$.edits[0].old"),
        (["odd key"], '$["odd key"]'),
        (["größe"], "$.größe"),
        (["1"], '$["1"]'),
        (['a"b'], '$["a\\"b"]'),
    ],
)
def test_places_are_json_paths(parts: list[str | int], path: str) -> None:
    assert place(parts) == path


def test_a_long_key_is_cut() -> None:
    assert len(child("$", "k" * 10_000)) < 100
    assert len(child("$", "k " * 10_000)) < 100


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("soon", '"soon"'),
        ("日本", '"日本"'),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ([1, "a"], '[1, "a"]'),
        ({"a": {"b": 1}}, '{"a": {"b": 1}}'),
        ({1, 2}, "set"),
        ("a\nb", '"a\\nb"'),
        ("\ud800", '" "'),
    ],
)
def test_values_are_shown_as_json(value: object, text: str) -> None:
    assert preview(value) == text


def test_a_view_is_short_however_large_the_value() -> None:
    for value in ("x" * 100_000, list(range(100_000)), {"k" * 1000: "v"}):
        assert len(preview(value)) <= 80
        assert preview(value).endswith("…")


def test_a_number_too_long_to_write_is_named() -> None:
    assert preview(10**5000) == "int"


def test_text_is_put_on_one_line_and_cut() -> None:
    assert cut("a\n  b\tc") == "a b c"
    assert cut("word " * 100, 20) == "word word word word…"
    assert cut("a\ud800b") == "a b"
