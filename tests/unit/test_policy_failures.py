"""The table of failures: complete, as documented, and what results really say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from gates_kit import MODES, Mode, a_session, reply, run

from fallback import Session
from fallback.errors import ToolConflict, ToolFailed, ToolPartial, ToolRetry, ToolTransient
from fallback.limits import Limits
from fallback.messages import FailureKind, ProblemKind
from fallback.policy import Policy
from fallback.policy.failures import FAILURES
from fallback.tools import Risk, tool

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gates.md"


def test_every_kind_of_failure_has_its_row() -> None:
    assert set(FAILURES) == {*get_args(ProblemKind), *get_args(FailureKind)}


def test_the_page_shows_the_table_as_it_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (\w+) \|$", text, re.MULTILINE)
    shown = [row for row in rows if row[0] in FAILURES]
    assert shown == [(kind, f.gate, f.told, f.retry) for kind, f in FAILURES.items()]


RAISED: list[tuple[BaseException, str]] = [
    (ToolRetry("no such city"), "no such city"),
    (ToolTransient("busy"), "busy"),
    (ToolConflict("closed", state={"open": False}, options=["reopen it"]), '{"open": false}'),
    (ToolPartial(done={"a": 1}, failed={"b": "locked"}), "- b: failed, locked"),
    (ToolFailed("gone"), "gone"),
    (PermissionError("order 7 is bob's"), "not allowed"),
    (KeyError("x"), "KeyError"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("raised", "told"), RAISED, ids=lambda v: str(v)[:15])
def test_what_a_result_says_of_another_try_is_what_the_table_says(
    raised: BaseException, told: str, mode: Mode
) -> None:
    @tool(risk=Risk.READ_ONLY)
    def look() -> str:
        """Look."""
        raise raised

    limits = Limits(retry_seconds=0.0)
    session = a_session(
        Session, [look], [reply(mode, ("look", {})), "So."], mode=mode, limits=limits
    )
    (result,) = run(session, "Look.").steps[0].results
    assert result.kind is not None
    retry = FAILURES[result.kind].retry
    assert result.retryable is (retry in ("adapt", "once"))
    assert told in session.backend.requests[1].messages[-1].content
    assert "bob" not in result.content
    assert ("tried 4 times" in result.warnings) is (retry == "application")


NAMED = "token=abcdef123456"
LEAKS: list[BaseException] = [
    ToolConflict("closed", state=NAMED, options=[f"use {NAMED}"]),
    ToolPartial(NAMED, done={NAMED: NAMED}, failed={f"b {NAMED}": NAMED}),
]


@pytest.mark.parametrize("raised", LEAKS, ids=lambda v: type(v).__name__)
def test_no_part_of_a_failure_tells_a_credential(raised: BaseException) -> None:
    @tool(risk=Risk.READ_ONLY)
    def look() -> str:
        """Look."""
        raise raised

    session = a_session(Session, [look], [reply("prompt", ("look", {})), "So."])
    (result,) = run(session, "Look.").steps[0].results
    assert "token=***" in result.content
    assert "abcdef123456" not in result.content


WRONG: list[tuple[Any, str]] = [
    (("nope", {}), "unknown_tool"),
    (("look", {"item": 7, "more": 1}), "invalid_arguments"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("call", "kind"), WRONG, ids=lambda v: str(v)[:12])
def test_a_mistake_is_shown_once_and_its_repetition_is_not(
    call: Any, kind: str, mode: Mode
) -> None:
    @tool(risk=Risk.READ_ONLY)
    def look(item: str) -> str:
        """Look."""
        raise AssertionError("it was never called rightly")

    session = a_session(Session, [look], [reply(mode, call)] * 2, mode=mode)
    turn = run(session, "Look.")
    assert turn.stop_reason == "failed"
    assert [[p.kind for p in step.problems] for step in turn.steps] == [[kind], [kind]]


@pytest.mark.parametrize("mode", MODES)
def test_another_mistake_in_the_corrected_call_is_another_correction(mode: Mode) -> None:
    @tool(risk=Risk.READ_ONLY)
    def look(item: str, count: int) -> str:
        """Look."""
        return f"{count} of {item}"

    replies = [
        reply(mode, ("look", {"item": "tea"})),
        reply(mode, ("look", {"item": "tea", "count": "many"})),
        reply(mode, ("look", {"item": "tea", "count": 3})),
        "3 of tea.",
    ]
    turn = run(a_session(Session, [look], replies, mode=mode), "Tea?")
    assert turn.answer == "3 of tea."


@pytest.mark.parametrize("mode", MODES)
def test_a_refusal_is_final_and_the_turn_goes_on(mode: Mode) -> None:
    @tool(risk=Risk.READ_ONLY)
    def look() -> str:
        """Look."""
        raise AssertionError("it is not on the list")

    replies = [reply(mode, ("look", {})), "I may not look."]
    session = a_session(Session, [look], replies, mode=mode, policy=Policy(allow=frozenset()))
    turn = run(session, "Look.")
    assert turn.answer == "I may not look."
    assert turn.tools_used == ()
