"""Arguments that nobody asked for are left out of a call that was decided on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import pytest
from deciding_kit import Model, args, call
from hypothesis import example, given
from hypothesis import strategies as st

from fallback import AsyncSession, Session
from fallback.backend import GenerationRequest
from fallback.dialects.record import FENCED, HERMES, Dialect
from fallback.errors import BackendStatusError
from fallback.loop import Decide, Generation
from fallback.loop.deciding import Scored
from fallback.loop.progress import StepStarted, ToolStarted
from fallback.loop.unasked import Draft, as_given, left_out, may_be_left_out
from fallback.messages import Reading, ToolCall, Turn
from fallback.parsing.events import CallReady
from fallback.rendering.opening import opening_of_any
from fallback.testing import ScriptedBackend
from fallback.tools import Tool

GAMES = Tool(
    name="find_games",
    description="Find games.",
    parameters={
        "type": "object",
        "properties": {
            "platform": {"type": "string"},
            "genre": {"type": "string"},
            "rating": {"type": "number", "default": 3},
            "tags": {"type": "array", "items": {"type": "string"}},
            "strategyKind": {"type": "boolean"},
            "linux_only": {"type": "boolean"},
        },
        "required": ["platform"],
    },
    handler=lambda **given: json.dumps(given),
)
QUESTION = "Which games for Linux are there, of the Strategy kind?"


def found(**arguments: Any) -> dict[str, Any]:
    return call("find_games", json.dumps(arguments))


def played(model: Model, *replies: Any, **settings: Any) -> tuple[Turn, ScriptedBackend]:
    backend = ScriptedBackend([*replies, "Here they are."], scores=model)
    with Session("m", [GAMES], backend=backend, **{"decide": True, **settings}) as session:
        turn = session.run(QUESTION)
    assert backend.remaining == 0
    return turn, backend


def arguments(turn: Turn) -> list[dict[str, Any]]:
    return [dict(call.arguments) for step in turn.steps for call in step.reading.calls]


def test_a_value_that_is_as_probable_when_nothing_is_asked_is_left_out() -> None:
    model = Model("find_games", invented=["genre"])
    turn, _ = played(model, found(platform="Linux", genre="Action"))
    assert arguments(turn) == [{"platform": "Linux"}]
    assert turn.steps[0].raw == (
        '```tool_call\n{"name": "find_games", "arguments": {"platform": "Linux"}}\n```'
    )
    assert 'asked for: genre="Action" +0.00 (left out)' in turn.steps[0].notes
    assert json.loads(turn.steps[0].results[0].content) == {"platform": "Linux"}


def test_a_value_that_the_question_speaks_for_is_kept() -> None:
    model = Model("find_games")
    turn, _ = played(model, found(platform="Linux", rating=4.5))
    assert arguments(turn) == [{"platform": "Linux", "rating": 4.5}]
    assert "asked for: rating=4.5 +4.60" in turn.steps[0].notes
    assert turn.steps[0].usage.completion_tokens == 1  # the draft is the reply


def test_both_are_asked_behind_what_the_call_has_in_front_of_the_value() -> None:
    asked: list[tuple[str, str, tuple[str, ...]]] = []
    model = Model("find_games")

    def scores(request: GenerationRequest, values: Sequence[str]) -> Iterable[float]:
        if request.prefill.endswith('":'):
            asked.append((request.messages[-1].content, request.prefill, tuple(values)))
        return model(request, values)

    backend = ScriptedBackend([found(platform="Linux", genre="Action"), "Done."], scores=scores)
    with Session("m", [GAMES], backend=backend, decide=True) as session:
        session.run(QUESTION)
    begun = '```tool_call\n{"name": "find_games", "arguments": {"platform": "Linux", "genre":'
    assert asked == [(QUESTION, begun, (' "Action',)), ("N/A", begun, (' "Action',))]


@pytest.mark.parametrize(
    "given",
    [
        {"platform": "Windows"},
        {"platform": "Linux", "rating": 3},
        {"platform": "Linux", "genre": "strategy"},
        {"platform": "Linux", "tags": ["Linux", "Strategy"]},
        {"platform": "Linux", "strategyKind": True},
    ],
    ids=["required", "the default", "said", "each said", "a flag that is named"],
)
def test_what_need_not_be_asked_about_is_not(given: dict[str, Any]) -> None:
    model = Model("find_games", invented=list(given))
    turn, _ = played(model, found(**given))
    assert arguments(turn) == [given]
    assert model.doubted == []


@pytest.mark.parametrize(
    "given",
    [
        {"rating": 3.5},
        {"genre": "Lin"},
        {"genre": "ki"},
        {"tags": []},
        {"tags": ["Linux", "new"]},
        {"tags": ["Linux"] * 40},
        {"linux_only": True},
        {"strategyKind": False},
    ],
    ids=[
        "a number",
        "a part of a word",
        "two characters",
        "none",
        "not each",
        "very many",
        "a flag of which not each word is said",
        "a flag that is down",
    ],
)
def test_what_is_not_said_is_asked_about(given: dict[str, Any]) -> None:
    model = Model("find_games", invented=list(given))
    turn, _ = played(model, found(platform="Linux", **given))
    assert arguments(turn) == [{"platform": "Linux"}]
    assert [name for name, _ in model.doubted] == list(given) * 2


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ("Action", ' "Action'),
        ("", ' "'),
        (1, " 1"),
        (True, " true"),
        ([1, 2], " [1, 2"),
        ([], " ["),
    ],
)
def test_a_value_is_asked_about_without_what_ends_it(value: Any, asked: str) -> None:
    tool = {
        "type": "function",
        "function": {"name": "t", "parameters": {"type": "object", "properties": {"a": {}}}},
    }
    model = Model("t")
    backend = ScriptedBackend([call("t", json.dumps({"a": value})), "Done."], scores=model)
    with Session("m", [tool], backend=backend, decide=True) as session:
        session.run(QUESTION)
    assert model.doubted == [("a", asked)] * 2


def test_how_much_has_to_be_gained_can_be_chosen() -> None:
    reply = found(platform="Linux", genre="Action")
    turn, _ = played(Model("find_games"), reply, decide=Decide(unasked=5.0))
    assert arguments(turn) == [{"platform": "Linux"}]
    model = Model("find_games", invented=["genre"])
    turn, _ = played(model, reply, decide=Decide(unasked=-math.inf))
    assert arguments(turn) == [{"platform": "Linux", "genre": "Action"}]
    assert model.doubted == []


def test_what_is_left_out_of_a_call_does_not_stand_in_front_of_the_next() -> None:
    model = Model("find_games", invented=["genre"], further=["find_games"])
    turn, backend = played(
        model,
        found(platform="Linux", genre="Action"),
        found(platform="Amiga", genre="Action"),
    )
    assert arguments(turn) == [{"platform": "Linux"}, {"platform": "Amiga"}]
    assert "Action" not in backend.requests[1].prefill


def test_listeners_are_told_of_the_call_as_it_is_made_and_once() -> None:
    model = Model("find_games", invented=["genre"])
    replies: list[Any] = [found(platform="Linux", genre="Action"), "Here they are."]
    backend = ScriptedBackend(replies, scores=model, chunk_size=3)
    with Session("m", [GAMES], backend=backend, decide=True) as session:
        events = list(session.stream(QUESTION))
    ready = [dict(e.call.arguments) for e in events if isinstance(e, CallReady)]
    ran = [dict(e.call.arguments) for e in events if isinstance(e, ToolStarted)]
    assert ready == ran == [{"platform": "Linux"}]
    assert [e.index for e in events if isinstance(e, StepStarted)] == [0, 1]


@pytest.mark.anyio
async def test_async_sessions_leave_out_the_same() -> None:
    model = Model("find_games", invented=["genre"])
    replies: list[Any] = [found(platform="Linux", genre="Action"), "Here they are."]
    backend = ScriptedBackend(replies, scores=model, chunk_size=3)
    async with AsyncSession("m", [GAMES], backend=backend, decide=True) as session:
        turn = await session.run(QUESTION)
    assert arguments(turn) == [{"platform": "Linux"}]


def test_a_draft_that_is_no_call_is_read_as_it_is() -> None:
    broken: Any = args('{"name": "find_games", "arguments": {"genre": "Act') | {
        "finish_reason": "length"
    }
    right = '```tool_call\n{"name": "find_games", "arguments": {"platform": "Linux"}}\n```'
    turn, _ = played(Model("find_games", invented=["genre"]), broken, right)
    assert [problem.kind for problem in turn.steps[0].reading.problems] == ["truncated"]
    assert arguments(turn) == [{"platform": "Linux"}]


def test_a_model_that_ends_the_call_itself_is_understood_too() -> None:
    """So it is where a server does not hold it to the schema."""
    text = '{"name": "find_games", "arguments": {"platform": "Linux", "genre": "Action"}}\n```'
    turn, _ = played(Model("find_games", invented=["genre"]), args(text))
    assert arguments(turn) == [{"platform": "Linux"}]


def test_a_server_that_fails_to_say_leaves_the_call_as_it_was() -> None:
    model = Model("find_games", invented=["genre"])

    def scores(request: GenerationRequest, values: Sequence[str]) -> Iterable[float]:
        if request.prefill.endswith('":'):
            raise BackendStatusError("broken", status=500)
        return model(request, values)

    replies: list[Any] = [found(platform="Linux", genre="Action"), "Done."]
    backend = ScriptedBackend(replies, scores=scores)
    with Session("m", [GAMES], backend=backend, decide=True) as session:
        turn = session.run(QUESTION)
    assert arguments(turn) == [{"platform": "Linux", "genre": "Action"}]


def test_a_server_that_does_not_take_the_schema_is_asked_without() -> None:
    failure: Any = BackendStatusError("no grammar", status=500)
    model = Model("find_games", "find_games", invented=["genre"])
    turn, backend = played(model, failure, args(' {"platform": "Linux"}}\n```'))
    assert [request.format is None for request in backend.requests] == [False, True, True]
    assert arguments(turn) == [{"platform": "Linux"}]


@pytest.mark.parametrize(
    ("required", "optional"),
    [(["a"], {"b"}), ([], {"a", "b"}), (None, {"a", "b"}), (["a", "b"], set())],
)
def test_which_parameters_may_be_left_out(required: Any, optional: set[str]) -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": required}
    given = {k: v for k, v in schema.items() if v is not None}
    assert may_be_left_out(Tool(name="t", description="", parameters=given)) == optional


class Told:
    """How probable one value is."""

    def __init__(self, logprob: float, *, unseen: bool = False) -> None:
        self.logprobs, self.unseen = (logprob,), frozenset({0} if unseen else ())


@pytest.mark.parametrize(
    ("asked", "free", "out"),
    [
        (Told(-0.01), Told(-1.36), False),
        (Told(-0.03), Told(-0.69), False),  # true, which was asked for
        (Told(-0.24), Told(-0.66), True),
        (Told(-0.0), Told(-0.0), True),  # always the same
        (Told(-20.0), Told(-40.0), False),  # a long text
        (Told(-0.01), Told(-9.0, unseen=True), False),  # at least so much
        (Told(-3.0, unseen=True), Told(-9.0), True),  # nobody would have written it
    ],
)
def test_it_is_the_odds_that_have_to_rise(asked: Scored, free: Scored, out: bool) -> None:
    (doubt,) = _draft({"a": 1}).doubts(OPEN, "")
    names, told = left_out([doubt], [asked], [free], Decide())
    assert (names == {"a"}) is out
    assert told.endswith("(left out)") is out


OPEN = Tool(
    name="t",
    description="",
    parameters={"type": "object", "properties": {name: {} for name in "abcdefghijkl"}},
)


def _generation(text: str, begun: str, finish: Literal["stop", "tool_call"] = "stop") -> Generation:
    """A reply that has been read: what is in it is settled, where it is not."""
    call = ToolCall(id="c", name="t", arguments={})
    return Generation(raw=begun + text, finish_reason=finish, reading=Reading(calls=(call,)))


def _draft(
    given: dict[str, Any], dialect: Dialect = FENCED, end: str = "", indent: int | None = None
) -> Draft:
    opened = opening_of_any(dialect)
    call = json.dumps({"name": "t", "arguments": given}, ensure_ascii=False, indent=indent)
    text = call + end + opened.closing.removeprefix(end)
    draft = Draft.of(_generation(text, opened.prefill), opened.prefill, opened, dialect)
    assert draft is not None
    return draft


def _objects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Objects as text, whose names may come twice."""
    member = st.tuples(st.sampled_from(['"name"', '"arguments"', '"a"']), inner | st.just('"t"'))
    members = st.lists(member.map(": ".join), max_size=4)
    return members.map(lambda texts: "{" + ", ".join(texts) + "}")


