"""What is left out once a conversation outgrows the window, and how it is noticed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from loop_driver import Driver, block, calls, native

from fallback.backend import Chunk
from fallback.errors import ContextWindowError
from fallback.limits import Limits
from fallback.loop import Generate
from fallback.loop.gauge import Gauge, Window, characters
from fallback.loop.window import shorten
from fallback.messages import Message, ToolCall, ToolResult, Usage
from fallback.templating import to_json

MODES = pytest.mark.parametrize("mode", ["prompt", "native"])
SMALL = Limits(num_predict=100, shortened_result_chars=200, max_steps=20)
BUILD = block(calls("build"))


class Small:
    """A server whose window is small: one token a character, and it counts."""

    def __init__(self, num_ctx: int, *, numbers: bool = True) -> None:
        self.num_ctx, self.numbers = num_ctx, numbers
        self.refused = 0
        self.sizes: list[int] = []

    def says(self, text: str, *named: tuple[str, dict[str, Any]]) -> Any:
        def reply(action: Generate) -> Any:
            tools = action.request.catalogue or ()
            size = characters(action.request.messages)
            size += sum(len(to_json(tool.to_dict())) for tool in tools)
            if size > self.num_ctx:
                self.refused += 1
                return ContextWindowError(
                    f"{size} tokens do not fit {self.num_ctx}",
                    status=400,
                    prompt_tokens=size if self.numbers else None,
                    num_ctx=self.num_ctx,
                )
            self.sizes.append(size)
            made = native(*named, text=text) if named else Chunk(text=text, done=True)
            return Chunk(
                text=made.text,
                tool_calls=made.tool_calls,
                done=True,
                usage=Usage(prompt_tokens=size),
                num_ctx=self.num_ctx,
            )

        return reply


def long_history(turns: int, size: int) -> tuple[Message, ...]:
    history: list[Message] = []
    for n in range(turns):
        call = ToolCall(id=f"call_{n}", name="build", arguments={})
        text = f"result {n} " + "x" * size
        result = ToolResult(call_id=call.id, name="build", content=text)
        history += [
            Message(role="user", content=f"Question {n}?"),
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content=result.content, result=result),
            Message(role="assistant", content=f"Answer {n}."),
        ]
    return tuple(history)


@MODES
@pytest.mark.parametrize("numbers", [True, False])
def test_a_request_that_does_not_fit_is_made_smaller_and_sent_again(
    mode: str, numbers: bool
) -> None:
    server = Small(6000, numbers=numbers)
    driver = Driver(mode=mode, limits=SMALL)
    reply = server.says("Fine.")
    turn = driver.play(reply, reply, history=long_history(4, 3000))
    assert (turn.answer, server.refused) == ("Fine.", 1)
    shown = str(driver.requests[1].request.messages)
    assert "characters left out, to save room" in shown
    assert all(f"Question {n}?" in shown for n in range(4))
    assert any("tool results are shortened" in note for note in turn.steps[0].notes)
    assert driver.ended is not None
    assert "x" * 3000 in driver.ended.messages[2].content  # the conversation itself is never cut


@MODES
def test_then_the_oldest_turns_go_whole(mode: str) -> None:
    server = Small(6000)
    driver = Driver(mode=mode, limits=SMALL)
    reply = server.says("Fine.")
    turn = driver.play(reply, reply, history=long_history(40, 400))
    shown = str(driver.requests[1].request.messages)
    assert "Question 0?" not in shown
    assert "Question 39?" in shown
    assert "Weather in Oslo?" in shown
    assert any("earlier turns are left out" in note for note in turn.steps[0].notes)
    if mode == "native":
        ids = [c.id for m in driver.requests[1].request.messages for c in m.tool_calls]
        results = [m.result.call_id for m in driver.requests[1].request.messages if m.result]
        assert ids == results


@MODES
def test_the_note_says_only_what_was_left_out(mode: str) -> None:
    talk: list[Message] = []
    for n in range(40):
        talk += [Message(role="user", content=f"Question {n}? " + "x" * 400)]
        talk += [Message(role="assistant", content=f"Answer {n}.")]
    server = Small(6000)
    driver = Driver(mode=mode, limits=SMALL)
    reply = server.says("Fine.")
    turn = driver.play(reply, reply, history=tuple(talk))
    (note,) = (note for note in turn.steps[0].notes if "window" in note)
    assert "earlier turns are left out" in note
    assert "results" not in note


@MODES
def test_a_turn_that_cannot_fit_ends_with_the_numbers(mode: str) -> None:
    server = Small(40)
    driver = Driver(mode=mode, limits=SMALL, instructions="Be brief. " * 30)
    reply = server.says("Fine.")
    turn = driver.play(reply, reply, history=long_history(2, 300))
    assert turn.stop_reason == "failed"
    assert "do not fit 40" in turn.detail
    assert driver.ended is not None
    assert isinstance(driver.ended.error, ContextWindowError)


@MODES
def test_without_anything_to_leave_out_it_is_not_sent_again(mode: str) -> None:
    server = Small(10)
    turn = Driver(mode=mode, limits=SMALL, instructions="x" * 99).play(server.says("Fine."))
    assert (turn.stop_reason, server.refused) == ("failed", 1)


@MODES
def test_what_was_counted_makes_room_before_the_server_refuses(mode: str) -> None:
    """Each result is a good part of the window; only the first cut costs nothing but a note."""
    server = Small(6000)
    driver = Driver(mode=mode, limits=SMALL)
    driver.answer = lambda name: ToolResult(
        call_id="?", name=name, content=f"{len(driver.executed)} " + "y" * 1500
    )
    step = server.says("", ("build", {})) if mode == "native" else server.says(BUILD)
    turn = driver.play(*[step] * 9, server.says("Done."))
    assert (turn.stop_reason, server.refused) == ("answered", 0)
    assert max(server.sizes) <= 6000 - SMALL.num_predict
    assert any("is full" in note for s in turn.steps for note in s.notes)


@MODES
def test_the_beginning_of_the_prompt_changes_seldom(mode: str) -> None:
    """A server keeps what it has evaluated: most requests begin with the whole of the last one."""
    server = Small(7000)
    driver = Driver(mode=mode, limits=SMALL)
    driver.answer = lambda name: ToolResult(
        call_id="?", name=name, content=f"{len(driver.executed)} " + "y" * 700
    )
    step = server.says("", ("build", {})) if mode == "native" else server.says(BUILD)
    turn = driver.play(*[step] * 16, server.says("Done."))
    assert turn.stop_reason == "answered"
    sent = [g.request.messages[:-1] for g in driver.requests]
    kept = sum(later[: len(earlier)] == earlier for earlier, later in pairwise(sent))
    assert kept >= 12


@MODES
def test_the_latest_result_is_shortened_last(mode: str) -> None:
    server = Small(3000)
    driver = Driver(mode=mode, limits=SMALL)
    driver.answer = lambda name: ToolResult(call_id="?", name=name, content="z" * 9000)
    step = server.says("", ("build", {})) if mode == "native" else server.says(BUILD)
    done = server.says("Done.")
    turn = driver.play(step, done)
    assert turn.stop_reason == "answered"
    last = driver.requests[-1].request.messages[-1]
    assert "characters left out, to save room" in str(last)


def test_what_was_found_out_serves_the_next_turn() -> None:
    server = Small(6000)
    driver = Driver(limits=SMALL)
    driver.play(server.says("Fine."), server.says("Fine."), history=long_history(4, 3000))
    assert driver.ended is not None
    window = driver.ended.window
    assert window.gauge.num_ctx == 6000
    again = Driver(limits=SMALL, window=window)
    again.play(server.says("Fine."), history=driver.ended.messages)
    first = driver.requests[1].request.messages
    assert again.requests[0].request.messages[: len(first)] == first


# What a count means


def reply_of(size: int, tokens: int, num_ctx: int | None = 1000) -> Any:
    from fallback.loop import Generation

    return Generation(usage=Usage(prompt_tokens=tokens), num_ctx=num_ctx)


def test_the_density_is_what_was_counted_last() -> None:
    gauge = Gauge().heard(400, reply_of(400, 100)).heard(300, reply_of(300, 150))
    assert (gauge.num_ctx, gauge.density) == (1000, 0.5)


def test_a_count_that_cannot_be_of_the_whole_prompt_teaches_nothing() -> None:
    assert Gauge().heard(4000, reply_of(4000, 3)).density is None
    assert Gauge(density=0.3).heard(4000, reply_of(4000, 0)).density == 0.3


def test_the_room_leaves_space_for_the_reply() -> None:
    gauge = Gauge(num_ctx=1000, density=0.5)
    assert gauge.room(Limits(num_predict=100)) == 1800
    assert gauge.room(Limits(num_predict=5000)) == 1500
    assert Gauge(density=0.5).room(Limits()) is None


def test_a_window_is_cut_down_with_its_conversation() -> None:
    from fallback.loop.window import Cut

    window = Window(cut=Cut(dropped=6, shortened=((9, 100),)))
    assert window.within(4).cut == Cut(dropped=4, shortened=((4, 100),))


def test_a_shortened_text_says_how_much_is_missing() -> None:
    text = "".join(chr(65 + n % 26) for n in range(1000))
    short = shorten(text, 300)
    assert len(short) <= 300
    assert short.startswith(text[:100])
    assert short.endswith(text[-50:])
    missing = int(short.split("[... ")[1].split()[0])
    head, tail = short.split("\n[... ")[0], short.split(" ...]\n")[1]
    assert missing == 1000 - len(head) - len(tail)
