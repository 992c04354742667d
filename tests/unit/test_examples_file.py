"""Files of worked examples, the prompt that shows them, and what guards against their copies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fallback import Catalogue, Session
from fallback.dialects.record import PROMPTED, Dialect
from fallback.errors import ExampleFileError
from fallback.examples import load_examples, read_examples, written
from fallback.rendering.text import system_text
from fallback.testing import ScriptedBackend


def get_weather(city: str, days: int = 1) -> str:
    """Weather in a city."""
    return f"7 degrees in {city} for {days}"


def build() -> str:
    """Build the project."""
    return "built"


TOOLS = Catalogue([get_weather, build])
ROME = {
    "question": "How warm is it in Rome?",
    "calls": [{"name": "get_weather", "arguments": {"city": "Rome"}}],
    "results": ["20 degrees"],
}
DIALECTS = pytest.mark.parametrize("dialect", PROMPTED.values(), ids=lambda d: d.name)


def lines(*values: Any) -> list[str]:
    return [value if isinstance(value, str) else json.dumps(value) for value in values]


def test_an_example_is_read_and_written_back(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(f"\n{json.dumps(ROME)}\n\n", encoding="utf-8")
    (example,) = load_examples(path, TOOLS)
    assert json.loads(written(example)) == ROME
    bare = {key: value for key, value in ROME.items() if key != "results"}
    assert json.loads(written(example.without_results())) == bare


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "not JSON"),
        ("[]", 'an object with "question"'),
        ({**ROME, "answer": "x"}, "unknown key 'answer'"),
        ({**ROME, "question": " "}, '"question" is'),
        ({**ROME, "calls": []}, '"calls" is a list'),
        ({**ROME, "calls": ["x"]}, '"calls" is a list'),
        ({**ROME, "calls": [{"name": "get_wether", "arguments": {}}]}, "get_wether"),
        ({**ROME, "calls": [{"name": "get_weather", "arguments": {"town": "Rome"}}]}, "town"),
        (
            {**ROME, "calls": [{"name": "get_weather", "arguments": '{"city": "Rome",}'}]},
            "needs a repair first",
        ),
        ({**ROME, "results": []}, '"results" is a list of 1 text'),
        ({**ROME, "results": [20]}, '"results" is a list of 1 text'),
    ],
)
def test_a_line_that_is_wrong_is_told_with_its_number(line: Any, told: str) -> None:
    with pytest.raises(ExampleFileError, match=r"^x\.jsonl, line 2: ") as error:
        read_examples(lines(ROME, line), TOOLS, "x.jsonl")
    assert told in str(error.value)


def test_a_file_without_examples_or_none_at_all_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    with pytest.raises(ExampleFileError, match="No such file"):
        load_examples(path, TOOLS)
    path.write_bytes(b"\xff")
    with pytest.raises(ExampleFileError, match="not UTF-8 at byte 0"):
        load_examples(path, TOOLS)
    path.write_text("\n")
    with pytest.raises(ExampleFileError, match="there are no examples"):
        load_examples(path, TOOLS)


@DIALECTS
def test_an_example_stands_in_place_of_the_one_that_is_made_up(dialect: Dialect) -> None:
    examples = read_examples(lines(ROME), TOOLS, "x")
    plain, shown = system_text(TOOLS, dialect), system_text(TOOLS, dialect, examples=examples)
    assert "some city" in plain
    assert "some city" not in shown
    assert 'Asked "How warm is it in Rome?":' in shown
    # In running text a result stands behind its call, and nobody sends it.
    behind = '[get_weather(city="Rome") → 20 degrees]'
    assert "20 degrees" in shown
    assert (behind in shown, "Then you are sent:" in shown) == (dialect.inline, not dialect.inline)
    bare = system_text(TOOLS, dialect, examples=(examples[0].without_results(),))
    assert "20 degrees" not in bare
    assert "Rome" in bare


def test_in_running_text_each_call_of_an_example_has_its_own_result() -> None:
    both = {
        "question": "How warm is it in Rome, and does it build?",
        "calls": [*ROME["calls"], {"name": "build", "arguments": {}}],
        "results": ["20 degrees", "see [build() → ok]"],
    }
    shown = system_text(TOOLS, PROMPTED["inline"], examples=read_examples(lines(both), TOOLS, "x"))
    assert '[get_weather(city="Rome") → 20 degrees] [build() → "see (build‹) → ok]"]' in shown


def test_an_example_of_a_tool_that_is_not_offered_is_not_shown() -> None:
    examples = read_examples(lines(ROME), TOOLS, "x")
    other = TOOLS.only("build")
    assert system_text(other, PROMPTED["fenced"], examples=examples) == system_text(
        other, PROMPTED["fenced"]
    )


def call(city: str) -> str:
    arguments = json.dumps({"name": "get_weather", "arguments": {"city": city}})
    return f"```tool_call\n{arguments}\n```"


def test_a_session_shows_its_examples_and_does_not_run_a_copy_of_one() -> None:
    examples = read_examples(lines(ROME), TOOLS, "x")
    backend = ScriptedBackend([call("Rome"), call("Oslo"), "7 degrees."])
    with Session("m", TOOLS, backend=backend, mode="prompt", examples=examples) as session:
        turn = session.run("How warm is it in Oslo?")
    assert "How warm is it in Rome?" in backend.requests[0].messages[0].content
    assert [r.status for step in turn.steps for r in step.results] == ["denied", "ok"]


def test_what_the_user_names_himself_is_no_copy() -> None:
    examples = read_examples(lines(ROME), TOOLS, "x")
    backend = ScriptedBackend([call("Rome"), "7 degrees."])
    with Session("m", TOOLS, backend=backend, mode="prompt", examples=examples) as session:
        assert session.run("And in rome?").tools_used == ("get_weather",)
