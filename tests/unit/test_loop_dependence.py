from __future__ import annotations

import re
from typing import Any

import pytest

from fallback.loop.dependence import awaited
from fallback.messages import ToolCall

FIND = ToolCall(id="call_1_0", name="find_user", arguments={"name": "Ann"})


def beside(value: Any, *, said: str = "Write to Ann") -> str | None:
    call = ToolCall(id="call_1_1", name="send", arguments={"to": value})
    return awaited(call, (FIND, call), said)


@pytest.mark.parametrize(
    "value",
    [
        "$result",
        "$result_1",
        "$1.email",
        "$call_1.email",
        "$previous_result.items[0]",
        "$find_user.email",
        "${find_user.email}",
        "Dear $find_user.name,",
        "Dear {{ find_user.name }}",
        "{{email}}",
        "{{result.email}}",
        "${email}",
        "<result of call 1>",
        "<result>",
        "<the output of find_user>",
        "<find_user result>",
        "[result of find_user]",
        "<previous result>",
        "<Output 1>",
        "call_1_0",
        " <result of call 1> ",
        ["a@b.c", "<result of call 1>"],
        {"address": "{{email}}"},
    ],
)
def test_a_placeholder_beside_another_call_waits(value: Any) -> None:
    told = beside(value)
    assert told is not None
    assert "$.to" in told


@pytest.mark.parametrize(
    "value",
    [
        "ann@example.org",
        "$5",
        "$100.50",
        "$HOME",
        "the result of the vote",
        "result",
        "results.csv",
        "<b>result</b>",
        "<br>",
        "[draft]",
        "Dear {{name}}, welcome",
        "find_user",
        "SELECT * FROM t WHERE a = $1",
        "call_2_0",
        "",
        7,
        None,
        ["a", "b"],
        "{{" + "x" * 300 + "}}",
    ],
)
def test_what_may_be_meant_literally_does_not_wait(value: Any) -> None:
    assert beside(value) is None


def test_alone_nothing_is_waited_for() -> None:
    call = ToolCall(id="c", name="send", arguments={"to": "{{email}}"})
    assert awaited(call, (call,), "") is None


def test_what_the_user_said_is_meant_literally() -> None:
    assert beside("{{email}}", said="Save the template {{email}} please") is None


def test_the_place_is_named_however_deep_it_is() -> None:
    told = beside({"cc": ["x", "$result"]})
    assert told is not None
    assert "$.to.cc[1]" in told


def test_looking_for_references_costs_no_more_than_texts_and_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    escape = re.escape
    monkeypatch.setattr(re, "escape", lambda text: made.append(text) or escape(text))
    calls = [ToolCall(id=f"c{n}", name="find", arguments={"x": ["$a"] * 50}) for n in range(50)]
    assert awaited(calls[0], calls, "") is None
    assert len(made) <= 2 * len(calls)
