"""Several calls of one reply: what runs side by side, what waits, and who gets which result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from loop_driver import Driver, block, calls, native

from fallback.backend import Chunk
from fallback.catalogue import Catalogue
from fallback.limits import Limits
from fallback.loop import Executed, Interrupted
from fallback.messages import ToolResult
from fallback.tools import Risk, Tool


def declared(name: str, risk: Risk | None, *keys: str) -> Tool:
    properties = {key: {"type": "string"} for key in keys}
    schema = {"type": "object", "properties": properties, "required": list(keys)}
    told = {"name": name, "description": f"Does {name}.", "parameters": schema}
    return Tool.from_dict(told, handler=lambda **arguments: arguments, risk=risk)


TOOLS = Catalogue(
    [
        declared("find", Risk.READ_ONLY, "q"),
        declared("look", Risk.READ_ONLY, "q"),
        declared("save", Risk.REVERSIBLE_WRITE, "q"),
        declared("nobody_said", None, "q"),
    ]
)
MODES = pytest.mark.parametrize("mode", ["prompt", "native"])


def said(mode: str, *named: tuple[str, str]) -> Any:
    if mode == "native":
        return native(*((name, {"q": q}) for name, q in named))
    return block(*(calls(name, f'{{"q": "{q}"}}') for name, q in named))


def driver(mode: str, **plan: Any) -> Driver:
    made = Driver(**{"catalogue": TOOLS, "mode": mode, "limits": Limits(max_parallel=3), **plan})
    made.answer = lambda name: ToolResult(call_id="?", name=name, content=f"{name} did it")
    return made


@MODES
def test_neighbours_that_only_read_make_one_wave(mode: str) -> None:
    played = driver(mode)
    turn = played.play(said(mode, ("find", "a"), ("look", "b"), ("find", "c")), "Done.")
    assert played.waves == [("find", "look", "find")]
    step = turn.steps[0]
    assert [r.call_id for r in step.results] == [c.id for c in step.calls]


@MODES
def test_a_write_runs_alone_and_after_what_was_written_before_it(mode: str) -> None:
    played = driver(mode)
    order = [("find", "a"), ("look", "b"), ("save", "c"), ("find", "d"), ("save", "e")]
    turn = played.play(said(mode, *order), "Done.")
    assert played.waves == [("find", "look"), ("save",), ("find",), ("save",)]
    assert [r.name for r in turn.steps[0].results] == [name for name, _ in order]


@MODES
def test_a_tool_of_which_nobody_has_said_that_it_reads_runs_alone(mode: str) -> None:
    played = driver(mode)
    played.play(said(mode, ("nobody_said", "a"), ("nobody_said", "b")), "Done.")
    assert played.waves == [("nobody_said",), ("nobody_said",)]


@MODES
def test_results_that_come_in_another_order_are_tied_by_id(mode: str) -> None:
    played = driver(mode)
    outcome = played.outcome

    def turned(action: Any, script: Any) -> Any:
        answer = outcome(action, script)
        if hasattr(answer, "results"):
            object.__setattr__(answer, "results", tuple(reversed(answer.results)))
        return answer

    played.outcome = turned  # type: ignore[method-assign] # the driver of this test answers late
    turn = played.play(said(mode, ("find", "a"), ("look", "b")), "Done.")
    assert [r.content for r in turn.steps[0].results] == ["find did it", "look did it"]


@MODES
def test_what_an_interrupted_wave_has_finished_is_kept(mode: str) -> None:
    played = driver(mode)
    first: list[str] = []

    def answer(name: str) -> Any:
        first.append(played.jobs[0].call.id)
        return Interrupted(results=(ToolResult(call_id=first[0], name="find", content="found"),))

    played.answer = answer
    turn = played.play(said(mode, ("find", "a"), ("look", "b"), ("save", "c")))
    assert turn.stop_reason == "cancelled"
    assert [r.status for r in turn.steps[0].results] == ["ok", "error", "denied"]


@MODES
def test_a_failure_is_reported_of_its_own_call_alone(mode: str) -> None:
    played = driver(mode)
    played.answer = lambda name: ToolResult(
        call_id="?", name=name, content=name, status="error" if name == "look" else "ok"
    )
    turn = played.play(said(mode, ("find", "a"), ("look", "b"), ("save", "c")), "Two of three.")
    assert [r.status for r in turn.steps[0].results] == ["ok", "error", "ok"]
    assert turn.stop_reason == "answered"


@MODES
def test_the_budget_ends_inside_a_wave(mode: str) -> None:
    played = driver(mode, limits=Limits(max_calls_per_turn=2))
    turn = played.play(said(mode, ("find", "a"), ("find", "b"), ("find", "c")), "So far.")
    assert played.waves == [("find", "find")]
    assert [r.status for r in turn.steps[0].results] == ["ok", "ok", "denied"]
    assert (turn.stop_reason, turn.answer) == ("max_calls", "So far.")


@MODES
def test_a_call_that_needs_a_result_of_the_same_reply_waits_for_it(mode: str) -> None:
    played = driver(mode)
    reply = said(mode, ("find", "Ann"), ("save", "<result of call 1>"))
    turn = played.play(reply, said(mode, ("save", "ann@example.org")), "Saved.")
    assert played.executed == ["find", "save"]
    refused = turn.steps[0].results[1]
    assert (refused.status, refused.kind) == ("denied", "invalid_arguments")
    assert "Wait for that result" in refused.content
    assert "$.q" in refused.content
    assert played.jobs[1].call.arguments == {"q": "ann@example.org"}
    assert turn.stop_reason == "answered"


@MODES
def test_the_same_calls_again_and_again_are_one_habit(mode: str) -> None:
    played = driver(mode)
    pair = said(mode, ("find", "a"), ("look", "b"))
    turn = played.play(pair, pair, pair, pair, pair, "Enough.")
    told = [i for i in range(6) if "find and look" in played.last(i)]
    assert told == [3, 4]
    assert "find did it" in played.last(3)
    assert (turn.stop_reason, turn.answer) == ("repeated_call", "Enough.")


@MODES
def test_the_time_of_a_tool_is_its_own_or_everybody_s(mode: str) -> None:
    slow = Tool.from_dict(
        {"name": "slow", "description": "Slow.", "parameters": {}}, handler=dict, timeout=300.0
    )
    tools = Catalogue([slow, declared("find", Risk.READ_ONLY, "q")])
    played = driver(mode, catalogue=tools, limits=Limits(tool_seconds=20.0, turn_seconds=100.0))
    played.elapsed = 10.0
    reply = native(("find", {"q": "a"}), ("slow", {}))
    text = block(calls("find", '{"q": "a"}'), calls("slow"))
    played.play(reply if mode == "native" else text, "Done.")
    assert [job.seconds for job in played.jobs] == [20.0, 90.0]


@MODES
def test_calls_that_share_an_id_get_their_own_results(mode: str) -> None:
    """An id is what a model or a server writes; results must not cross because of it."""
    played = driver(mode)
    outcome = played.outcome
    played.outcome = lambda action, script: _by_argument(outcome(action, script), action)  # type: ignore[method-assign] # tools of this test answer with their argument
    if mode == "native":
        reported = [{"id": "1", "name": "find", "arguments": {"q": q}} for q in ("a", "b", "c")]
        reply: Any = Chunk(tool_calls=tuple(reported), done=True)
    else:
        reply = block(
            *(f'{{"id": "1", "name": "find", "arguments": {{"q": "{q}"}}}}' for q in "abc")
        )
    turn = played.play(reply, "Done.")
    step = turn.steps[0]
    assert len({call.id for call in step.calls}) == 3
    assert step.calls[0].id == "1"
    assert [r.content for r in step.results] == ["a", "b", "c"]


def _by_argument(answer: Any, action: Any) -> Any:
    if not isinstance(answer, Executed):
        return answer
    said = {job.call.id: job.call.arguments["q"] for job in action.jobs}
    return replace(
        answer, results=tuple(replace(r, content=said[r.call_id]) for r in answer.results)
    )


@MODES
def test_no_more_calls_are_read_from_one_reply_than_is_allowed(mode: str) -> None:
    played = driver(mode, limits=Limits(max_calls_per_step=2))
    turn = played.play(said(mode, ("find", "a"), ("find", "b"), ("find", "c")), "Done.")
    assert played.executed == ["find", "find"]
    assert turn.steps[0].problems[0].kind == "oversized"
    assert "more than 2 calls" in played.last(1)
