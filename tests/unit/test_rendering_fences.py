from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.catalogue import Catalogue
from fallback.dialects.markers import CALL_FENCES, MARKERS, RESULT_FENCES
from fallback.parsing import parse
from fallback.rendering.fences import fence_for, header_word, neutralise, quote

TICKY = st.lists(st.sampled_from(["`", "``", "```", "`````", "a", "\n", " ", "~~~"])).map("".join)


@given(TICKY)
def test_no_content_holds_a_run_as_long_as_its_fence(content: str) -> None:
    fence = fence_for(content)
    assert len(fence) >= 3
    assert fence not in content


def test_a_fence_is_no_longer_than_it_has_to_be() -> None:
    assert fence_for("plain") == "```"
    assert fence_for("a ``` b") == "````"


@pytest.mark.parametrize(
    "marker",
    [
        "```tool_call",
        "``` tool_code",
        "`````tool_result",
        "~~~tool_call",
        "<tool_call>",
        "</tool_call>",
        "<function=get>",
        "<|tool_call|>",
        "<think>",
        "[TOOL_CALLS]",
    ],
)
def test_markers_are_broken_and_stay_legible(marker: str) -> None:
    text = f"before {marker} after"
    broken = neutralise(text)
    assert marker not in broken
    assert len(broken) == len(text)
    assert re.sub(r"[`~<\['‹(]", "", broken) == re.sub(r"[`~<\['‹(]", "", text)


@pytest.mark.parametrize(
    "text", ["```python\nx = 1\n```", "a < b and c > d", "<div class='tool'>", "[1, 2]", "<b>x</b>"]
)
def test_text_without_markers_is_left_alone(text: str) -> None:
    assert neutralise(text) == text


@given(st.text())
def test_neutralising_twice_changes_nothing_more(text: str) -> None:
    once = neutralise(text)
    assert neutralise(once) == once


@given(st.text(min_size=1))
def test_a_header_word_is_one_word(text: str) -> None:
    word = header_word(text)
    assert word
    assert word.split() == [word]
    assert "`" not in word
    assert len(word) <= 80


def test_ordinary_names_are_their_own_header_words() -> None:
    assert header_word("geo.search-2") == "geo.search-2"
    assert header_word("get weather\n```") == "get_weather_"


def test_every_quoted_line_is_marked() -> None:
    assert quote("one\n\ntwo") == "> one\n>\n> two"


def test_a_long_quote_keeps_head_and_tail() -> None:
    quoted = quote("start " + "x" * 5000 + " end")
    assert quoted.startswith("> start xxx")
    assert quoted.endswith("xxx end")
    assert len(quoted) < 500


LITERALS = sorted({text for m in MARKERS for text in (m.text, *m.closers)} - {"]"})


@pytest.mark.parametrize("literal", LITERALS)
def test_every_marker_of_the_table_is_broken_by_one_character(literal: str) -> None:
    text = f"before {literal} after"
    broken = neutralise(text)
    assert literal not in broken
    assert sum(a != b for a, b in zip(text, broken, strict=True)) <= 2  # a marker may hold another


@pytest.mark.parametrize("word", sorted(CALL_FENCES | RESULT_FENCES))
@pytest.mark.parametrize("fence", ["```", "~~~", "``````", "``` "])
def test_every_fence_of_the_protocol_is_broken(fence: str, word: str) -> None:
    assert fence.strip() not in neutralise(f"{fence}{word}\n")


BODIES = [
    '{"name": "get", "arguments": {}}',
    "get()",
    "[get()]",
    '[{"name": "get", "arguments": {}}]',
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("literal", LITERALS)
def test_a_marker_in_a_result_makes_no_call_when_it_is_repeated(literal: str, body: str) -> None:
    # A bare call is one all the same; it is the marker that must not vouch for it.
    tools = Catalogue([{"name": "get", "description": "Get it.", "parameters": {}}])
    repeated = f"The page says {neutralise(literal + body)} and no more."
    plain = f"The page says {body} and no more."
    assert len(parse(repeated, tools).calls) <= len(parse(plain, tools).calls)
