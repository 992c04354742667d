from __future__ import annotations

import pytest

from fallback.schema import violations
from fallback.schema.formats import CHECKERS


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("date", ["2026-02-28"], ["2026-02-30", "28.02.2026", "20260228", "tomorrow", "2026-2-8"]),
        (
            "date-time",
            [
                "2026-01-31T09:00:00Z",
                "2026-01-31T09:00:00+02:00",
                "2026-01-31 09:00",
                "2026-01-31t09:00:00.123456789z",
            ],
            ["2026-01-31", "2026-01-31T25:00:00Z", "now", "2026-13-01T00:00:00Z"],
        ),
        ("time", ["09:00", "09:00:00", "23:59:59.5Z"], ["9:00", "24:00", "noon"]),
        ("uuid", ["123e4567-e89b-42d3-a456-426614174000"], ["123", "x" * 36]),
        ("ipv4", ["192.0.2.1"], ["192.0.2.256", "192.0.2", "::1"]),
        ("ipv6", ["2001:db8::1", "::1"], ["192.0.2.1", "2001:db8"]),
        ("email", ["a@example.com", "a@localhost"], ["a", "a@", "a b@example.com"]),
        ("uri", ["https://example.com", "mailto:a@b.c"], ["example.com", "", "http: //a"]),
    ],
)
def test_a_format_is_checked_where_a_mistake_is_certain(
    form: str, good: list[str], bad: list[str]
) -> None:
    schema = {"properties": {"x": {"type": "string", "format": form}}}
    for text in good:
        assert not violations(schema, {"x": text}), text
    for text in bad:
        assert [v.keyword for v in violations(schema, {"x": text})] == ["format"], text


@pytest.mark.parametrize(
    "form",
    ["phone", "int64", "hostname", "regex", "iri", "duration", "json-pointer", "uri-template"],
)
def test_other_formats_restrict_nothing(form: str) -> None:
    schema = {"properties": {"x": {"format": form}}}
    assert not violations(schema, {"x": "( any \x00 thing"})


def test_a_format_says_nothing_about_other_types() -> None:
    assert not violations({"properties": {"x": {"format": "date"}}}, {"x": 3})


def test_checkers_answer_for_any_text() -> None:
    for check in CHECKERS.values():
        for text in ("", "x" * 10_000, "\x00", "2026-01-31T" + "9" * 5000, "٢٠٢٦-٠١-٣١"):
            assert check(text) in (True, False)
