"""Slips of a model and of the world: one way back for each, the same in both modes.

Each test plays one script in native and in prompt mode and expects the same steps.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from fallback import AsyncSession, Limits, Session, Turn
from fallback.errors import BackendStatusError, PauseTurn, ToolFailed, ToolRetry
from fallback.loop.ending import Budget, Ending
from fallback.messages import Usage
from fallback.testing import ScriptedBackend

BAD = "@@BAD@@"


def get_weather(city: str) -> str:
    """Current weather.

    Args:
        city: the city.
    """
    if city == "Nowhere":
        raise ToolFailed("there is no such place")
    if city == "Osl":
        raise ToolRetry("no city of that name; did you mean Oslo?")
    if city == "Secret":
        raise PauseTurn("ask the boss first")
    return f"fine in {city}"


def build() -> str:
    """Build it."""
    return "built"


class Play:
    """Plays replies in one mode and with one kind of session."""

    def __init__(self, mode: str, blocking: bool) -> None:
        self.mode, self.blocking = mode, blocking
        self.backend = ScriptedBackend([])
        self.messages: Any = ()

    def call(self, name: str, **arguments: Any) -> Any:
        if self.mode == "native":
            return {"tool_calls": [{"name": name, "arguments": arguments}]}
        call = json.dumps({"name": name, "arguments": arguments})
        return f"```tool_call\n{call}\n```"

    def __call__(self, *replies: Any, **settings: Any) -> Turn:
        self.backend = ScriptedBackend(replies, capabilities=("tools",))
        settings = {"mode": self.mode, "backend": self.backend, **settings}
        kind: Any = Session if self.blocking else AsyncSession
        session = kind("m", [get_weather, build], **settings)
        ran = session.run("Weather in Oslo?")
        turn: Turn = ran if isinstance(ran, Turn) else asyncio.run(ran)
        self.messages = session.messages
        assert self.backend.remaining == 0
        return turn

    def told(self, request: int) -> str:
        return self.backend.requests[request].messages[-1].content


@pytest.fixture(params=["prompt", "native"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[True, False], ids=["sync", "async"])
def play(mode: str, request: pytest.FixtureRequest) -> Play:
    return Play(mode, request.param)


# What tools raise


def test_a_tool_that_failed_for_good_says_so(play: Play) -> None:
    turn = play(play.call("get_weather", city="Nowhere"), "There is no such place.")
    result = turn.steps[0].results[0]
    assert (result.status, result.retryable) == ("error", False)
    assert "there is no such place" in play.told(1)
    assert "Calling again will not help" in play.told(1)
    assert turn.stop_reason == "answered"


def test_a_tool_that_can_be_mended_says_how(play: Play) -> None:
    turn = play(
        play.call("get_weather", city="Osl"), play.call("get_weather", city="Oslo"), "Fine."
    )
    assert [r.status for s in turn.steps for r in s.results] == ["retry", "ok"]
    assert "did you mean Oslo?" in play.told(1)


def test_a_tool_that_needs_a_person_pauses_the_turn(play: Play) -> None:
    turn = play(play.call("get_weather", city="Secret"))
    assert turn.stop_reason == "approval_required"
    assert turn.steps[0].results[0].status == "paused"
    assert turn.detail


# What models leave out


def test_an_empty_reply_is_remarked_on_once_and_then_flagged(play: Play) -> None:
    turn = play("", "Hello.")
    assert (turn.answer, turn.detail) == ("Hello.", "")
    turn = play("", "")
    said = "No answer: the model's reply stayed the same: empty reply."
    assert (turn.stop_reason, turn.answer) == ("failed", said)
    assert "empty reply" in turn.detail


def test_an_announced_call_is_asked_for_once_and_then_taken_as_text(play: Play) -> None:
    promise = "I will use the get_weather tool."
    turn = play(promise, play.call("get_weather", city="Oslo"), "Fine.")
    assert (turn.answer, turn.detail, turn.tools_used) == ("Fine.", "", ("get_weather",))
    turn = play(promise, promise)
    assert (turn.answer, turn.stop_reason) == (promise, "answered")
    assert "announced" in turn.detail


@pytest.mark.parametrize("field", [False, True], ids=["tags", "field"])
def test_a_call_left_in_the_reasoning_is_asked_for_once(play: Play, field: bool) -> None:
    call = '```tool_call\n{"name": "build", "arguments": {}}\n```'
    thought = {"thinking": call} if field else f"<think>{call}</think>"
    turn = play(thought, play.call("build"), "Built.")
    assert (turn.answer, turn.tools_used) == ("Built.", ("build",))
    assert "outside the reasoning" in play.told(1)
    turn = play(thought, thought)
    assert (turn.stop_reason, turn.tools_used) == ("failed", ())
    assert "reasoning" in turn.detail


def test_a_swallowed_call_is_asked_for_in_prompt_mode() -> None:
    swallowed = ScriptedBackend(
        [
            {"content": "", "usage": Usage(completion_tokens=40)},
            '```tool_call\n{"name": "build", "arguments": {}}\n```',
            "Built.",
        ],
        capabilities=("tools",),
    )
    turn = Session("m", [build], backend=swallowed).run("Build it")
    assert [step.mode for step in turn.steps] == ["native", "prompt", "prompt"]
    assert turn.tools_used == ("build",)


# What models get wrong


def test_an_unknown_tool_may_be_chosen_anew_once(play: Play) -> None:
    turn = play(play.call("get_wether"), play.call("get_weather", city="Oslo"), "Fine.")
    assert (turn.answer, turn.tools_used) == ("Fine.", ("get_weather",))
    assert "get_weather" in play.told(1)


def test_an_unknown_tool_again_is_a_failure_where_nothing_has_run(play: Play) -> None:
    turn = play(play.call("search"), play.call("search"))
    assert (turn.stop_reason, turn.tools_used) == ("failed", ())
    assert "search" in turn.detail


def test_an_unknown_tool_again_behind_a_result_leads_to_the_answer(play: Play) -> None:
    turn = play(
        play.call("get_weather", city="Oslo"),
        play.call("present_weather", text="fine"),
        play.call("present_weather", text="fine"),
        "It is fine in Oslo.",
    )
    assert (turn.answer, turn.stop_reason) == ("It is fine in Oslo.", "answered")
    assert "tools were withdrawn" in turn.detail
    assert "No tool can be called any more" in play.told(3)
    assert play.backend.requests[3].catalogue is None


def test_malformed_text_is_shown_once_and_kept_nowhere(play: Play) -> None:
    malformed = f'```tool_call\n{{"name": "get_weather", "arguments": {{"city": {BAD}}}\n```'
    turn = play(malformed, play.call("get_weather", city="Oslo"), "Fine.")
    assert [BAD in str(request.messages) for request in play.backend.requests] == [
        False,
        True,
        False,
    ]
    assert BAD not in str(play.messages)
    assert BAD in turn.steps[0].raw


def test_a_repaired_call_is_kept_in_its_right_form() -> None:
    play = Play("prompt", blocking=True)
    turn = play("```tool_call\n{'name': 'get_weather', 'arguments': {'city': 'Oslo',}}\n```", "F.")
    assert turn.steps[0].calls[0].repairs
    told = str(play.backend.requests[1].messages)
    assert '{"name": "get_weather", "arguments": {"city": "Oslo"}}' in told
    assert "'city'" not in told


# Budgets


def test_replies_with_nothing_but_errors_have_a_budget_of_their_own(play: Play) -> None:
    failing = [play.call("get_weather", city="Nowhere"), play.call("get_weather", city="Osl")]
    turn = play(
        *failing, *failing, "It cannot be said.", limits=Limits(max_tool_errors=4, max_steps=9)
    )
    assert (turn.answer, turn.stop_reason) == ("It cannot be said.", "answered")
    assert "max_tool_errors" in turn.detail


def test_a_success_beside_an_error_is_no_failure(play: Play) -> None:
    bad, good = play.call("get_weather", city="Nowhere"), play.call("build")
    both = (
        {"tool_calls": [*bad["tool_calls"], *good["tool_calls"]]}
        if play.mode == "native"
        else f"{bad}\n\n{good}"
    )
    turn = play(both, "So so.", limits=Limits(max_tool_errors=1))
    assert (turn.stop_reason, turn.detail) == ("answered", "")
    assert [r.status for r in turn.steps[0].results] == ["error", "ok"]


def test_corrections_do_not_use_up_the_errors_of_tools(play: Play) -> None:
    turn = play(
        play.call("get_weather", town="Oslo"),
        play.call("get_weather", city="Nowhere"),
        play.call("get_weather", city=["Oslo"]),
        play.call("get_weather", city="Oslo"),
        "Fine.",
        limits=Limits(max_tool_errors=2, max_corrections=2),
    )
    assert (turn.answer, turn.detail) == ("Fine.", "")


BUSY = BackendStatusError("busy", status=503)
SOON = Limits(retry_seconds=0.001, max_transient_retries=2)


def test_a_busy_server_is_asked_again_after_a_pause(play: Play) -> None:
    turn = play(BUSY, BUSY, "Hello.", limits=SOON)
    assert (turn.answer, len(turn.steps)) == ("Hello.", 1)
    assert any("busy" in note for note in turn.steps[0].notes)


def test_a_server_that_stays_busy_ends_the_turn(play: Play) -> None:
    with pytest.raises(BackendStatusError, match="busy"):
        play(BUSY, BUSY, BUSY, limits=SOON)


def test_the_pauses_grow_and_end_with_the_time_of_the_turn() -> None:
    budget = Budget(Limits(retry_seconds=1.0, max_transient_retries=3))
    assert [budget.next_pause(BUSY) for _ in range(3)] == [1.0, 2.0, 4.0]
    with pytest.raises(Ending):
        budget.next_pause(BUSY)
    with pytest.raises(Ending):
        Budget(Limits(retry_seconds=1.0, turn_seconds=1.0)).next_pause(BUSY)


@pytest.mark.parametrize(
    ("limits", "reason", "named"),
    [
        (Limits(max_steps=1), "max_steps", "max_steps"),
        (Limits(max_calls_per_turn=0), "max_calls", "max_calls_per_turn"),
    ],
)
def test_a_hard_cap_says_which_it_was(play: Play, limits: Limits, reason: str, named: str) -> None:
    replies = [play.call("build")] + (["Nothing was built."] if reason == "max_calls" else [])
    turn = play(*replies, limits=limits)
    assert turn.stop_reason == reason
    assert named in turn.detail
