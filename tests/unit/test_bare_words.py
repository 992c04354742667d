"""When a word without quotes is a text, and when it is a variable that nobody can look up."""

from __future__ import annotations

import pytest

from fallback import Catalogue, parse, tool
from fallback.tools import Risk

CATALOGUE = Catalogue(
    [
        {
            "name": "train",
            "parameters": {
                "type": "object",
                "properties": {
                    "data": {"type": "string", "description": "The training data."},
                    "deck": {"type": "string", "description": "normal_deck or without_joker."},
                    "kind": {"type": "string", "enum": ["a_b", "c_d"]},
                    "depth": {"type": "integer"},
                    "extra": {},
                },
            },
        },
        {"name": "now", "parameters": {"type": "object", "properties": {}}},
    ]
)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("[train(data=my_data, depth=5)]", {"data": "my_data", "depth": 5}),
        ("train(deck=without_joker)", {"deck": "without_joker"}),
        ("train(kind=c_d)", {"kind": "c_d"}),
        ("train(data=24h)", {"data": "24h"}),
    ],
)
def test_a_word_that_can_be_nothing_else_is_a_text(text: str, arguments: dict[str, object]) -> None:
    (call,) = parse(text, CATALOGUE).calls
    assert call.arguments == arguments
    assert any(repair.startswith("unquoted_") for repair in call.repairs)


@pytest.mark.parametrize(
    "text",
    [
        "train(data=my_data)",  # no list of calls: it may come from a program
        "[train(data=data)]",
        "[train(data=the_data)]",  # says no more than what belongs there
        "[train(data=your_data)]",
        "[train(data=user.name)]",
        "[train(data=x)]",
        "[train(kind=b_c)]",  # not listed
        "[train(depth=my_depth)]",
        "[train(depth=24h)]",
        "[train(extra=my_extra)]",  # the schema asks for no text
        "train(deck=joker)]x",
        "[train(data=my_data())]",
        "[train(data=my_data + 1)]",
    ],
)
def test_a_word_that_may_be_a_variable_is_refused(text: str) -> None:
    reading = parse(text, CATALOGUE)
    assert reading.calls == ()


@pytest.mark.parametrize("text", ["[now]()", "[train](depth=1)", "['now']()", "[ now]()\n"])
def test_a_list_that_closed_behind_the_name_is_a_call(text: str) -> None:
    (call,) = parse(text, CATALOGUE).calls
    assert call.repairs == ("bracketed_name",)


@pytest.mark.parametrize(
    "text",
    ["[now](https://example.org/now)", "[now](#now)", "[now](docs/now.md)", "[now] ()", "[later]()",
     "See [now]() for that."],
)  # fmt: skip
def test_a_link_is_no_call(text: str) -> None:
    reading = parse(text, CATALOGUE)
    assert (reading.calls, reading.problems, reading.text) == ((), (), text)


@pytest.mark.parametrize("risk", [risk for risk in Risk if risk is not Risk.READ_ONLY])
def test_what_changes_something_is_never_called_with_a_word_that_could_be_a_variable(
    risk: Risk,
) -> None:
    @tool(risk=risk)
    def remove(path: str) -> str:
        """Remove a file."""
        return path

    @tool(risk="read_only")
    def show(path: str) -> str:
        """Show a file."""
        return path

    reading = parse("[remove(path=my_path)]", [remove, show])
    assert reading.calls == ()
    assert reading.problems[0].kind == "invalid_arguments"
    (call,) = parse("[show(path=my_path)]", [remove, show]).calls
    assert call.arguments == {"path": "my_path"}
