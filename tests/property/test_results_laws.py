"""What holds for whatever a tool may return: it is shown, it fits, and nothing raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.execution.content import to_text
from fallback.execution.shown import shown
from fallback.results import html_to_text, mask_personal_data, shrink, ungrounded

TAGS = """<p> </p> <!-- --> <script> </script> <a b=' " > < <pre> </pre> <li> <td> &amp;
&#0; x <br/> <img alt=x>"""
MARKUP = st.lists(st.sampled_from([*TAGS.split(), " ", "\n", "<p hidden>"])).map("".join)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=300)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=30), st.dictionaries(st.text(max_size=9), inner, max_size=9)
    ),
    max_leaves=60,
)


@given(st.one_of(MARKUP, st.text()))
def test_any_markup_becomes_text_of_no_greater_length(markup: str) -> None:
    text = html_to_text(markup)
    assert len(text) <= 3 * len(markup) + 3  # an item or a cell gets two or three characters
    assert not text.startswith("\n")


@given(JSON, st.integers(20, 600))
def test_shrunk_data_is_data_and_fits(value: Any, limit: int) -> None:
    text = json.dumps(value, ensure_ascii=False)
    made = shrink(text, limit) if len(text) > limit else None
    if made is not None:
        assert len(made[0]) <= limit
        assert type(json.loads(made[0])) is type(value)
        assert made[1]


@given(JSON, st.integers(400, 2_000), st.booleans())
def test_what_is_shown_fits_and_is_whole_where_it_can_be(
    value: Any, limit: int, untrusted: bool
) -> None:
    text = to_text(value)
    view = shown(text, limit=limit, untrusted=untrusted)
    assert len(view.content) <= limit
    view.content.encode("utf-8")
    if not untrusted and len(text) <= limit:
        assert (view.content, view.warnings) in ((text, ()), (html_to_text(text), ()))


@given(st.text())
def test_a_text_rests_on_itself(text: str) -> None:
    assert ungrounded(text, [text]) == ()


@given(st.text())
def test_masking_twice_changes_nothing_more(text: str) -> None:
    once = mask_personal_data(text)
    assert mask_personal_data(once) == once


PIECES = ["<a ", "<a x='>", '<a x="', "<!--", "<script>", "<p hidden>", ' style="', "&#9", "</"]
PIECES += [
    "a-",
    "1,",
    "a@",
    "+1",
    "0123 ",
    "2031-12-",
    "may 5 ",
    "1e",
    "12:30 ",
    "AT12 ",
    "https://",
]


@pytest.mark.parametrize("piece", PIECES)
def test_a_flood_is_read_once(piece: str) -> None:
    # Anything quadratic would run into the time limit of the test.
    flood = (piece * 30_000)[:60_000]
    html_to_text(flood)
    mask_personal_data(flood)
    ungrounded(flood[:20_000], [flood])
