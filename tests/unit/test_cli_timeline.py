from __future__ import annotations

import io

import pytest
from rich.console import Console

from fallback import Session, tool
from fallback.backend import Chunk
from fallback.cli.run import ask
from fallback.cli.timeline import (
    REPEATED_CHARS,
    SHOWN_CHARS,
    SHOWN_LINES,
    Overheard,
    Timeline,
    shortened,
)
from fallback.messages import Turn
from fallback.testing import Reply, ScriptedBackend


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


CALL = '```tool_call\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n```'


def shown(*replies: Reply, chunk_size: int | None = None, **options: object) -> tuple[str, Turn]:
    """What a person sees of a turn with these replies, without the padding at line ends."""
    out = io.StringIO()
    timeline = Timeline(Console(file=out, soft_wrap=True, markup=False, emoji=False))
    backend = Overheard(ScriptedBackend(replies, chunk_size=chunk_size), timeline)
    session = Session("any", tools=[add], backend=backend, **options)  # type: ignore[arg-type]  # passed on
    turn = ask(session, "What is 1 + 2?", timeline)
    timeline.finish()
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()), turn


@pytest.mark.parametrize("chunk_size", [None, 1, 7])
def test_a_turn_is_told_in_the_order_in_which_it_happens(chunk_size: int | None) -> None:
    text, turn = shown(CALL, "It is 3.", chunk_size=chunk_size)
    assert turn.stop_reason == "answered"
    told = text.splitlines()
    assert told[:-1] == [
        "step 1    prompt mode",
        "model     ```tool_call",
        '          {"name": "add", "arguments": {"a": 1, "b": 2}}',
        "          ```",
        'call      add {"a": 1, "b": 2}',
        "result    3",
        "step 2    prompt mode",
        "model     It is 3.",
        "answer    It is 3.",
    ]
    assert told[-1].strip().startswith("tools used: add · prompt mode (scripted) · 2 steps · ")


def test_a_turn_without_a_call_says_so() -> None:
    text, _ = shown("Three.")
    assert text.splitlines()[-1].strip().startswith("no tools · prompt mode (scripted) · 1 step")


def test_a_long_answer_is_not_shown_twice() -> None:
    answer = "word " * REPEATED_CHARS
    text, _ = shown(answer)
    assert text.count("word word") < REPEATED_CHARS
    assert "answer    (as above)" in text


def test_a_refused_call_is_told_with_its_reason() -> None:
    text, _ = shown(CALL.replace('"add"', '"subtract"'), "It is 3.")
    assert "problem   unknown_tool: " in text
    assert "call      " not in text


def test_a_failing_tool_is_told() -> None:
    @tool
    def fail() -> int:
        """Fail."""
        raise ValueError("no luck")

    out = io.StringIO()
    timeline = Timeline(Console(file=out, soft_wrap=True))
    backend = ScriptedBackend(['```tool_call\n{"name": "fail", "arguments": {}}\n```', "Sorry."])
    ask(Session("any", tools=[fail], backend=backend), "Try.", timeline)
    assert "error     Error: ValueError: no luck" in out.getvalue()


def test_what_an_error_said_is_shown_to_whoever_runs_it_and_not_to_the_model() -> None:
    @tool
    def fail() -> int:
        """Fail."""
        raise RuntimeError("bob's account is closed")

    out = io.StringIO()
    timeline = Timeline(Console(file=out, soft_wrap=True))
    backend = ScriptedBackend(['```tool_call\n{"name": "fail", "arguments": {}}\n```', "Sorry."])
    ask(Session("any", tools=[fail], backend=backend), "Try.", timeline)
    assert "RuntimeError: bob's account is closed" in out.getvalue()
    assert "bob" not in backend.requests[1].messages[-1].content


def test_a_tool_without_a_handler_is_shown_as_not_run() -> None:
    out = io.StringIO()
    timeline = Timeline(Console(file=out, soft_wrap=True))
    declared = {"name": "deploy", "parameters": {"type": "object", "properties": {}}}
    backend = ScriptedBackend(['```tool_call\n{"name": "deploy", "arguments": {}}\n```'])
    turn = ask(Session("any", tools=[declared], backend=backend), "Deploy.", timeline)
    assert turn.stop_reason == "approval_required"
    assert "not run   deploy {}  Not run yet" in out.getvalue()
    assert "stopped   approval_required: " in out.getvalue()
    assert "no tools" in out.getvalue()


def test_what_a_model_writes_cannot_steer_the_terminal() -> None:
    text, _ = shown("\x1b[2J\x1b]0;title\x07Hello\r")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "␛[2J" in text


def test_thinking_is_told_apart_from_the_reply() -> None:
    text, _ = shown({"thinking": "Easy.", "content": "Three."})
    assert "thinking  Easy.\nmodel     Three.\n" in text


def test_breaking_off_leaves_a_whole_line() -> None:
    out = io.StringIO()
    timeline = Timeline(Console(file=out, soft_wrap=True))
    timeline.heard(Chunk(text="half a sen"))
    timeline.finish()
    timeline.finish()
    assert out.getvalue() == "model     half a sen\n"


def test_blank_lines_around_a_reply_are_not_shown() -> None:
    text, _ = shown("\n\nThree.\n\n\n", chunk_size=1)
    assert "model     Three.\nanswer    Three.\n" in text


def test_a_long_result_is_cut_and_says_by_how_much() -> None:
    assert shortened("short\n") == "short"
    assert shortened("x" * (SHOWN_CHARS + 5)).endswith("\n... 5 more characters")
    lines = shortened("a\n" * 100)
    assert lines.count("\n") == SHOWN_LINES
    assert lines.endswith("more characters")


def test_why_there_is_no_answer_is_said_once() -> None:
    out = io.StringIO()
    turn = ask(
        Session("any", backend=ScriptedBackend(["", ""])),
        "Say something.",
        Timeline(Console(file=out, soft_wrap=True)),
    )
    assert turn.answer == "No answer: the model's reply stayed the same: empty reply."
    assert out.getvalue().count("stayed the same") == 1
    assert "stopped   failed: the model's reply stayed the same: empty reply" in out.getvalue()
