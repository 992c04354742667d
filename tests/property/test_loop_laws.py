"""Whatever a model writes, a turn ends, its record is whole, and the conversation stays clean."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fallback import AsyncSession, Risk, Session, Tool
from fallback.limits import Limits
from fallback.messages import Message, Turn
from fallback.testing import ScriptedBackend


def get_weather(city: str, days: int = 1) -> str:
    """Current weather.

    Args:
        city: the city.
        days: how many days.
    """
    if city == "Nowhere":
        raise ValueError("there is no such place")
    return f"fine in {city}"


def build() -> str:
    """Build it."""
    return "built"


READS = Tool.from_function(get_weather, risk=Risk.READ_ONLY)
CLIENT = {"name": "ask_user", "description": "Asks the user.", "parameters": {}}
TOOLS = [READS, build, CLIENT]
LIMITS = Limits(max_steps=6, max_calls_per_turn=5)
BAD = "@@BAD@@"  # stands in every malformed reply, and must never be found in what is kept


def block(*lines: str) -> str:
    return "\n".join(("```tool_call", *lines, "```"))


CALLS = st.sampled_from(
    [
        '{"name": "get_weather", "arguments": {"city": "Oslo"}}',
        '{"name": "get_weather", "arguments": {"city": "Nowhere"}}',
        '{"name": "build", "arguments": {}}',
        '{"name": "build", "arguments": {}}',
    ]
)
REPLIES: st.SearchStrategy[Any] = st.one_of(
    st.lists(CALLS, min_size=1, max_size=4).map(lambda lines: block(*lines)),
    st.sampled_from(
        [
            "It is fine.",
            "",
            "I will use the get_weather tool.",
            "Look: " + block('{"name": "build", "arguments": {}}'),
            block('{"name": "build", "arguments": {}}') + "\n```tool_result\n" + BAD + "\n```",
            block('{"name": "get_weather", "arguments": {"days": "' + BAD + '"}}'),
            block('{"name": "get_weather", "arguments": {"city": ' + BAD),
            block('{"name": "' + BAD + '", "arguments": {}}'),
            block(
                '{"name": "build", "arguments": {}}', '{"name": "get_weather", "a": "' + BAD + '"}'
            ),
            "<think>" + BAD + "\n" + block('{"name": "build", "arguments": {}}') + "</think>",
            block('{"name": "ask_user", "arguments": {}}'),
            {"content": f"```tool_call\n{{{BAD}", "finish_reason": "length"},
            {"thinking": f"{BAD} hm"},
            {"tool_calls": [{"name": "build", "arguments": {}}]},
            {"tool_calls": [{"name": "get_weather", "arguments": {"city": 5, "x": BAD}}]},
            {"content": "Well.", "tool_calls": [{"name": "build", "arguments": "{}"}]},
        ]
    ),
)
OPTIONS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"eager": True},
        {"parallel_tool_calls": False, "eager": True},
        {"tool_choice": "required"},
        {"tool_choice": "get_weather"},
        {"respond": True, "tool_choice": "required"},
    ]
)
SCRIPTS = st.lists(REPLIES, min_size=12, max_size=12)


def settings(draw_native: bool, chunk_size: int | None, script: list[Any]) -> ScriptedBackend:
    claims = ["tools"] if draw_native else []
    return ScriptedBackend(script, capabilities=claims, chunk_size=chunk_size)


def played(
    backend: ScriptedBackend, questions: int = 1, **options: Any
) -> tuple[Session, list[Turn]]:
    session = Session("m", TOOLS, backend=backend, limits=LIMITS, **options)
    return session, [session.run(f"Question {n}?") for n in range(questions)]


def check_pairs(messages: tuple[Message, ...]) -> None:
    """Every call is followed by its result, in order, and there is no other result."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert message.result is not None
            assert message.result.call_id == waiting.pop(0)
        else:
            assert waiting == []
            waiting = [call.id for call in message.tool_calls]
    assert waiting == []


@given(
    script=SCRIPTS,
    native=st.booleans(),
    chunk_size=st.sampled_from([None, 1, 5]),
    options=OPTIONS,
)
def test_every_turn_ends_with_a_reason_and_a_whole_record(
    script: list[Any], native: bool, chunk_size: int | None, options: dict[str, Any]
) -> None:
    backend = settings(native, chunk_size, script)
    _, (turn,) = played(backend, **options)
    assert len(turn.steps) <= LIMITS.max_steps
    assert len(backend.requests) <= LIMITS.max_steps + 1
    assert [step.index for step in turn.steps] == list(range(len(turn.steps)))
    assert turn.answer or turn.detail
    if turn.stop_reason == "answered":
        assert turn.answer
    assert len(turn.tools_used) <= LIMITS.max_calls_per_turn
    for step in turn.steps:
        assert step.notes
        ids = [call.id for call in step.calls]
        assert [result.call_id for result in step.results] in (ids, [])


@given(script=SCRIPTS, native=st.booleans(), options=OPTIONS)
def test_nothing_malformed_and_no_half_pair_is_ever_kept(
    script: list[Any], native: bool, options: dict[str, Any]
) -> None:
    session, turns = played(settings(native, None, script), questions=2, **options)
    check_pairs(session.messages)
    for message in session.messages:
        assert BAD not in message.content
        assert BAD not in str(message.tool_calls)
    for turn in turns:
        check_pairs(turn.messages)


@given(script=SCRIPTS)
def test_a_prompt_begins_as_the_one_before_it(script: list[Any]) -> None:
    backend = settings(False, None, script)
    played(backend, questions=2)
    for before, after in pairwise(request.messages for request in backend.requests):
        if after[0].role != "system":  # the tools have been withdrawn
            continue
        assert [m.role for m in after[1:]] == ["user", "assistant"] * (len(after) // 2 - 1) + [
            "user"
        ]
        if before[0].role == "system":
            kept = min(len(before), len(after)) - 1
            assert after[:kept] == before[:kept]


@given(script=SCRIPTS, native=st.booleans(), chunk_size=st.sampled_from([None, 3]), options=OPTIONS)
def test_both_drivers_make_the_same_turns(
    script: list[Any], native: bool, chunk_size: int | None, options: dict[str, Any]
) -> None:
    def outline(turn: Turn) -> Any:
        steps = [(s.mode, s.raw, s.calls, [r.content for r in s.results]) for s in turn.steps]
        return turn.answer, turn.stop_reason, turn.detail, steps

    async def run() -> Turn:
        backend = settings(native, chunk_size, script)
        session = AsyncSession("m", TOOLS, backend=backend, limits=LIMITS, **options)
        return await session.run("Question 0?")

    _, (turn,) = played(settings(native, chunk_size, script), **options)
    assert outline(turn) == outline(asyncio.run(run()))
