from __future__ import annotations

from loop_driver import OSLO, Driver, block, calls

from fallback.backend import Chunk
from fallback.limits import Limits
from fallback.loop import Execute, Generate, Reply, TurnLoop
from fallback.messages import Message, ToolResult

# Limits


def test_the_turn_ends_after_so_many_steps_and_keeps_what_was_done() -> None:
    driver = Driver(limits=Limits(max_steps=2))
    turn = driver.play(OSLO, block(calls("build")))
    assert turn.stop_reason == "max_steps"
    assert turn.tools_used == ("get_weather", "build")
    assert "2 steps" in turn.detail
    assert driver.ended is not None
    assert driver.ended.messages[-1].role == "tool"


def test_calls_beyond_the_budget_are_answered_but_not_run() -> None:
    driver = Driver(limits=Limits(max_calls_per_turn=1))
    turn = driver.play(
        block(calls("get_weather", '{"city": "Oslo"}'), calls("build")), "Fine in Oslo."
    )
    assert driver.executed == ["get_weather"]
    assert [r.status for r in turn.steps[0].results] == ["ok", "denied"]
    assert turn.stop_reason == "max_calls"
    assert turn.answer == "Fine in Oslo."


def test_no_reply_is_asked_for_after_the_deadline() -> None:
    turn = Driver(elapsed=61.0, limits=Limits(turn_seconds=60.0)).play(OSLO)
    assert turn.stop_reason == "deadline"
    assert [r.status for r in turn.steps[0].results] == ["denied"]
    assert "61 s" in turn.detail


def test_the_time_that_is_left_is_passed_on() -> None:
    driver = Driver(elapsed=50.0, limits=Limits(turn_seconds=60.0, tool_seconds=30.0))
    driver.play(OSLO, "Fine.")
    assert [g.seconds for g in driver.requests] == [60.0, 10.0]
    assert driver.jobs[0].seconds == 10.0


def test_a_turn_without_deadlines_passes_none_on() -> None:
    driver = Driver(limits=Limits(turn_seconds=None, tool_seconds=None))
    driver.play("Fine.")
    assert driver.requests[0].seconds is None


# Repetition


def test_the_third_identical_call_is_remarked_on_and_the_fifth_ends_it() -> None:
    driver = Driver()
    turn = driver.play(OSLO, OSLO, OSLO, OSLO, OSLO, "It is fine in Oslo.")
    assert [("3 times" in driver.last(n), "4 times" in driver.last(n)) for n in range(1, 6)] == [
        (False, False),
        (False, False),
        (True, False),
        (False, True),
        (False, False),
    ]
    assert turn.stop_reason == "repeated_call"
    assert turn.answer == "It is fine in Oslo."
    final = driver.requests[5].request
    assert not any("```tool_call\n{" in m.content for m in final.messages if m.role == "system")
    assert "No tool can be called any more" in final.messages[-1].content


def test_calls_after_the_withdrawal_are_not_run() -> None:
    driver = Driver()
    turn = driver.play(*[OSLO] * 6)
    assert driver.executed == ["get_weather"] * 5
    assert turn.stop_reason == "repeated_call"
    # A limit never ends a turn in silence.
    said = "No answer: tools were withdrawn: the same call was made again and again."
    assert turn.answer == said
    assert turn.detail


def test_another_call_in_between_makes_it_work_and_no_loop() -> None:
    build = block(calls("build"))
    driver = Driver(limits=Limits(max_steps=20))
    turn = driver.play(*[OSLO, build] * 5, "Done.")
    assert turn.stop_reason == "answered"


def test_another_result_makes_it_work_and_no_loop() -> None:
    driver = Driver(limits=Limits(max_steps=20))
    driver.answer = lambda name: ToolResult(
        call_id="?", name=name, content=str(len(driver.executed))
    )
    assert driver.play(*[OSLO] * 10, "Done.").stop_reason == "answered"


def test_the_example_of_the_instructions_is_not_run_when_it_comes_back() -> None:
    echo = block(calls("get_weather", '{"city": "some city"}'))
    driver = Driver()
    turn = driver.play(echo, OSLO, "Fine.")
    assert "some city" in driver.requests[0].request.messages[0].content
    assert driver.executed == ["get_weather"]
    assert turn.steps[0].results[0].status == "denied"
    assert "example" in driver.last(1)
    assert turn.tools_used == ("get_weather",)
    assert "some city" not in str(turn.messages)


def test_the_example_beside_a_real_call_is_denied_alone() -> None:
    echo = calls("get_weather", '{"city": "some city"}')
    driver = Driver()
    turn = driver.play(block(echo, calls("build")), "Built.")
    assert driver.executed == ["build"]
    assert [r.status for r in turn.steps[0].results] == ["denied", "ok"]


def test_an_example_that_keeps_coming_back_leads_to_an_answer_without_tools() -> None:
    echo = block(calls("get_weather", '{"city": "some city"}'))
    driver = Driver()
    turn = driver.play(echo, echo, "Red, green, blue.")
    assert (turn.answer, turn.stop_reason, turn.tools_used) == ("Red, green, blue.", "answered", ())
    assert "example" in turn.detail
    assert [m.role for m in driver.requests[2].request.messages] == ["user"]
    assert Driver().play(echo, echo, echo).stop_reason == "failed"


def test_what_looks_like_the_example_is_run_if_the_user_said_it() -> None:
    actions = TurnLoop(
        Driver().plan, (), Message(role="user", content="Weather in Some City?")
    ).run()
    action = next(actions)
    assert isinstance(action, Generate)
    reply = Reply(action)
    reply.feed(Chunk(text=block(calls("get_weather", '{"city": "some city"}')), done=True))
    assert isinstance(actions.send(reply.close()[1]), Execute)


# Tools that the application runs


def test_a_tool_without_a_handler_pauses_the_turn() -> None:
    driver = Driver()
    turn = driver.play(block(calls("get_weather", '{"city": "Oslo"}'), calls("ask_user")))
    assert turn.stop_reason == "approval_required"
    assert "ask_user" in turn.detail
    assert [r.status for r in turn.steps[-1].results] == ["ok", "paused"]
    assert turn.tools_used == ("get_weather",)
    assert driver.ended is not None
    assert len(driver.ended.messages) == 4
