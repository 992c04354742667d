"""What holds for every text that is read as another type, and for every pattern."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from fallback.schema.exact import NOT_EXACT, READERS, as_integer, as_number
from fallback.schema.literals import read_literal
from fallback.schema.samples import sample_of_pattern


@given(st.integers())
def test_every_integer_survives_being_written_as_text(number: int) -> None:
    assert as_integer(str(number)) == number
    assert as_number(str(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_fraction_survives_being_written_as_text(number: float) -> None:
    read = as_number(repr(number))
    assert read is NOT_EXACT or read == number
    assert read is not NOT_EXACT or "e-3" in repr(number) or len(repr(number)) > 20


@given(st.text())
@example("1" * 5000)
@example("[" * 5000)
@example("{'a': " * 3000)
@example("-" * 5000 + "1")
@example("(" * 100 + ")" * 100)
@example("['\\N{BULLET}']")
@example("[1 if 1 else 2]")
@example("{**{}}")
@example("[b'']")
@example("\ud800[]")
def test_reading_text_as_another_type_never_raises(text: str) -> None:
    for read in READERS.values():
        read(text)


PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(-1e6, 1e6), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=10,
)


@given(st.one_of(st.lists(PLAIN), st.dictionaries(st.text(), PLAIN)))
def test_a_python_literal_is_read_as_what_it_says_or_not_at_all(value: Any) -> None:
    assert read_literal(repr(value)) in (value, ...)


@given(st.lists(st.one_of(st.integers(), st.booleans(), st.text("abc 'é\"\n\\"))))
def test_plain_python_lists_are_read(value: list[Any]) -> None:
    assert read_literal(repr(value)) == value


@given(st.text(max_size=30))
@example("^(a|b)+$")
@example("[z-a]")
@example("(((((((((((((((((((((((((((")
def test_making_text_for_any_pattern_never_raises(pattern: str) -> None:
    made = sample_of_pattern(pattern)
    assert made is None or len(made) <= 1000
