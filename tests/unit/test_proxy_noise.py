"""What a client puts into a conversation for itself."""

from __future__ import annotations

import pytest

from fallback.backend import ModelInfo
from fallback.catalogue import Catalogue
from fallback.dialects.record import FENCED
from fallback.messages import Message, ToolCall, ToolResult
from fallback.proxy.ask import Ask
from fallback.proxy.noise import own_words
from fallback.proxy.render import rendered
from fallback.tools import Tool

REMINDER = "<system-reminder>\nToday's date is 2026-01-01. Do not mention this.\n</system-reminder>"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Why?", "Why?"),
        (f"{REMINDER}\nWhy?", "Why?"),
        (f"Why{REMINDER}?{REMINDER}", "Why?"),
        (REMINDER, ""),
        ("<system-reminder> is a tag", "<system-reminder> is a tag"),
        ("</system-reminder><system-reminder>", "</system-reminder><system-reminder>"),
    ],
)
def test_a_client_s_reminders_are_not_the_user_s_words(text: str, words: str) -> None:
    assert own_words(text) == words


def test_tags_without_end_cost_no_more_than_their_length() -> None:
    text = "<system-reminder>" * 100_000
    assert own_words(text) == text


def test_behind_a_result_only_the_user_s_own_words_are_asked_again() -> None:
    add = Tool.from_dict({"name": "add", "description": "Adds.", "parameters": {"type": "object"}})
    call = ToolCall(id="c1", name="add", arguments={})
    result = ToolResult(call_id="c1", name="add", content="3")
    ask = Ask(
        wire="messages",
        model="m",
        messages=(
            Message(role="user", content=f"{REMINDER}\n\nWhat is 1 + 2?\n\n{REMINDER}"),
            Message(role="user", content=REMINDER),
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content="3", result=result),
        ),
        catalogue=Catalogue([add]),
    )
    told = rendered(ask, ModelInfo(name="m"), "prompt", FENCED, tools=True).request.messages
    assert told[-1].content.endswith("tell me in a sentence: What is 1 + 2?")
    # Where the client has put them, they stay: they are meant for the model.
    assert told[1].content.count("Do not mention this.") == 3
    assert "Do not mention this." not in told[-1].content
