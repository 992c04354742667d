from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.execution.masking import mask_credentials, safe_error


@pytest.mark.parametrize(
    "text",
    [
        "connect failed: postgresql://app:hunter2secret@db/prod",
        "401 for Authorization: Bearer hunter2secret.abc",
        "bad header bearer hunter2secret",
        "GET /x?api_key=hunter2secret&q=1",
        "config: {'password': 'hunter2secret'}",
        'AWS_SECRET="hunter2secret"',
        "my-access-token=hunter2secret",
        "key sk-hunter2secret-0123 was refused",
        "eyJhunter2secret0.abchunter2secret",
    ],
)
def test_credentials_are_masked(text: str) -> None:
    masked = safe_error(RuntimeError(text))
    assert "hunter2secret" not in masked
    assert "***" in masked


def test_injected_values_are_masked_wherever_they_stand() -> None:
    error = ValueError("user u-4711 of tenant acme is not allowed")
    assert safe_error(error, ["u-4711", "acme"]) == (
        "ValueError: user *** of tenant *** is not allowed"
    )


def test_a_secret_inside_another_is_masked_too() -> None:
    assert mask_credentials("abcd abcdef", ["abcd", "abcdef"]) == "*** ***"


def test_paths_are_not_shown() -> None:
    missing = FileNotFoundError(2, "No such file or directory", "/srv/app/secret/users.db")
    assert safe_error(missing) == (
        "FileNotFoundError: [Errno 2] No such file or directory: '(path)'"
    )
    assert "alice" not in safe_error(OSError(r"cannot open C:\Users\alice\notes.txt"))
    assert "(path)" in safe_error(OSError("cannot open ~/private/notes.txt"))


def test_what_is_no_path_stays() -> None:
    text = "120 km/h is too fast and/or n/a; see notes.txt"
    assert safe_error(ValueError(text)) == f"ValueError: {text}"


@pytest.mark.parametrize(
    "text",
    [
        "near WHERE: SELECT name FROM users WHERE mail = 'bob@example.org'",
        "INSERT INTO users VALUES ('bob@example.org')",
        "bad: update users set mail = 'bob@example.org'",
        "duplicate value: Key (mail)=(bob@example.org) already exists.",
        "failed [SQL: DELETE FROM x WHERE mail = 'bob@example.org'] (Background on this error)",
    ],
)
def test_statements_and_the_values_in_them_are_not_shown(text: str) -> None:
    told = safe_error(RuntimeError(text))
    assert "bob" not in told
    assert told.endswith("(sql)")


def test_of_the_errors_of_a_database_only_the_kind_is_shown() -> None:
    error = sqlite3.IntegrityError("UNIQUE constraint failed: bob@example.org")
    assert safe_error(error) == "IntegrityError"


def test_prose_about_selecting_and_updating_stays() -> None:
    text = "select a city from the list, then update the settings"
    assert safe_error(ValueError(text)) == f"ValueError: {text}"


def test_only_the_first_line_is_shown() -> None:
    error = ValueError("bad city\nTraceback (most recent call last):\n  File x")
    assert safe_error(error) == "ValueError: bad city"


def test_an_error_without_a_message_is_its_name() -> None:
    assert safe_error(KeyError()) == "KeyError"


def test_an_error_that_cannot_be_written_is_its_name() -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert safe_error(OddError()) == "OddError"


@given(st.text())
def test_an_error_is_always_one_short_line(text: str) -> None:
    line = safe_error(ValueError(text))
    assert len(line.splitlines()) == 1
    assert len(line) < 400


def test_half_a_secret_does_not_survive_the_cut() -> None:
    line = safe_error(ValueError("x" * 290 + " token=hunter2secret" * 100))
    assert "hunter2" not in line


@pytest.mark.parametrize("piece", ["/a", "token", "-_", "Bearer ", "://", "eyJ", "a-"])
def test_floods_are_masked_without_backtracking(piece: str) -> None:
    # Under a quadratic pattern this would take minutes; the limit of the test is seconds.
    assert safe_error(ValueError(piece * 200_000))