def test_so_many_arguments_are_asked_about_and_no_more() -> None:
    doubts = _draft(dict.fromkeys("abcdefghijkl", 0)).doubts(OPEN, "")
    assert [doubt.name for doubt in doubts] == list("abcdefgh")


NAMES = st.sampled_from("abcdefghijkl")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(NAMES, VALUES),
    st.sets(NAMES),
    st.sampled_from([FENCED, HERMES]),
    st.sampled_from(["", "\n"]),
    st.sampled_from([None, 1]),
)
def test_a_call_without_arguments_is_the_call_without_them(
    given: dict[str, Any], names: set[str], dialect: Dialect, end: str, indent: int | None
) -> None:
    draft = _draft(given, dialect, end, indent)
    kept = json.loads(draft.without(names).text)
    assert kept == {"name": "t", "arguments": {k: v for k, v in given.items() if k not in names}}
    assert list(kept["arguments"]) == [name for name in given if name not in names]


@given(st.dictionaries(NAMES, VALUES), st.sampled_from(["", "\n"]), st.sampled_from([None, 1]))
def test_where_nothing_is_left_out_the_reply_is_as_it_was_written(
    given: dict[str, Any], end: str, indent: int | None
) -> None:
    draft = _draft(given, end=end, indent=indent)
    chunk = draft.without(())
    assert draft.generation.raw.startswith(chunk.prefill + chunk.text)
    assert json.loads(chunk.text)["arguments"] == given


