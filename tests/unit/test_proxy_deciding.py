"""The adapter decides before a reply which tool it calls, where that was measured to be best."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from deciding_kit import Model, call
from profile_kit import measured
from scripted_upstream import Scripted

from fallback.backend import GenerationRequest
from fallback.errors import BackendConnectionError, BackendStatusError
from fallback.proxy.config import load_settings
from fallback.proxy.gateway import Gateway
from fallback.proxy.http import Incoming
from fallback.proxy.settings import ModelSettings, Settings

QUESTION = {"role": "user", "content": "What is it like in Oslo?"}
WEATHER = call("get_weather", '{"city": "Oslo"}')
TIME = call("get_time", '{"zone": "CET"}')
DECIDES = ModelSettings(mode="prompt", decide=True)


def tool(name: str, parameter: str) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {parameter: {"type": "string"}},
        "required": [parameter],
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [tool("get_weather", "city"), tool("get_time", "zone")]


class Client:
    """Asks one gateway, and keeps what it is told."""

    def __init__(self, upstream: Scripted, settings: Settings | ModelSettings = DECIDES) -> None:
        served: Any = upstream
        given = settings if isinstance(settings, Settings) else Settings(default=settings)
        self.gateway = Gateway(given, upstream=served)

    async def ask(self, **more: Any) -> dict[str, Any]:
        body = {"model": "m", "messages": [QUESTION], "tools": TOOLS, **more}

        async def pieces() -> AsyncIterator[bytes]:
            yield json.dumps(body).encode()

        reply = await self.gateway.handle(Incoming("POST", "/v1/chat/completions", body=pieces()))
        if isinstance(reply.body, bytes):
            answer: dict[str, Any] = json.loads(reply.body)
            return answer
        text = b"".join([piece async for piece in reply.body]).decode()
        lines = [line.removeprefix("data: ") for line in text.splitlines() if line]
        return {"deltas": [json.loads(line) for line in lines if line.startswith("{")]}


def asked(upstream: Scripted, settings: ModelSettings = DECIDES, **more: Any) -> dict[str, Any]:
    client = Client(upstream, settings)

    async def run() -> dict[str, Any]:
        return await client.ask(**more)

    answer = anyio.run(run)
    assert upstream.model.remaining == 0
    return answer


def calls(answer: dict[str, Any]) -> list[tuple[str, str]]:
    made = answer["choices"][0]["message"].get("tool_calls") or ()
    return [(c["function"]["name"], c["function"]["arguments"]) for c in made]


def streamed(answer: dict[str, Any]) -> list[tuple[int, str | None, str]]:
    parts = [
        part
        for chunk in answer["deltas"]
        for choice in chunk["choices"]
        for part in choice["delta"].get("tool_calls") or ()
    ]
    return [(p["index"], p["function"].get("name"), p["function"]["arguments"]) for p in parts]


def test_the_call_that_was_decided_on_is_begun_and_held_to_its_schema() -> None:
    upstream = Scripted(WEATHER, scores=Model("get_weather"))
    answer = asked(upstream)
    assert [name for name, _ in calls(answer)] == ["get_weather"]
    assert json.loads(calls(answer)[0][1]) == {"city": "Oslo"}
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    (request,) = upstream.model.requests
    assert request.prefill == "```tool_call\n"
    assert request.format is not None
    assert request.format["properties"]["name"] == {"const": "get_weather"}


def test_where_none_is_decided_on_no_tool_is_offered() -> None:
    upstream = Scripted("Fine.", scores=Model("none"))
    answer = asked(upstream)
    assert answer["choices"][0]["message"]["content"] == "Fine."
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert "get_weather" not in str(upstream.model.requests[0].messages)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("live", [False, True])
def test_several_calls_are_decided_on_one_after_the_other(stream: bool, live: bool) -> None:
    upstream = Scripted(WEATHER, TIME, scores=Model("get_weather", further=["get_time"]))
    client = Client(upstream, Settings(default=DECIDES, stream_arguments=live))

    async def run() -> dict[str, Any]:
        return await client.ask(stream=stream)

    answer = anyio.run(run)
    if not stream:
        assert [name for name, _ in calls(answer)] == ["get_weather", "get_time"]
        return
    told = streamed(answer)
    assert [(index, name) for index, name, _ in told if name] == [
        (0, "get_weather"),
        (1, "get_time"),
    ]
    for number, arguments in enumerate(({"city": "Oslo"}, {"zone": "CET"})):
        assert json.loads("".join(text for index, _, text in told if index == number)) == arguments
    last = answer["deltas"][-1]["choices"][0]["finish_reason"]
    assert last == "tool_calls"


GAMES: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "find_games",
        "parameters": {
            "type": "object",
            "properties": {"platform": {"type": "string"}, "genre": {"type": "string"}},
            "required": ["platform"],
        },
    },
}
LINUX, AMIGA = (
    call("find_games", json.dumps({"platform": platform, "genre": "Action"}))
    for platform in ("Linux", "Amiga")
)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("live", [False, True])
def test_arguments_that_nobody_asked_for_are_left_out(stream: bool, live: bool) -> None:
    model = Model("find_games", invented=["genre"], further=["find_games"])
    upstream = Scripted(LINUX, AMIGA, scores=model)
    client = Client(upstream, Settings(default=DECIDES, stream_arguments=live))

    async def run() -> dict[str, Any]:
        return await client.ask(stream=stream, tools=[GAMES])

    answer = anyio.run(run)
    made = [{"platform": "Linux"}, {"platform": "Amiga"}]
    if not stream:
        assert [json.loads(text) for _, text in calls(answer)] == made
    else:
        told = streamed(answer)
        assert [name for _, name, _ in told if name] == ["find_games"] * 2
        for number, arguments in enumerate(made):
            text = "".join(text for index, _, text in told if index == number)
            assert json.loads(text) == arguments
        assert answer["deltas"][-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert "Action" not in upstream.model.requests[1].prefill


def test_a_draft_costs_the_client_what_it_cost_once() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    upstream = Scripted(LINUX | {"usage": usage}, scores=Model("find_games"))
    told = asked(upstream, tools=[GAMES])
    assert [json.loads(text) for _, text in calls(told)] == [
        {"platform": "Linux", "genre": "Action"}
    ]
    assert (told["usage"]["prompt_tokens"], told["usage"]["completion_tokens"]) == (100, 7)


def test_a_draft_that_is_no_call_is_corrected_as_ever() -> None:
    broken = {"content": '{"name": "find_games", "arguments": {"genre": "Act', "prefilled": True}
    right = '```tool_call\n{"name": "find_games", "arguments": {"platform": "Linux"}}\n```'
    upstream = Scripted(
        broken | {"finish_reason": "length"}, right, scores=Model("find_games", invented=["genre"])
    )
    answer = asked(upstream, tools=[GAMES])
    assert calls(answer) == [("find_games", '{"platform": "Linux"}')]


def test_a_server_that_fails_to_say_leaves_a_call_as_it_was() -> None:
    model = Model("find_games")

    def scores(request: GenerationRequest, values: Sequence[str]) -> Any:
        if request.prefill.endswith('":'):
            raise BackendStatusError("broken", status=500)
        return model(request, values)

    answer = asked(Scripted(LINUX, scores=scores), tools=[GAMES])
    assert "Action" in calls(answer)[0][1]


def test_a_client_is_told_the_tokens_of_its_prompt_once() -> None:
    """Some clients go by them for their window, and deciding asks for the same prompt again."""
    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    replies = [{**reply, "usage": usage} for reply in (WEATHER, TIME)]
    upstream = Scripted(*replies, scores=Model("get_weather", further=["get_time"]))
    told = asked(upstream)["usage"]
    assert (told["prompt_tokens"], told["completion_tokens"]) == (100, 14)


def test_the_same_call_once_more_is_left_out() -> None:
    upstream = Scripted(WEATHER, WEATHER, scores=Model("get_weather", further=["get_weather"] * 3))
    assert len(calls(asked(upstream))) == 1


def test_calls_are_the_same_as_everywhere_else_in_the_loop() -> None:
    """Python takes 1 for true."""
    parameters = {"type": "object", "properties": {"to": {"type": ["integer", "boolean"]}}}
    switch = {"type": "function", "function": {"name": "switch", "parameters": parameters}}
    replies = [call("switch", '{"to": 1}'), call("switch", '{"to": true}')]
    upstream = Scripted(*replies, scores=Model("switch", further=["switch"]))
    assert len(calls(asked(upstream, tools=[switch]))) == 2


def test_one_call_at_a_time_is_one_call() -> None:
    upstream = Scripted(WEATHER, scores=Model("get_weather", further=["get_time"]))
    assert len(calls(asked(upstream, parallel_tool_calls=False))) == 1


RESULT = [
    QUESTION,
    {
        "role": "assistant",
        "tool_calls": [
            {
                "id": "c",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "7 degrees"},
]


@pytest.mark.parametrize(
    "more",
    [{"messages": RESULT}, {"tool_choice": "required"}, {"tool_choice": "none"}, {"tools": []}],
    ids=["behind a result", "required", "none", "no tools"],
)
def test_only_a_free_reply_to_a_question_is_decided(more: dict[str, Any]) -> None:
    model = Model("get_weather")
    reply = '```tool_call\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'
    asked(
        Scripted(reply if more.get("tool_choice") == "required" else "Fine.", scores=model),
        **more,
    )
    assert model.asked == []


def test_a_call_that_is_not_valid_is_corrected_freely() -> None:
    wrong = call("get_weather", '{"town": "Oslo"}')
    right = '```tool_call\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'
    upstream = Scripted(wrong, right, scores=Model("get_weather"))
    assert calls(asked(upstream)) == [("get_weather", '{"city": "Oslo"}')]
    assert upstream.model.requests[1].prefill == ""


def test_a_profile_says_so_with_its_margin(profile_folder: Path) -> None:
    way = {"way": "decide:4.9", "dialect": "fenced", "decide": 4.9}
    measured(profile_folder, **way)
    settings = ModelSettings()
    assert calls(asked(Scripted(WEATHER, scores=Model("get_weather")), settings))
    measured(profile_folder, **way | {"way": "decide:5.1", "decide": 5.1})
    assert not calls(asked(Scripted("Fine.", scores=Model("get_weather")), settings))
    off = replace(settings, decide=False)
    model = Model("get_weather")
    assert not calls(asked(Scripted("Fine.", scores=model), off))
    assert model.asked == []


def test_what_names_have_of_themselves_is_found_out_once() -> None:
    model = Model(*["get_weather"] * 5)
    nothing: list[str] = []

    def scores(request: GenerationRequest, values: Sequence[str]) -> Any:
        nothing.extend(m.content for m in request.messages if m.content == "N/A")
        return model(request, values)

    client = Client(Scripted(*[WEATHER] * 5, scores=scores))

    async def run() -> list[int]:
        asked = []
        for tools, rule in (
            (TOOLS, "It is 10:59."),
            (TOOLS, "It is 11:00."),
            (TOOLS, "Be brief."),
            ([*TOOLS, tool("get_v1", "id")], "Be brief."),
            ([*TOOLS, tool("get_v2", "id")], "Be brief."),
        ):
            messages = [{"role": "system", "content": rule}, QUESTION]
            await client.ask(messages=messages, tools=tools)
            asked.append(len(nothing))
        return asked

    assert anyio.run(run) == [1, 1, 2, 3, 4]


def test_a_server_that_tells_no_probabilities_is_asked_without(
    caplog: pytest.LogCaptureFixture,
) -> None:
    upstream = Scripted("Fine.", "Fine.")
    client = Client(upstream)

    async def run() -> list[str]:
        answers = [await client.ask(), await client.ask()]
        return [answer["choices"][0]["message"]["content"] for answer in answers]

    assert anyio.run(run) == ["Fine.", "Fine."]
    assert "get_weather" in upstream.model.requests[0].messages[0].content
    (line,) = caplog.messages
    assert line.startswith("m is asked without deciding first: the script has no scores")


@pytest.mark.parametrize(
    "error",
    [BackendConnectionError("gone"), BackendStatusError("no", status=500)],
    ids=["gone", "status"],
)
def test_where_a_decision_fails_the_model_says_itself_what_it_calls(error: Exception) -> None:
    def scores(request: GenerationRequest, values: Sequence[str]) -> Any:
        raise error

    upstream = Scripted("Fine.", scores=scores)
    answer = asked(upstream)
    assert answer["choices"][0]["message"]["content"] == "Fine."


def test_where_the_second_decision_fails_the_first_call_stands() -> None:
    model = Model("get_weather")

    def scores(request: GenerationRequest, values: Sequence[str]) -> Any:
        if "Oslo" in request.prefill:
            raise BackendConnectionError("gone")
        return model(request, values)

    assert len(calls(asked(Scripted(WEATHER, scores=scores)))) == 1


def test_a_server_that_does_not_let_a_reply_be_begun_is_asked_without() -> None:
    refused = BackendStatusError("no such schema", status=400)
    upstream = Scripted(refused, "Fine.", scores=Model("get_weather"))
    answer = asked(upstream)
    assert answer["choices"][0]["message"]["content"] == "Fine."
    assert [request.prefill for request in upstream.model.requests] == ["```tool_call\n", ""]


def test_it_is_a_setting_of_models(tmp_path: Path) -> None:
    config = tmp_path / "fallback.toml"
    config.write_text('[models."m"]\ndecide = true\n', encoding="utf-8")
    settings = load_settings(config, environ={})
    assert (settings.for_model("m").decide, settings.default.decide) == (True, None)
    assert load_settings(config, environ={"FALLBACK_DECIDE": "no"}).default.decide is False
