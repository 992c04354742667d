from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.rendering.literals import call, literal

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
KEYS = st.text() | st.sampled_from(
    ["a-b", "class", "__debug__", "None", "ﬁle", "x", "größe", "A·", ""]
)


def read_call(text: str) -> dict[str, Any]:
    """The arguments as Python's own parser has them."""
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        value = ast.literal_eval(keyword.value)
        arguments |= {keyword.arg: value} if keyword.arg is not None else value
    return arguments


@given(JSON)
def test_a_literal_is_read_back_as_the_same_value(value: object) -> None:
    assert ast.literal_eval(literal(value)) == value


@given(st.dictionaries(KEYS, JSON))
def test_arguments_of_any_name_are_read_back_the_same(arguments: dict[str, Any]) -> None:
    text = call("f", arguments)
    assert read_call(text) == arguments
    assert list(read_call(text)) == list(arguments)


@given(st.text())
def test_a_call_stays_on_one_line_and_can_be_encoded(text: str) -> None:
    written = call("f", {"x": text})
    assert len(written.splitlines()) == 1 or set(written) & set("\x1c\x1d\x1e\x85")
    written.encode("utf-8")


def test_a_sign_that_is_part_of_no_word_does_not_stand_before_an_equals_sign() -> None:
    assert call("f", {"A·": None, "größe": 1}) == 'f(**{"A·": None}, größe=1)'


def test_lone_surrogates_are_escaped() -> None:
    assert literal("\ud800") == '"\\ud800"'


def test_printable_characters_stay_themselves() -> None:
    text = "naïve – 日本語 — 😀 'single' \u3000 \u00a0"
    assert literal(text) == f'"{text}"'


def test_strings_are_double_quoted_and_controls_escaped() -> None:
    assert literal('a"b\\c\n\t\x7f\u2028') == '"a\\"b\\\\c\\n\\t\\x7f\\u2028"'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (None, "None"),
        (10**40, "1" + "0" * 40),
        (1e22, "1e+22"),
        (0.1, "0.1"),
        ([1, "a", {"k": False}], '[1, "a", {"k": False}]'),
    ],
)
def test_values_look_like_python(value: object, text: str) -> None:
    assert literal(value) == text


def test_names_that_python_cannot_spell_stand_as_declared() -> None:
    assert call("geo.search-2 beta", {"q": "x"}) == 'geo.search-2 beta(q="x")'


def test_keys_that_are_no_identifiers_are_unpacked_from_a_dict() -> None:
    assert call("f", {"a": 1, "a-b": 2, "class": 3}) == 'f(a=1, **{"a-b": 2}, **{"class": 3})'
