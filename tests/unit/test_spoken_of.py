"""What stands in front of a call and says that it is not meant: a supposition, another's turn."""

from __future__ import annotations

import pytest
from weather_kit import WEATHER

from fallback import Catalogue, Parser, Reading, parse

CATALOGUE = Catalogue([WEATHER])
OBJECT = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
PYTHON = 'get_weather(city="Oslo")'
TAGGED = f"<tool_call>\n{OBJECT}\n</tool_call>"
BARE = (OBJECT, PYTHON, f"[{PYTHON}]", f"```json\n{OBJECT}\n```", f"```python\n{PYTHON}\n```")


def read(text: str) -> Reading:
    """Read it whole and in pieces: all have to be the same."""
    whole = parse(text, CATALOGUE)
    for size in (1, 7):
        parser = Parser(CATALOGUE)
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.close()
        assert parser.reading == whole
    return whole


@pytest.mark.parametrize(
    "sentence",
    [
        "You could call:",
        "It is sunny. To be sure, you might also use the following:",
        "You would call it so:",
        "One could run:",
        "For example:",
        "**Example:**",
        "Here is an example of a call:",
        "It takes the name of a city, e.g.",
        "There are tools for it, such as",
        "The format is:",
        "The syntax is as follows:",
        "A call is written like this:",
        "I cannot do that, but the call would look like this:",
        "The form is::",
    ],
)
@pytest.mark.parametrize("call", BARE)
def test_a_bare_call_that_is_only_supposed_is_text(sentence: str, call: str) -> None:
    text = f"{sentence}\n\n{call}"
    reading = read(text)
    assert (reading.calls, reading.problems, reading.text) == ((), (), text)
    assert [found.reason for found in reading.suppressed] == ["supposed"]


@pytest.mark.parametrize("sentence", ["You could call:", "For example:", "The format is:"])
def test_a_marked_call_is_meant_however_it_is_introduced(sentence: str) -> None:
    assert len(read(f"{sentence}\n\n{TAGGED}").calls) == 1


@pytest.mark.parametrize(
    "sentence",
    [
        "I will call:",
        "For example, I'll look up Oslo:",
        "You would like to know the weather:",
        "It would be good to know more:",
        "You could go out. I look it up first:",
        "An example was asked for. I call it:",
        "Sure:",
        "You could call me curious.",
    ],
)
@pytest.mark.parametrize("call", BARE)
def test_a_bare_call_behind_any_other_sentence_is_made(sentence: str, call: str) -> None:
    assert len(read(f"{sentence}\n\n{call}").calls) == 1


@pytest.mark.parametrize(
    "head",
    [
        "It is sunny.\n\nUser: And in Rome?\nAssistant: ",
        "It is sunny.\n\nHuman: And in Rome?\n\nAssistant:\n\n",
        "It is sunny.\n### Instruction:\nAnd in Rome?\n### Response:\n",
        "It is sunny.\n**User:** And in Rome?\n**Assistant:** ",
        "It is sunny.\n\nUser: And in Rome?\nAssistant: <think>Well.</think>\n",
        "User: The weather?\nAssistant: ",
        "Final Answer: sunny\n\nQuestion: And in Rome?\nThought: I look it up.\n",
    ],
)
def test_what_is_said_in_anothers_turn_is_never_called(head: str) -> None:
    for call in (TAGGED, f"\n\n{PYTHON}", f"\nAction: get_weather\nAction Input: {OBJECT[37:-1]}"):
        reading = read(head + call)
        assert (reading.calls, reading.problems) == ((), ())
        assert [found.reason for found in reading.suppressed] == ["next_turn"]
        assert call in reading.text


def test_a_call_in_the_users_mouth_is_text() -> None:
    assert read(f"User: {TAGGED}").calls == ()


@pytest.mark.parametrize(
    "tail",
    [
        "\nUser: And in Rome?\nAssistant: {}",
        "\n\nHuman: Thanks!\n\nAssistant: You are welcome.",
        "\n**User:** Thanks!",
        "[INST] Thanks! [/INST]",
    ],
)
def test_a_turn_that_is_invented_behind_a_call_is_dropped(tail: str) -> None:
    reading = read(TAGGED + tail.replace("{}", TAGGED))
    assert (len(reading.calls), reading.problems, reading.text) == (1, (), "")
    assert reading.segments[-1].note == "next_turn"


@pytest.mark.parametrize(
    "head",
    [
        "User: wants to know the weather.\n\n",
        "Assistant: ",
        "The user: a person. I look it up.\n\n",
        "```\nUser: Hello!\nAssistant: Hello!\n```\n\n",
        "Question: The weather?\nThought: I look it up.\n",
    ],
)
def test_a_call_in_the_models_own_words_is_made(head: str) -> None:
    assert len(read(head + TAGGED).calls) == 1


def test_words_that_only_begin_like_a_label_are_shown() -> None:
    assert read(f"{TAGGED}\nUsers like it. Human: no.").text == "Users like it. Human: no."


@pytest.mark.parametrize(
    "opener",
    ["<THINK>", "<Think>", '<think mode="deep">', "<Thinking type='a'>", "<thought\tx>",
     "<reflection>", "<scratchpad>", "<Thoughts>", "<|begin_of_thought|>", "<|channel>thought\n"],
)  # fmt: skip
def test_thinking_is_known_in_any_case_and_with_attributes(opener: str) -> None:
    word = opener.strip("<>").split()[0]
    closers = {"|begin_of_thought|": "<|end_of_thought|>", "|channel>thought": "<channel|>"}
    closer = closers.get(word) or f"</{word}>"
    for end in (closer, closer.upper() if "|" not in closer else closer):
        reading = read(f"{opener}I might write {TAGGED}{end}It is sunny.")
        assert (reading.calls, reading.text) == ((), "It is sunny.")
        assert TAGGED in reading.reasoning
    assert read(f"{opener}I might write {TAGGED}").calls == ()


def test_words_that_answers_have_too_are_thinking_only_at_the_start_of_a_line() -> None:
    text = "Write it into a <scratchpad> or a <reflection> first."
    assert read(text).text == text


def test_a_lone_closing_tag_of_thinking_is_dropped_in_any_case() -> None:
    assert read("Well.\n</THINK>\nIt is sunny.").text == "Well.\n\nIt is sunny."
