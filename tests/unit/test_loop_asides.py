from __future__ import annotations

import pytest

from fallback.loop.asides import announced, announces_call, repeated

NAMES = ("get_weather", "geo.search")


@pytest.mark.parametrize(
    "text",
    [
        "I will use the get_weather tool.",
        "Sure! Let me check that with get_weather.",
        "I'll call geo.search to find it",
        "I'm going to use a function for this.",
        "To answer this, I need to use the weather tool",
        "Let me first use the search tool to find the file...",
    ],
)
def test_a_promise_of_a_call_is_recognised(text: str) -> None:
    assert announces_call(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "It is sunny in Oslo.",
        "You should use the get_weather tool.",
        "I used get_weather: it is sunny.",
        "I will check the facts: Oslo is in Norway.",
        "Let me know if you need anything else.",
        "I can use the tools get_weather and geo.search. What would you like to know?",
        "I will use the get_weather tool. " + "It said that it is sunny. " * 30,
        "A hammer is a tool. I will explain what it is for.",
        "",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert not announces_call(text, NAMES)


def test_the_model_is_shown_its_promise_and_nothing_that_could_be_copied_as_a_call() -> None:
    text = announced("I will use ```tool_call now")
    assert "> I will use" in text
    assert "```tool_call" not in text


def test_a_repetition_names_the_tool_and_the_count() -> None:
    assert "get_weather 3 times" in repeated("get_weather", 3)


@pytest.mark.parametrize("piece", ["I will ", "let me use ", "a ", "tool", ". "])
def test_floods_are_looked_at_in_no_time(piece: str) -> None:
    announces_call(piece * 100_000, NAMES)
