from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from fallback.backend import Chunk, ModelInfo
from fallback.catalogue import Catalogue
from fallback.errors import (
    BackendConnectionError,
    BackendError,
    BackendProtocolError,
    BackendStatusError,
    CapabilityError,
)
from fallback.limits import Limits
from fallback.loop import (
    Action,
    Describe,
    Described,
    Ended,
    Execute,
    Executed,
    Generate,
    Generation,
    Interrupted,
    Job,
    Outcome,
    Plan,
    Reply,
    TurnFlow,
)
from fallback.messages import FinishReason, Message, ToolResult, Turn, Usage
from fallback.tools import Tool

Flow = Generator[Action, Outcome, Ended]
QUESTION = Message(role="user", content="Weather in Oslo?")


def a_tool(name: str, **properties: Any) -> Tool:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    described = {"name": name, "description": f"Does {name}.", "parameters": schema}
    return Tool.from_dict(described, handler=lambda **arguments: arguments)


TOOLS = Catalogue(
    [
        a_tool("get_weather", city={"type": "string"}),
        a_tool("build"),
        Tool.from_dict({"name": "ask_user", "description": "Asks.", "parameters": {}}),
    ]
)


def block(*lines: str) -> str:
    return "\n".join(("```tool_call", *lines, "```"))


def calls(name: str, arguments: str = "{}") -> str:
    return f'{{"name": "{name}", "arguments": {arguments}}}'


OSLO = block(calls("get_weather", '{"city": "Oslo"}'))
BROKEN = block('{"name": "get_weather", "arguments": {"city": 5 5}}')


class Driver:
    """Plays a turn from a script of replies; tools answer ``<name>: <what>``."""

    def __init__(self, *, elapsed: float = 0.0, **plan: Any) -> None:
        self.plan = Plan(**{"model": "m", "catalogue": TOOLS, "mode": "prompt", **plan})
        self.elapsed = elapsed
        self.requests: list[Generate] = []
        self.executed: list[str] = []
        self.jobs: list[Job] = []
        self.ended: Ended | None = None
        self.answer: Callable[[str], ToolResult | Outcome] = self.tool_answers
        self.info = ModelInfo(name="m", capabilities=frozenset({"completion", "tools"}))

    def tool_answers(self, name: str) -> ToolResult:
        return ToolResult(call_id="?", name=name, content=f"{name}: fine")

    def play(self, *replies: Any, history: tuple[Message, ...] = ()) -> Turn:
        flow = TurnFlow(self.plan, history, QUESTION).run()
        script = iter(replies)
        try:
            action = next(flow)
            while True:
                action = flow.send(self.outcome(action, script))
        except StopIteration as stop:
            self.ended = stop.value
        assert self.ended is not None
        assert next(script, None) is None, "not every reply was asked for"
        return self.ended.turn

    def outcome(self, action: Action, script: Any) -> Outcome:
        if isinstance(action, Describe):
            return Described(info=self.info)
        if isinstance(action, Generate):
            self.requests.append(action)
            return self.reply(action, next(script))
        self.jobs += action.jobs
        result = self.answer(action.jobs[0].call.name)
        self.executed.append(action.jobs[0].call.name)
        if not isinstance(result, ToolResult):
            return result
        job = action.jobs[0].call
        done = ToolResult(
            call_id=job.id, name=job.name, status=result.status, content=result.content
        )
        return Executed(results=(done,), elapsed=self.elapsed)

    def reply(self, action: Generate, scripted: Any) -> Outcome:
        if isinstance(scripted, Interrupted):
            return scripted
        reply = Reply(action)
        error = scripted if isinstance(scripted, BackendError) else None
        finish: FinishReason | None = None
        if error is None:
            chunk = scripted if isinstance(scripted, Chunk) else Chunk(text=scripted, done=True)
            reply.feed(chunk)
            finish = chunk.finish_reason
        return reply.close(finish_reason=finish, error=error, elapsed=self.elapsed)[1]

    def last(self, request: int) -> str:
        """The last message of a request."""
        return self.requests[request].request.messages[-1].content


def native(*named: tuple[str, dict[str, Any]], text: str = "") -> Chunk:
    reported = tuple({"name": name, "arguments": arguments} for name, arguments in named)
    return Chunk(text=text, tool_calls=reported, done=True)


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
    assert (turn.stop_reason, turn.answer) == ("repeated_call", "")
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


def test_what_looks_like_the_example_is_run_if_the_user_said_it() -> None:
    flow = TurnFlow(Driver().plan, (), Message(role="user", content="Weather in Some City?")).run()
    action = next(flow)
    assert isinstance(action, Generate)
    reply = Reply(action)
    reply.feed(Chunk(text=block(calls("get_weather", '{"city": "some city"}')), done=True))
    assert isinstance(flow.send(reply.close()[1]), Execute)


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
