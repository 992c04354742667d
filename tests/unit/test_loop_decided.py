"""Two stages: which tool, or none, by the probabilities of their names; then the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from deciding_kit import Model, Scores, args, call

from fallback import AsyncSession, Catalogue, Session
from fallback.backend import GenerationRequest
from fallback.backend import Scores as BackendScores
from fallback.dialects.record import FENCED
from fallback.errors import BackendStatusError, CapabilityError, ConfigurationError
from fallback.limits import Limits
from fallback.loop import Decide
from fallback.loop.deciding import decided_again, first, gained, judge, may_follow, odds, seen
from fallback.loop.progress import StepStarted
from fallback.messages import Turn
from fallback.parsing.events import CallReady
from fallback.testing import ScriptedBackend


def get_weather(city: str) -> str:
    """Weather in a city."""
    return f"7 degrees in {city}"


def get_time(zone: str) -> str:
    """Time in a zone."""
    return f"noon in {zone}"


TOOLS = [get_weather, get_time]


def played(scores: Scores, *replies: Any, **settings: Any) -> tuple[Turn, ScriptedBackend]:
    backend = ScriptedBackend(replies, scores=scores)
    given = {"tools": TOOLS, "decide": True, **settings}
    with Session("m", backend=backend, **given) as session:
        turn = session.run("What is it like in Oslo?")
    assert backend.remaining == 0
    return turn, backend


def test_the_call_of_the_tool_that_was_decided_on_is_begun_and_held_to_its_schema() -> None:
    turn, backend = played(
        Model("get_weather"), call("get_weather", '{"city": "Oslo"}'), "7 degrees."
    )
    first, last = backend.requests
    parameters = {**next(iter(Catalogue(TOOLS))).parameters, "additionalProperties": False}
    assert first.prefill == "```tool_call\n"
    assert first.format is not None
    properties = {"name": {"const": "get_weather"}, "arguments": parameters}
    assert first.format["properties"] == properties
    assert (last.prefill, last.format) == ("", None)
    assert [call.arguments for call in turn.steps[0].reading.calls] == [{"city": "Oslo"}]
    assert turn.answer == "7 degrees."
    note = "decided: get_weather (get_weather +5.00, of which +0.00 for any call)"
    assert note in turn.steps[0].notes


@pytest.mark.parametrize(("ready", "calls"), [(0.5, 1), (0.05, 0), (0.95, 1)])
def test_a_model_that_would_hardly_begin_a_call_needs_more_of_a_reason(
    ready: float, calls: int
) -> None:
    replies = [call("get_weather", '{"city": "Oslo"}'), "7."] if calls else ["Fine."]
    model = Model("get_weather", gain=0.5, ready=ready)
    turn, _ = played(model, *replies)
    assert len(turn.tools_used) == calls


@pytest.mark.parametrize(
    ("probability", "expected"), [(0.5, 0.0), (0.75, math.log(3)), (1e-9, -4.0), (1.0, 4.0)]
)
def test_the_odds_of_a_call_count_up_to_an_extreme(probability: float, expected: float) -> None:
    assert odds(math.log(probability)) == pytest.approx(expected)


def test_where_none_is_decided_on_no_tool_is_offered() -> None:
    turn, backend = played(Model("none"), "Fine.")
    assert (turn.answer, turn.stop_reason, turn.detail) == ("Fine.", "answered", "")
    assert "get_weather" not in str(backend.requests[0].messages)


def test_a_habit_is_no_reason_to_call() -> None:
    """A name that is just as probable when nothing is asked has gained nothing."""
    habits = {"get_time": -0.1, "none": -12.0}
    turn, _ = played(Model("none", habits=habits), "Fine.")
    assert turn.tools_used == ()
    turn, _ = played(
        Model("get_weather", habits=habits), call("get_weather", '{"city": "Oslo"}'), "7."
    )
    assert turn.tools_used == ("get_weather",)


@pytest.mark.parametrize(("margin", "calls"), [(4.9, 1), (5.1, 0), (float("-inf"), 1)])
def test_the_margin_is_what_has_to_speak_for_a_call(margin: float, calls: int) -> None:
    replies = [call("get_weather", '{"city": "Oslo"}'), "7."] if calls else ["Fine."]
    turn, _ = played(Model("get_weather"), *replies, decide=Decide(margin=margin))
    assert len(turn.tools_used) == calls


def test_behind_a_call_another_one_may_be_decided_on() -> None:
    model = Model("get_weather", further=["get_time", "```"])
    turn, backend = played(
        model,
        call("get_weather", '{"city": "Oslo"}'),
        call("get_time", '{"zone": "CET"}'),
        "7 degrees at noon.",
    )
    weather = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
    assert backend.requests[1].prefill == f"```tool_call\n{weather}\n"
    assert turn.tools_used == ("get_weather", "get_time")
    assert turn.steps[0].raw == (
        f'```tool_call\n{weather}\n{{"name": "get_time", "arguments": {{"zone": "CET"}}}}\n```'
    )
    assert len({call.id for call in turn.steps[0].reading.calls}) == 2
    assert [prefill for prefill, _ in model.asked[2:]] == [
        *[f"```tool_call\n{weather}\n"] * 2,  # with the question, and with none
        turn.steps[0].raw.removesuffix("```"),  # out of question
    ]
    assert model.asked[2][1][-1] == "```"
    again = [note for note in turn.steps[0].notes if note.startswith("decided again: ")]
    assert again == [
        "decided again: get_time (get_time +15.00, of which +6.00 over the end)",
        "decided again: no further call (get_weather -6.00 over the end)",
    ]


@pytest.mark.parametrize(
    ("asked", "free", "further", "tool"),
    [
        ((-1.0, 0.0), (-8.0, 0.0), 2.0, "a"),  # less probable than the end, but much more so here
        ((-1.0, 0.0), (-4.0, 0.0), 2.0, ""),
        ((1.7, 0.0), (1.75, 0.0), 2.0, ""),  # a habit
        ((1.7, 0.0), (1.75, 0.0), 1.0, "a"),
        ((-5.5, 0.0), None, -math.inf, ""),
    ],
)
def test_another_call_has_to_be_probable_and_more_so_than_without_a_question(
    asked: tuple[float, float], free: tuple[float, float] | None, further: float, tool: str
) -> None:
    given = BackendScores(logprobs=asked)
    assert may_follow(given) is (free is not None)
    nothing = None if free is None else BackendScores(logprobs=free)
    verdict, _ = decided_again(["a"], Decide(further=further), given, nothing)
    assert (verdict.tool, verdict.nearest) == (tool, "a")


def test_each_call_of_a_reply_is_told_once_while_it_streams() -> None:
    model = Model("get_weather", further=["get_time"])
    replies = [
        call("get_weather", '{"city": "Oslo"}'),
        call("get_time", '{"zone": "CET"}'),
        "Done.",
    ]
    with Session(
        "m", TOOLS, backend=ScriptedBackend(replies, scores=model), decide=True
    ) as session:
        events = list(session.stream("Oslo?"))
    assert [e.call.name for e in events if isinstance(e, CallReady)] == ["get_weather", "get_time"]
    assert [e.index for e in events if isinstance(e, StepStarted)] == [0, 1]


def test_the_same_call_once_more_is_left_out() -> None:
    model = Model("get_weather", further=["get_weather"])
    turn, _ = played(
        model,
        call("get_weather", '{"city": "Oslo"}'),
        call("get_weather", '{"city": "Oslo"}'),
        "7.",
    )
    assert turn.tools_used == ("get_weather",)
    assert "the same call once more was left out" in turn.steps[0].notes


@pytest.mark.parametrize(
    "settings", [{"decide": Decide(most=1)}, {"parallel_tool_calls": False}], ids=["most", "one"]
)
def test_a_reply_has_no_more_calls_than_it_may(settings: dict[str, Any]) -> None:
    model = Model("get_weather", further=["get_time"])
    turn, _ = played(model, call("get_weather", '{"city": "Oslo"}'), "7.", **settings)
    assert turn.tools_used == ("get_weather",)


def test_arguments_that_are_not_valid_are_corrected_as_ever() -> None:
    right = '```tool_call\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'
    turn, backend = played(
        Model("get_weather"), call("get_weather", '{"town": "Oslo"}'), right, "7."
    )
    assert turn.tools_used == ("get_weather",)
    assert backend.requests[1].prefill == ""  # answered freely
    assert "corrected: invalid_arguments" in turn.steps[0].notes


def test_what_nothing_asks_for_is_found_out_once_for_a_catalogue() -> None:
    model = Model("none", "none", "none")
    backend = ScriptedBackend(["a", "b", "c"], scores=model)
    with Session("m", TOOLS, backend=backend, decide=True) as session:
        for question in ("One?", "Two?"):
            session.run(question)
        session.fork(tools=["get_time"]).run("Three?")
    assert len(model.asked) == 2 + 1 + 2


def test_the_cost_of_deciding_is_in_the_step() -> None:
    model = Model("get_weather", further=["get_time"])
    turn, _ = played(
        model, call("get_weather", '{"city": "Oslo"}'), call("get_time", '{"zone": "CET"}'), "Done."
    )
    assert turn.steps[0].usage.completion_tokens == 2


@pytest.mark.parametrize("choice", ["none", "get_weather"])
def test_what_was_chosen_is_not_decided_on(choice: str) -> None:
    model = Model()
    replies = ["Fine."] if choice == "none" else [call("get_weather", '{"city": "Oslo"}'), "7."]
    played(model, *replies, tool_choice=choice)
    assert model.asked == []


def test_behind_a_result_the_model_itself_says_what_is_left_to_do() -> None:
    """The question speaks for the tool that has been called as it did before it was."""
    time = '```tool_call\n{"name": "get_time", "arguments": {"zone": "CET"}}\n```'
    model = Model("get_weather", "get_weather")
    turn, _ = played(model, call("get_weather", '{"city": "Oslo"}'), time, "7 degrees at noon.")
    assert turn.tools_used == ("get_weather", "get_time")
    assert model.chosen == ["get_weather"]


def test_a_backend_without_log_probabilities_is_told_in_one_line() -> None:
    backend = ScriptedBackend([])
    with (
        Session("m", TOOLS, backend=backend, decide=True) as session,
        pytest.raises(CapabilityError, match="no scores") as failed,
    ):
        session.run("Oslo?")
    assert failed.value.missing == "logprobs"

    class Plain:
        """A backend of somebody's own, without scores."""

        def close(self) -> None:
            """Nothing is open."""

    with (
        Session("m", TOOLS, backend=Plain(), decide=True) as session,
        pytest.raises(CapabilityError, match=r"Plain tells no log-probabilities .*leave `decide`"),
    ):
        session.run("Oslo?")


