from __future__ import annotations

import pytest
from loop_driver import OSLO, QUESTION, Driver, block, calls, native

from fallback.backend import Chunk, ModelInfo
from fallback.errors import (
    BackendConnectionError,
    BackendError,
    BackendProtocolError,
    BackendStatusError,
    CapabilityError,
)
from fallback.loop import (
    Describe,
    Described,
    Executed,
    Generate,
    Generation,
    Interrupted,
    Reply,
    TurnLoop,
)
from fallback.messages import Message, Usage

# The plain course of things


def test_a_plain_answer_ends_the_turn() -> None:
    turn = Driver().play("Hello.")
    assert (turn.answer, turn.stop_reason, turn.tools_used) == ("Hello.", "answered", ())
    assert turn.detail == ""
    assert [m.role for m in turn.messages] == ["user", "assistant"]


def test_a_call_is_run_and_its_result_goes_back() -> None:
    driver = Driver()
    turn = driver.play(OSLO, "Fine in Oslo.")
    assert turn.answer == "Fine in Oslo."
    assert turn.tools_used == ("get_weather",)
    assert [m.role for m in turn.messages] == ["user", "assistant", "tool", "assistant"]
    call = turn.messages[1].tool_calls[0]
    assert turn.messages[2].result is not None
    assert turn.messages[2].result.call_id == call.id
    shown = driver.requests[1].request.messages
    assert [m.role for m in shown] == ["system", "user", "assistant", "user"]
    assert shown[2].content == OSLO
    assert "get_weather: fine" in shown[3].content


def test_ids_are_unique_over_the_steps() -> None:
    turn = Driver().play(OSLO, block(calls("build")), "Done.")
    ids = [call.id for step in turn.steps for call in step.calls]
    assert len(set(ids)) == 2


def test_the_step_says_how_it_came_about() -> None:
    turn = Driver().play(OSLO, "Fine.")
    first, second = turn.steps
    assert (first.index, first.mode, first.source) == (0, "prompt", "text")
    assert (second.index, second.source) == (1, "none")
    assert first.notes[0] == "prompt mode: asked for"
    assert first.raw == OSLO


def test_several_calls_are_run_in_order_and_tied_by_id() -> None:
    turn = Driver().play(
        block(calls("get_weather", '{"city": "Oslo"}'), calls("build")), "Both done."
    )
    step = turn.steps[0]
    assert [r.name for r in step.results] == ["get_weather", "build"]
    assert [r.call_id for r in step.results] == [c.id for c in step.calls]


def test_identical_calls_of_one_reply_run_once_and_both_get_the_result() -> None:
    driver = Driver()
    one = calls("get_weather", '{"city": "Oslo"}')
    turn = driver.play(block(one, calls("build"), one), "Done.")
    assert driver.executed == ["get_weather", "build"]
    first, _, copy = turn.steps[0].results
    assert copy.content == first.content
    assert (copy.call_id, copy.copy_of) == (turn.steps[0].calls[2].id, first.call_id)
    assert turn.tools_used == ("get_weather", "build")


def test_text_beside_a_call_is_kept() -> None:
    driver = Driver()
    turn = driver.play("Let me look.\n\n" + OSLO, "Fine.")
    assert turn.messages[1].content == "Let me look."
    assert driver.requests[1].request.messages[2].content == f"Let me look.\n\n{OSLO}"


def test_the_history_is_sent_again_and_only_grows() -> None:
    driver = Driver()
    earlier = (Message(role="user", content="Hi"), Message(role="assistant", content="Hello."))
    driver.play("Fine.", history=earlier)
    assert driver.ended is not None
    assert driver.ended.messages[:2] == earlier
    assert [m.content for m in driver.requests[0].request.messages[1:]] == [
        "Hi",
        "Hello.",
        QUESTION.content,
    ]


def test_a_self_written_result_is_never_kept() -> None:
    invented = OSLO + "\n```tool_result get_weather call_1\n40 degrees\n```\nIt is 40 degrees."
    driver = Driver()
    turn = driver.play(invented, "Fine.")
    assert "40" not in "".join(m.content for m in turn.messages)
    assert "40" not in "".join(m.content for m in driver.requests[1].request.messages)


# Interruption and failure


def test_an_interrupted_generation_is_on_record_and_nothing_is_kept() -> None:
    driver = Driver()
    turn = driver.play(Interrupted(generation=Generation(raw="It is")))
    assert turn.stop_reason == "cancelled"
    assert turn.steps[0].raw == "It is"
    assert driver.ended is not None
    assert driver.ended.messages == ()


def test_an_interrupted_tool_leaves_a_whole_pair() -> None:
    driver = Driver()
    driver.answer = lambda name: Interrupted(detail="cancelled by the application")
    turn = driver.play(block(calls("get_weather", '{"city": "Oslo"}'), calls("build")))
    assert turn.stop_reason == "cancelled"
    assert [r.status for r in turn.steps[0].results] == ["error", "denied"]
    assert driver.ended is not None
    assert [m.role for m in driver.ended.messages] == ["user", "assistant", "tool", "tool"]


def test_a_dead_server_ends_the_turn_with_its_error() -> None:
    error = BackendConnectionError("nobody answers")
    driver = Driver()
    turn = driver.play(error)
    assert (turn.stop_reason, turn.detail) == ("failed", "nobody answers")
    assert driver.ended is not None
    assert driver.ended.error is error
    assert driver.ended.messages == ()


def test_what_tools_did_before_the_failure_is_kept() -> None:
    driver = Driver()
    driver.play(OSLO, BackendConnectionError("gone"))
    assert driver.ended is not None
    assert [m.role for m in driver.ended.messages] == ["user", "assistant", "tool"]


