"""MiniMax M3's elements: what nests is a value, what does not is a problem."""

from __future__ import annotations

from typing import Any

import pytest

from fallback import Parser, Reading, parse
from fallback.catalogue import Catalogue
from fallback.parsing.minimax import SIGN

CATALOGUE = Catalogue(
    [{"name": "f", "parameters": {"properties": {"a": {}, "item": {"type": "string"}}}}]
)


def reply(body: str) -> str:
    return f'|<tool_call>\n|<invoke name="f">{body}|</invoke>\n|</tool_call>'.replace("|", SIGN)


def read(text: str) -> Reading:
    """In one piece and character by character, which has to be the same."""
    parser = Parser(CATALOGUE)
    for char in text:
        parser.feed(char)
    parser.close()
    assert parser.reading == parse(text, CATALOGUE)
    return parser.reading


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        ("", {}),
        ("|<a>x|</a>", {"a": "x"}),
        ("|<item>x|</item>", {"item": "x"}),
        ("|<a>|<item>1|</item>|<item>2|</item>|</a>", {"a": ["1", "2"]}),
        ("|<a>|<b>|<c>x|</c>|</b>|</a>", {"a": {"b": {"c": "x"}}}),
        ("|<a><b>]</b> {|</a>", {"a": "<b>]</b> {"}),
    ],
)
def test_elements_that_nest_are_values(body: str, arguments: dict[str, Any]) -> None:
    reading = read(reply(body))
    assert [call.arguments for call in reading.calls] == [arguments]
    assert (reading.text.strip(), reading.problems) == ("", ())


@pytest.mark.parametrize(
    "body",
    ["|<a>x|</b>", "|<a>x", "x|</a>", "|<a>x|</a>|<a>y|</a>", "|<a>" * 300 + "|</a>" * 300],
)
def test_elements_that_do_not_nest_are_a_problem(body: str) -> None:
    reading = read(reply(body))
    assert (reading.calls, [problem.kind for problem in reading.problems]) == ((), ["invalid_json"])


def test_an_invoke_that_is_not_closed_is_cut_off() -> None:
    reading = read(reply("|<a>x|</a>").partition(f"{SIGN}</invoke>")[0])
    assert [problem.kind for problem in reading.problems] == ["truncated"]


def test_the_bracket_alone_is_text() -> None:
    for text in ("a]", "a] b", "]<]", f"{SIGN} is a token"):
        assert read(text).text == text