@given(st.dictionaries(NAMES, VALUES, min_size=1), st.sampled_from([None, 1]))
def test_a_value_is_asked_about_where_it_stands(given: dict[str, Any], indent: int | None) -> None:
    draft = _draft(given, indent=indent)
    for doubt in draft.doubts(OPEN, ""):
        (value,) = doubt.choices.values
        assert doubt.choices.whole
        assert doubt.choices.prefill.endswith(f'"{doubt.name}":')
        assert draft.generation.raw.startswith(doubt.choices.prefill + value)


def test_what_is_kept_is_kept_as_it_was_written() -> None:
    begun = opening_of_any(FENCED)
    text = '{"name": "t", "arguments": { "a": 1e-9, "b":2.50 ,"c":"\\u00fc" }}'
    generation = _generation(text + begun.closing, begun.prefill)
    draft = Draft.of(generation, begun.prefill, begun, FENCED)
    assert draft is not None
    left = '{"name": "t", "arguments": { "a": 1e-9, "c":"\\u00fc" }}'
    assert draft.without({"b"}).text == left
    assert draft.without({"a", "b", "c"}).text == '{"name": "t", "arguments": {  }}'


@given(st.text() | st.recursive(st.just("1"), _objects, max_leaves=6))
@example('{"name": "t", "name": "t", "arguments": {}}')
@example('{"name": "t", "arguments": []}')
@example('{"arguments": {}, "name": "t"}')
def test_any_text_is_no_draft_or_one_that_can_be_read(text: str) -> None:
    opened = opening_of_any(FENCED)
    generation = _generation(text, opened.prefill)
    draft = Draft.of(generation, opened.prefill, opened, FENCED)
    assert draft is None or json.loads(draft.without(()).text)["name"] == draft.name
    chunk = as_given(generation, opened.prefill)
    assert chunk.prefill + chunk.text == generation.raw


def test_a_reply_that_was_not_begun_has_no_beginning() -> None:
    generation = Generation(raw="Fine.")
    assert (as_given(generation, "```tool_call\n").prefill, generation.raw) == ("", "Fine.")