def test_a_server_that_is_busy_is_asked_again() -> None:
    model, tries = Model("none"), iter([BackendStatusError("busy", status=503)])

    def scores(request: GenerationRequest, values: Sequence[str]) -> Iterable[float]:
        for error in tries:
            raise error
        return model(request, values)

    turn, _ = played(scores, "Fine.", limits=Limits(retry_seconds=0.001))
    assert turn.answer == "Fine."


def test_native_mode_cannot_be_decided() -> None:
    with pytest.raises(ConfigurationError, match="prompt mode"):
        Session("m", TOOLS, backend=ScriptedBackend([]), mode="native", decide=True)


@pytest.mark.parametrize(
    "wrong", [{"margin": float("nan")}, {"unasked": float("nan")}, {"most": 0}]
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Decide(**wrong)


def test_a_tool_called_none_has_another_word_beside_it() -> None:
    def none() -> str:
        """Does nothing."""
        return "done"

    model = Model("no_none")
    turn, _ = played(model, "Fine.", tools=[none])
    assert turn.tools_used == ()
    assert model.asked[0][1] == ('none", "arguments":', 'no_none", "arguments":')


def test_the_word_for_no_tool_is_the_name_of_none() -> None:
    assert first(("none", "no_none"), FENCED).values[-1] == 'no_no_none", "arguments":'


def test_another_tool_than_the_one_that_was_decided_on_is_noted() -> None:
    turn, _ = played(Model("get_time"), call("get_weather", '{"city": "Oslo"}'), "7 degrees.")
    assert turn.tools_used == ("get_weather",)
    assert "get_time was decided on, and get_weather was called" in turn.steps[0].notes


def test_python_calls_are_decided_on_too() -> None:
    def scores(request: GenerationRequest, values: Sequence[str]) -> Iterable[float]:
        if not request.prefill:
            return [math.log(0.5)]
        assert values == ("get_weather(", "get_time(", "none(")
        wanted = request.messages[-1].content == "What is it like in Oslo?"
        return [-1.0 if wanted else -4.0, -3.0, -3.0]

    turn, backend = played(scores, args('city="Oslo")\n```'), "7.", dialect="pythonic")
    assert backend.requests[0].prefill == "```tool_code\nget_weather("
    assert turn.tools_used == ("get_weather",)


def test_where_each_call_has_a_block_of_its_own_a_reply_has_one() -> None:
    def scores(request: GenerationRequest, values: Sequence[str]) -> Iterable[float]:
        if not request.prefill:
            return [math.log(0.5)]
        wanted = request.messages[-1].content == "What is it like in Oslo?"
        return [-1.0 if wanted else -4.0, -3.0, -3.0]

    turn, backend = played(scores, call("get_weather", '{"city": "Oslo"}'), "7.", dialect="hermes")
    assert backend.requests[0].prefill == "<tool_call>\n"
    assert turn.tools_used == ("get_weather",)


def test_calls_in_running_text_cannot_be_decided_on() -> None:
    with pytest.raises(ConfigurationError, match="running text"):
        Session("m", TOOLS, backend=ScriptedBackend([]), dialect="inline", decide=True)


@pytest.mark.anyio
async def test_async_sessions_decide_alike() -> None:
    model = Model("get_weather", further=["get_time"])
    replies = [
        call("get_weather", '{"city": "Oslo"}'),
        call("get_time", '{"zone": "CET"}'),
        "Done.",
    ]
    backend = ScriptedBackend(replies, scores=model)
    async with AsyncSession("m", TOOLS, backend=backend, decide=True) as session:
        turn = await session.run("Oslo?")
    assert turn.tools_used == ("get_weather", "get_time")


def test_a_tool_that_is_not_among_the_likeliest_is_not_chosen_for_a_difference_of_bounds() -> None:
    asked, free = (-1.0, -9.0, -9.0), (-2.0, -15.0, -4.0)
    assert gained(asked, free, frozenset()) == [1.0, 6.0, -5.0]
    assert gained(asked, free, frozenset({1, 2})) == [1.0, float("-inf"), -5.0]
    assert judge(("a", "b"), gained(asked, free, frozenset({1, 2})), 2.0) == ("a", "a", 6.0)


def test_behind_a_call_a_tool_that_is_not_among_the_likeliest_does_not_follow() -> None:
    assert judge(("a",), seen((-9.0, -9.0), frozenset({0, 1})), -2.0).tool == ""
    assert judge(("a",), seen((-3.0, -9.0), frozenset({1})), -2.0).tool == "a"


def test_where_no_tool_is_among_the_likeliest_none_is_called() -> None:
    gains = gained((-9.0, -9.0, -9.0), (-1.0, -1.0, -1.0), frozenset({0, 1, 2}))
    assert judge(("a", "b"), gains, float("-1e9")).tool == ""
