"""The end of the first batch of calls is told as soon as anything shows that it is the end."""

from __future__ import annotations

import pytest

from fallback import Catalogue, Parser, Session
from fallback.parsing.events import (
    ArgumentsDelta,
    BatchComplete,
    CallReady,
    CallStarted,
    TextDelta,
)
from fallback.testing import ScriptedBackend
from fallback.testing.writers import WRITERS, Written

TOOL = {
    "name": "save",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "size": {"type": "integer"}},
    },
}
CATALOGUE = Catalogue([TOOL])
CALL = Written("save", {"path": "a.txt", "size": 5})
# These have no mark of their own for their end, or one behind which the same body may go on.
OPEN = ("fenced", "pythonic", "mistral", "mistral_named", "llama3", "python_list", "functools",
        "harmony", "functionary", "nexus", "bare_json", "granite", "granite_plain", "internlm",
        "minicpm", "tag_per_tool", "llama_function")  # fmt: skip


def told_at(text: str, behind: str) -> tuple[int | None, int | None]:
    """How much of ``behind`` had arrived when the call was ready, and when the batch was over."""
    parser = Parser(CATALOGUE)
    ready = over = None
    for place, char in enumerate(text + behind, 1 - len(text)):
        for event in parser.feed(char):
            if isinstance(event, CallReady):
                ready = place
            elif isinstance(event, BatchComplete):
                over = place
    return ready, over


@pytest.mark.parametrize("dialect", WRITERS)
def test_a_call_is_ready_with_the_last_character_of_its_form(dialect: str) -> None:
    ready, over = told_at(WRITERS[dialect].write([CALL]), "\n\n")
    assert over is None  # another call may follow
    if dialect in OPEN:
        assert ready is None
    else:
        assert ready is not None
        assert ready <= 0


@pytest.mark.parametrize("dialect", WRITERS)
def test_the_batch_is_over_at_the_first_character_that_no_call_begins_with(dialect: str) -> None:
    _, over = told_at(WRITERS[dialect].write([CALL]), "\n\n= 5, as you see.")
    assert over == 3


@pytest.mark.parametrize("dialect", WRITERS)
def test_the_batch_is_over_as_soon_as_a_word_can_be_no_name_of_a_tool(dialect: str) -> None:
    # Behind a form without an end of its own any word may name the tool of the next call, so the
    # character behind the word decides, and behind "re" the one that makes it no "return".
    _, over = told_at(WRITERS[dialect].write([CALL]), "\n\nWhat I did is this.")
    assert over is not None
    assert over <= len("\n\nWh" if dialect not in OPEN else "\n\nWhat I ")


@pytest.mark.parametrize("dialect", WRITERS)
def test_the_batch_is_over_before_an_invented_result_is_written(dialect: str) -> None:
    for result in ("<tool_response>{", "```tool_result\n{", "Observation: done"):
        _, over = told_at(WRITERS[dialect].write([CALL]), f"\n{result}")
        assert over is not None
        assert over <= 1 + len(result.rstrip("{done"))


@pytest.mark.parametrize("dialect", [name for name, writer in WRITERS.items() if writer.many])
def test_a_batch_of_several_calls_is_told_once_and_counts_them(dialect: str) -> None:
    text = WRITERS[dialect].write([CALL, CALL, CALL]) + "\n\n= 5"
    parser = Parser(CATALOGUE)
    events = [event for char in text for event in parser.feed(char)] + parser.close()
    assert [event for event in events if isinstance(event, BatchComplete)] == [BatchComplete(3)]


def test_a_session_tells_the_pieces_and_stops_the_model_behind_its_calls() -> None:
    reply = 'Let me see.\n\n```tool_call\n{"name": "save", "arguments": {"path": "a.txt"}}\n```\n\n'
    model = ScriptedBackend([f"{reply}The file was saved.", "Done."], chunk_size=1)
    with Session("any", tools=[save], backend=model) as session:
        events = list(session.stream("Save it."))
    kinds = [type(event) for event in events]
    assert kinds.index(CallStarted) < kinds.index(ArgumentsDelta) < kinds.index(CallReady)
    pieces = [event.fragment for event in events if isinstance(event, ArgumentsDelta)]
    assert "".join(pieces) == '{"path": "a.txt"}'
    assert "saved" not in "".join(e.text for e in events if isinstance(e, TextDelta))


def save(path: str) -> str:
    """Save a file.

    Args:
        path: where.
    """
    return path