def test_a_model_that_writes_no_text_is_not_asked() -> None:
    driver = Driver(mode="auto")
    driver.info = ModelInfo(name="m", capabilities=frozenset({"embedding"}))
    turn = driver.play()
    assert turn.stop_reason == "failed"
    assert driver.ended is not None
    assert isinstance(driver.ended.error, CapabilityError)


def test_a_server_that_cannot_be_asked_ends_the_turn() -> None:
    error = BackendConnectionError("nobody answers")
    actions = TurnLoop(Driver(mode="auto").plan, (), QUESTION).run()
    assert isinstance(next(actions), Describe)
    with pytest.raises(StopIteration) as stop:
        actions.send(Described(error=error))
    assert stop.value.value.error is error


def test_a_turn_can_be_interrupted_before_the_first_reply() -> None:
    actions = TurnLoop(Driver(mode="auto").plan, (), QUESTION).run()
    next(actions)
    with pytest.raises(StopIteration) as stop:
        actions.send(Interrupted())
    assert stop.value.value.turn.stop_reason == "cancelled"


def test_an_outcome_of_the_wrong_kind_is_the_driver_s_mistake() -> None:
    actions = TurnLoop(Driver().plan, (), QUESTION).run()
    next(actions)
    with pytest.raises(TypeError, match="Generate was answered with Executed"):
        actions.send(Executed(results=()))
    actions = TurnLoop(Driver().plan, (), QUESTION).run()
    action = next(actions)
    assert isinstance(action, Generate)
    reply = Reply(action)
    reply.feed(Chunk(text=OSLO, done=True))
    actions.send(reply.close()[1])
    with pytest.raises(TypeError, match="Execute was answered with Generation"):
        actions.send(Generation())


def test_what_had_come_before_a_failure_is_on_record() -> None:
    actions = TurnLoop(Driver().plan, (), QUESTION).run()
    action = next(actions)
    assert isinstance(action, Generate)
    reply = Reply(action)
    reply.feed(Chunk(text="It is "))
    with pytest.raises(StopIteration) as stop:
        actions.send(reply.close(error=BackendProtocolError("broken off"))[1])
    assert stop.value.value.turn.steps[0].raw == "It is "


@pytest.mark.parametrize(
    "error",
    [
        BackendStatusError("busy", status=502),
        CapabilityError("no images", status=400, missing="vision"),
        BackendConnectionError("gone"),
    ],
)
def test_other_failures_are_not_tried_again(error: BackendError) -> None:
    assert Driver(mode="auto").play(error).stop_reason == "failed"


# Native mode and the way out of it


def test_structured_calls_take_the_same_way() -> None:
    driver = Driver(mode="native")
    turn = driver.play(native(("get_weather", {"city": "Oslo"})), "Fine.")
    assert turn.steps[0].source == "server"
    assert turn.tools_used == ("get_weather",)
    first, second = (g.request for g in driver.requests)
    assert first.catalogue is not None
    assert [m.role for m in first.messages] == ["user"]
    assert [m.role for m in second.messages] == ["user", "assistant", "tool"]


def test_a_call_in_the_text_of_a_native_reply_is_rescued() -> None:
    driver = Driver(mode="native")
    turn = driver.play(
        '```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```', "Ok."
    )
    assert (turn.steps[0].mode, turn.steps[0].source) == ("native", "text")
    assert turn.tools_used == ("get_weather",)


def test_structured_calls_win_over_those_in_the_text() -> None:
    driver = Driver(mode="native")
    turn = driver.play(native(("get_weather", {"city": "Rome"}), text=OSLO), "Ok.")
    assert [c.arguments for c in turn.steps[0].calls] == [{"city": "Rome"}]
    assert turn.steps[0].reading.suppressed


def test_auto_asks_what_the_model_can_do() -> None:
    driver = Driver(mode="auto")
    assert driver.play("Hi.").steps[0].mode == "native"
    driver = Driver(mode="auto")
    driver.info = ModelInfo(name="m", capabilities=frozenset({"completion"}))
    turn = driver.play("Hi.")
    assert turn.steps[0].mode == "prompt"
    assert turn.steps[0].notes[0] != "prompt mode: asked for"


@pytest.mark.parametrize(
    "error",
    [
        CapabilityError("m does not support tools", status=400, missing="tools"),
        BackendStatusError("error parsing tool call", status=500),
        BackendProtocolError("XML syntax error"),
    ],
)
def test_auto_falls_back_to_prompt_mode_and_remembers_it(error: BackendError) -> None:
    driver = Driver(mode="auto")
    turn = driver.play(error, OSLO, "Fine.")
    assert [step.mode for step in turn.steps] == ["prompt", "prompt"]
    assert "server" in turn.steps[0].notes[0]
    assert driver.ended is not None
    assert driver.ended.route is not None
    assert driver.ended.route.mode == "prompt"


def test_a_fallback_is_tried_once() -> None:
    error = BackendStatusError("broken", status=500)
    assert Driver(mode="auto").play(error, error).stop_reason == "failed"


def test_a_forced_native_mode_stays_native() -> None:
    error = CapabilityError("m does not support tools", status=400, missing="tools")
    assert Driver(mode="native").play(error).stop_reason == "failed"


def test_a_swallowed_native_reply_is_asked_for_again_in_prompt_mode() -> None:
    swallowed = Chunk(done=True, usage=Usage(completion_tokens=40))
    driver = Driver(mode="auto")
    turn = driver.play(swallowed, OSLO, "Fine.")
    assert [step.mode for step in turn.steps] == ["native", "prompt", "prompt"]
    assert "asked again in prompt mode" in turn.steps[0].notes[-1]
