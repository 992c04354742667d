"""MiniMax M3's elements: what nests is a value, what does not is a problem."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from fallback import Parser, Reading, parse
from fallback.catalogue import Catalogue
from fallback.parsing.events import ArgumentsDelta, CallWithdrawn
from fallback.parsing.minimax import SIGN
from fallback.testing.effort import effort

PROPERTIES = {
    "a": {},
    "item": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "options": {"type": "object"},
}
CATALOGUE = Catalogue([{"name": "f", "parameters": {"type": "object", "properties": PROPERTIES}}])


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
        ("|<item>\n x\n|</item>", {"item": "\n x\n"}),
        ("|<item>]<]|</item>", {"item": "]<]"}),
        ("\n|<a>\n|<b>x|</b>\n|<c>y|</c>\n|</a>\n", {"a": {"b": "x", "c": "y"}}),
        ("|<tags>|</tags>|<options>|</options>|<a>|</a>", {"tags": [], "options": {}, "a": ""}),
        ("|<tags>|<item>|</item>|</tags>", {"tags": [""]}),
    ],
)
def test_elements_that_nest_are_values(body: str, arguments: dict[str, Any]) -> None:
    reading = read(reply(body))
    assert [call.arguments for call in reading.calls] == [arguments]
    assert (reading.text.strip(), reading.problems) == ("", ())


@pytest.mark.parametrize(
    "body",
    [
        "|<a>x|</b>",
        "|<a>x",
        "x|</a>",
        "x|<a>y|</a>",
        "|<a>x|</a>|<a>y|</a>",
        "|<a>x|<b>y|</b>|</a>",
        "|<a>|<b>y|</b>x|</a>",
        "|<a b>x|</a>",
        "|</a>|</a>|<a>x|</a>",
        "|<a>" * 300 + "|</a>" * 300,
    ],
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


def told(text: str) -> str:
    """The arguments as they are told, character by character."""
    parser = Parser(CATALOGUE)
    events = [event for char in text for event in parser.feed(char)]
    assert not any(isinstance(event, CallWithdrawn) for event in events)
    return "".join(event.fragment for event in events if isinstance(event, ArgumentsDelta))


def test_text_is_told_as_it_is_written_and_what_nests_when_it_is_whole() -> None:
    text = reply("|<item>It is ]<] late|</item>|<tags>|<item>x|</item>|</tags>")
    assert told(text[: text.index(" late")]) == '{"item": "It is '
    assert told(text[: text.index(" late") + 3]) == '{"item": "It is ]<] la'
    assert told(text[: text.index("<item>x")]) == '{"item": "It is ]<] late"'
    assert told(text) == '{"item": "It is ]<] late", "tags": ["x"]}'


@pytest.mark.parametrize("unit", ["|<a>", "|<a>x|</a>", "|</a>", "|<", "]<]", "|<a>" + "x" * 200])
def test_work_grows_with_the_text_and_no_faster(unit: str) -> None:
    for size in (None, 5):
        small, large = (effort(partial(_fed, reply(unit * count), size)) for count in (50, 200))
        assert large < 5 * small + 2000


def _fed(text: str, size: int | None) -> None:
    parser = Parser(CATALOGUE)
    for at in range(0, len(text), size or len(text)):
        parser.feed(text[at : at + (size or len(text))])
    parser.close()
