"""What a model may do wrong, and how the turn goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fallback import Session, tool
from fallback.limits import Limits
from fallback.messages import Turn
from fallback.testing import ScriptedBackend


def get_weather(city: str, days: int = 1) -> str:
    """Current weather.

    Args:
        city: the city.
        days: how many days.
    """
    return f"fine in {city} for {days}"


def build() -> str:
    """Build it."""
    return "built"


def block(text: str) -> str:
    return f"```tool_call\n{text}\n```"


OSLO = block('{"name": "get_weather", "arguments": {"city": "Oslo"}}')
WRONG = block('{"name": "get_weather", "arguments": {"city": "Oslo", "days": "many"}}')
MISSING = block('{"name": "get_weather", "arguments": {"days": 2}}')
UNKNOWN = block('{"name": "get_wether_now", "arguments": {"city": "Oslo"}}')
CUT = '```tool_call\n{"name": "get_weather", "arguments": {"city": "Os'


class Talk:
    """One turn with a scripted model."""

    def __init__(self, *replies: Any, **settings: Any) -> None:
        self.backend = ScriptedBackend(replies, capabilities=settings.pop("claims", ()))
        self.session = Session("m", [get_weather, build], backend=self.backend, **settings)
        self.turn: Turn = self.session.run("Weather in Oslo?")
        assert self.backend.remaining == 0

    def told(self, request: int) -> str:
        return self.backend.requests[request].messages[-1].content

    def sent(self, request: int) -> str:
        return "\n".join(m.content for m in self.backend.requests[request].messages)

    def notes(self, step: int) -> str:
        return " ".join(self.turn.steps[step].notes)


def test_a_wrong_argument_is_corrected_with_the_place_and_the_form() -> None:
    talk = Talk(WRONG, OSLO, "Fine.")
    told = talk.told(1)
    assert "$.days" in told
    assert "many" in told
    assert '```tool_call\n{"name": "get_weather"' in told
    assert talk.turn.answer == "Fine."
    assert "corrected: invalid_arguments" in talk.notes(0)
    assert talk.turn.steps[0].results == ()


def test_a_malformed_reply_is_shown_once_and_never_becomes_history() -> None:
    talk = Talk(WRONG, OSLO, "Fine.")
    assert '"many"' in talk.sent(1)
    assert '"many"' not in talk.sent(2)
    assert "many" not in "".join(str(m.tool_calls) + m.content for m in talk.session.messages)
    roles = [m.role for m in talk.backend.requests[1].messages]
    assert roles == ["system", "user"]


def test_an_unknown_tool_is_answered_with_the_nearest_and_the_list() -> None:
    talk = Talk(UNKNOWN, OSLO, "Fine.")
    assert "get_wether_now" in talk.told(1)
    assert "get_weather" in talk.told(1)
    assert "build" in talk.told(1)
    assert talk.turn.steps[0].problems[0].kind == "unknown_tool"


def test_a_truncated_call_has_its_own_text_and_does_not_run() -> None:
    talk = Talk({"content": CUT, "finish_reason": "length"}, OSLO, "Fine.")
    assert talk.turn.steps[0].problems[0].kind == "truncated"
    assert talk.turn.steps[0].results == ()
    assert "cut off" in talk.told(1)


def test_a_call_left_in_the_reasoning_gets_one_corrective_turn() -> None:
    talk = Talk(f"<think>I need {OSLO}</think>", OSLO, "Fine.")
    assert talk.turn.steps[0].problems[0].kind == "in_reasoning"
    assert talk.turn.tools_used == ("get_weather",)
    talk = Talk(*[f"<think>\n{OSLO}\n</think>"] * 2)
    assert talk.turn.stop_reason == "failed"


def test_a_call_in_the_thinking_field_gets_one_corrective_turn() -> None:
    talk = Talk({"thinking": f"I call\n{OSLO}\n"}, OSLO, "Fine.")
    assert talk.turn.steps[0].problems[0].kind == "in_reasoning"
    assert talk.turn.steps[0].reading.reasoning.startswith("I call")
    assert talk.turn.tools_used == ("get_weather",)


def test_thinking_until_the_limit_is_an_error_of_its_own() -> None:
    talk = Talk({"thinking": "hm " * 50, "finish_reason": "length"})
    assert talk.turn.stop_reason == "failed"
    assert "while thinking" in talk.turn.detail


def test_corrections_are_bounded_and_the_turn_says_why_it_failed() -> None:
    talk = Talk(WRONG, MISSING, WRONG)
    assert talk.turn.stop_reason == "failed"
    assert "$.days" in talk.turn.detail
    assert len(talk.turn.steps) == 3
    assert talk.session.messages == ()


def test_the_bound_can_be_set() -> None:
    talk = Talk(WRONG, limits=Limits(max_corrections=0))
    assert talk.turn.stop_reason == "failed"


def test_the_good_call_of_a_reply_runs_and_the_bad_one_is_corrected() -> None:
    both = block('{"name": "build", "arguments": {}}\n{"name": "get_weather", "arguments": {}}')
    talk = Talk(both, OSLO, "Fine.")
    assert talk.turn.tools_used == ("build", "get_weather")
    assert "```tool_result build" in talk.told(1)
    assert "city" in talk.told(1)


def test_an_empty_reply_is_nudged_once() -> None:
    talk = Talk("", "Fine.")
    assert "empty" in talk.told(1)
    assert talk.turn.answer == "Fine."
    assert "nudged: empty reply" in talk.notes(0)
    talk = Talk("", "  ")
    said = "No answer: the model's reply stayed the same: empty reply."
    assert (talk.turn.stop_reason, talk.turn.answer) == ("failed", said)
    assert talk.turn.detail


def test_an_announced_call_is_nudged_once_and_then_taken_as_text() -> None:
    promise = "I will use the get_weather tool to find out."
    talk = Talk(promise, OSLO, "Fine.")
    assert f"> {promise}" in talk.told(1)
    assert talk.turn.tools_used == ("get_weather",)
    talk = Talk(promise, promise)
    assert (talk.turn.stop_reason, talk.turn.answer) == ("answered", promise)
    assert "announced" in talk.turn.detail


def test_a_cut_answer_is_given_and_said_to_be_cut() -> None:
    talk = Talk({"content": "It is fi", "finish_reason": "length"})
    assert (talk.turn.stop_reason, talk.turn.answer) == ("answered", "It is fi")
    assert "cut off" in talk.turn.detail


# tool_choice


def test_with_none_nothing_is_offered_and_nothing_is_read() -> None:
    talk = Talk(OSLO, tool_choice="none")
    assert talk.turn.answer == OSLO
    assert talk.turn.tools_used == ()
    assert [m.role for m in talk.backend.requests[0].messages] == ["user"]


def test_a_required_call_that_is_missing_gets_one_correction_and_then_fails() -> None:
    talk = Talk("Hello.", OSLO, "Fine.", tool_choice="required")
    assert talk.turn.tools_used == ("get_weather",)
    assert "required" in talk.told(1)
    talk = Talk("Hello.", "Hello.", tool_choice="required")
    assert (talk.turn.stop_reason, talk.turn.tools_used) == ("failed", ())
    assert talk.turn.steps[1].problems[0].kind == "required_call_missing"


def test_a_named_tool_is_the_only_one_offered_and_the_only_one_run() -> None:
    talk = Talk(OSLO, block('{"name": "build"}'), "Built.", tool_choice="build")
    assert talk.turn.tools_used == ("build",)
    assert "get_weather" not in talk.backend.requests[0].messages[0].content
    assert talk.turn.steps[0].calls == ()


def test_the_prompt_in_front_stays_the_same_while_a_call_is_required() -> None:
    talk = Talk(OSLO, "Fine.", tool_choice="required")
    first, second = (request.messages for request in talk.backend.requests)
    assert second[: len(first)] == first


# Native mode


def test_native_calls_are_checked_like_any_other() -> None:
    wrong = {"tool_calls": [{"name": "get_weather", "arguments": {"days": 1}}]}
    right = {"tool_calls": [{"name": "get_weather", "arguments": '{"city": "Oslo"}'}]}
    talk = Talk(wrong, right, "Fine.", claims=["tools"])
    assert [step.mode for step in talk.turn.steps] == ["native"] * 3
    assert talk.turn.tools_used == ("get_weather",)
    assert "city" in talk.told(1)
    assert '"days": 1' in talk.told(1)
    assert "```" not in talk.told(1)


def test_instructions_lead_a_native_conversation() -> None:
    talk = Talk("Fine.", mode="native", instructions="Be brief.")
    messages = talk.backend.requests[0].messages
    assert (messages[0].role, messages[0].content) == ("system", "Be brief.")


def test_a_native_conversation_can_go_on_in_prompt_mode() -> None:
    call = {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}
    talk = Talk(call, "", "Fine.", claims=["tools"])
    assert [step.mode for step in talk.turn.steps] == ["native", "native", "native"]
    assert "empty" in talk.told(2)


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_both_modes_end_in_the_same_conversation(mode: str) -> None:
    call: Any = {"tool_calls": [{"id": "call_1_0", "name": "build", "arguments": {}}]}
    if mode == "prompt":
        call = block('{"name": "build", "arguments": {}}')
    talk = Talk(call, "Built.", mode=mode)
    assert [(m.role, m.content, len(m.tool_calls)) for m in talk.session.messages] == [
        ("user", "Weather in Oslo?", 0),
        ("assistant", "", 1),
        ("tool", "built", 0),
        ("assistant", "Built.", 0),
    ]


# After a result


def test_a_model_that_stays_silent_after_a_result_is_asked_without_tools() -> None:
    talk = Talk(OSLO, "", "", "Fine in Oslo.")
    assert (talk.turn.answer, talk.turn.stop_reason) == ("Fine in Oslo.", "answered")
    assert "stayed empty" in talk.turn.detail
    assert [m.role for m in talk.backend.requests[3].messages] == ["user", "assistant", "user"]
    assert "fine in Oslo" in talk.sent(3)


def test_a_model_that_goes_on_is_nudged_anew() -> None:
    talk = Talk("", OSLO, "", block('{"name": "build", "arguments": {}}'), "", "Done.")
    assert (talk.turn.answer, talk.turn.detail) == ("Done.", "")


def test_a_repeated_call_is_no_going_on() -> None:
    talk = Talk(OSLO, "", OSLO, "", "Fine.")
    assert (talk.turn.answer, talk.turn.stop_reason) == ("Fine.", "answered")
    assert "stayed empty" in talk.turn.detail


@pytest.mark.parametrize("mode", ["prompt", "native"])
@pytest.mark.parametrize(
    ("name", "runs"), [("your_dataset_name", True), ("<dataset>", True), ("your_data", False)]
)
def test_what_the_user_has_said_is_no_placeholder(mode: Any, name: str, runs: bool) -> None:
    loaded: list[str] = []

    @tool
    def load(dataset: str) -> str:
        """Load a data set."""
        loaded.append(dataset)
        return "loaded"

    value = name if runs else "your_dataset_name"
    made = {"name": "load", "arguments": {"dataset": value}}
    reply = block(json.dumps(made)) if mode == "prompt" else {"content": "", "tool_calls": [made]}
    backend = ScriptedBackend(["Which one?", reply, "Fine."], capabilities=["tools"])
    with Session("any", tools=[load], backend=backend, mode=mode) as session:
        session.run(f"Load the data set {name.upper()}.")
        turn = session.run("Yes, that one.")
    assert loaded == ([value] if runs else [])
    assert bool(turn.steps[0].problems) is not runs


@pytest.mark.parametrize(("finish", "runs"), [("length", False), ("stop", True)])
def test_a_native_call_that_a_limit_has_cut_off_does_not_run(finish: str, runs: bool) -> None:
    cut = {"name": "get_weather", "arguments": '{"city": "Oslo"'}
    talk = Talk({"tool_calls": [cut], "finish_reason": finish}, "Fine.", mode="native")
    assert talk.turn.tools_used == (("get_weather",) if runs else ())
    assert [p.kind for p in talk.turn.steps[0].problems] == ([] if runs else ["truncated"])
