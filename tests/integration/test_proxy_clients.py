"""The plain clients of Ollama and OpenAI against the adapter, with a scripted upstream."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import httpx
import ollama
import openai
import pytest
from proxy_models import ADD, QUESTION, scripted_models
from proxy_servers import Pair, pair


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    with pair(scripted_models(), silence_seconds=0.05, grace_seconds=0.3) as running:
        yield running


@pytest.fixture(autouse=True)
def _forget(servers: Pair) -> None:
    httpx.post(f"{servers.upstream}/_reset", trust_env=False)


@pytest.fixture
def chat(servers: Pair) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{servers.url}/v1", api_key="any", max_retries=0) as client:
        yield client


@pytest.fixture
def native(servers: Pair) -> Iterator[ollama.Client]:
    client = ollama.Client(host=servers.url)
    yield client
    client._client.close()


def streamed(client: openai.OpenAI, model: str, **more: Any) -> Any:
    """What a stream adds up to: text, calls, finish reason, usage."""
    text, calls, reason, usage = "", {}, None, None
    for chunk in client.chat.completions.create(
        model=model, messages=[QUESTION], stream=True, **more
    ):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
            for call in choice.delta.tool_calls or ():
                assert call.index not in calls
                calls[call.index] = call
    return text, [calls[index] for index in sorted(calls)], reason, usage


# S1: discovery


def test_models_are_listed_with_tools_and_their_own_names(native: ollama.Client) -> None:
    listed = {model.model for model in native.list().models}
    assert "text:latest" in listed
    assert native.show("text").capabilities == ["completion", "tools"]


def test_openai_s_list_is_the_one_of_the_server(chat: openai.OpenAI) -> None:
    assert "call" in [model.id for model in chat.models.list()]


# S2: text


@pytest.mark.parametrize("tools", [[], [ADD]])
def test_text_comes_through_exactly_in_one_request(
    servers: Pair, chat: openai.OpenAI, native: ollama.Client, tools: Any
) -> None:
    wanted = "Paris is the capital."
    assert streamed(chat, "text", tools=tools or openai.omit)[0] == wanted
    reply = chat.chat.completions.create(model="text", messages=[QUESTION], tools=tools)
    assert reply.choices[0].message.content == wanted
    assert native.chat("text", [QUESTION], tools=tools).message.content == wanted
    pieces = list(native.chat("text", [QUESTION], tools=tools, stream=True))
    assert "".join(piece.message.content or "" for piece in pieces) == wanted
    assert len(pieces) > 1  # what arrives together goes on together
    assert pieces[-1].done
    assert pieces[-1].eval_count == 20
    assert len(servers.generations()) == 4


# S3 and S4: calls


@pytest.mark.parametrize("model", ["call", "native", "claims", "breaks", "slips", "thinks"])
@pytest.mark.parametrize("stream", [True, False])
def test_openai_s_client_gets_a_call_and_answers_it(
    chat: openai.OpenAI, model: str, stream: bool
) -> None:
    if stream:
        _, (call,), reason, _ = streamed(chat, model, tools=[ADD])
    else:
        reply = chat.chat.completions.create(model=model, messages=[QUESTION], tools=[ADD])
        (call,) = reply.choices[0].message.tool_calls or ()
        reason = reply.choices[0].finish_reason
    assert reason == "tool_calls"
    assert (call.function.name, json.loads(call.function.arguments)) == ("add", {"a": 1, "b": 2})
    assert call.id


def test_two_rounds_of_openai_s_client_are_two_generations(
    servers: Pair, chat: openai.OpenAI
) -> None:
    first = chat.chat.completions.create(model="two", messages=[QUESTION], tools=[ADD])
    said = first.choices[0].message
    results: Any = [
        {"role": "tool", "tool_call_id": call.id, "content": f"result of {call.id}"}
        for call in reversed(said.tool_calls or [])
    ]
    history: Any = [QUESTION, said.to_dict(), *results]
    second = chat.chat.completions.create(model="two", messages=history, tools=[ADD])
    assert second.choices[0].message.content == "3 and 7."
    asked, told = servers.generations()
    assert len({call.id for call in said.tool_calls or []}) == 2
    for result in results:
        assert result["content"] in told["prompt"]
    beginning = asked["prompt"].partition("What is 1 + 2?")[0]
    assert len(beginning) > 100
    assert told["prompt"].startswith(beginning)


def test_ollama_s_client_knows_results_by_their_order_alone(
    servers: Pair, native: ollama.Client
) -> None:
    reply = native.chat("two", [QUESTION], tools=[ADD])
    calls = reply.message.tool_calls or []
    assert [dict(call.function.arguments) for call in calls] == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    results = [{"role": "tool", "content": text} for text in ("three", "seven")]
    final = native.chat("two", [QUESTION, reply.message, *results], tools=[ADD])
    assert final.message.content == "3 and 7."
    prompt = servers.generations()[1]["prompt"]
    assert prompt.index("three") < prompt.index("seven")


def test_ollama_s_client_gets_one_line_for_each_call(native: ollama.Client) -> None:
    lines = list(native.chat("two", [QUESTION], tools=[ADD], stream=True))
    lines = [line for line in lines if line.message.tool_calls or line.done]  # or kept alive
    assert [len(line.message.tool_calls or ()) for line in lines] == [1, 1, 0]
    assert lines[-1].done
    assert lines[-1].done_reason == "stop"


# S5, S6 and S7


def test_text_before_a_call_and_reasoning_keep_their_places(chat: openai.OpenAI) -> None:
    text, calls, _, _ = streamed(chat, "prose", tools=[ADD])
    assert text == "Let me add."
    assert len(calls) == 1
    assert streamed(chat, "thinks", tools=[ADD])[0] == ""


def test_an_unknown_tool_is_never_passed_on(chat: openai.OpenAI) -> None:
    text, calls, reason, _ = streamed(chat, "unknown", tools=[ADD])
    assert not calls
    assert reason == "stop"
    assert "subtract" in text


# S13: tools are gone, the history still has them


def test_a_history_with_calls_is_answered_without_tools(servers: Pair, chat: openai.OpenAI) -> None:
    past = {"id": "c1", "type": "function", "function": {"name": "gone", "arguments": '{"x": 1'}}
    history: Any = [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [past]},
        {"role": "tool", "tool_call_id": "c1", "content": "the result"},
    ]
    reply = chat.chat.completions.create(model="text", messages=history)
    assert reply.choices[0].message.content == "Paris is the capital."
    told = json.dumps(servers.generations()[0])
    assert "no JSON object" in told
    assert "the result" in told


# S15 and S16: trouble


@pytest.mark.parametrize("model", ["dies", "errs", "broken"])
def test_a_failure_in_the_text_ends_the_stream_as_an_error(
    chat: openai.OpenAI, native: ollama.Client, model: str
) -> None:
    with pytest.raises(openai.APIError):
        streamed(chat, model, tools=[ADD])
    with pytest.raises(ollama.ResponseError):
        list(native.chat(model, [QUESTION], tools=[ADD], stream=True))


@pytest.mark.parametrize(("model", "status"), [("dead", 502), ("busy", 503), ("long", 400)])
@pytest.mark.parametrize("stream", [True, False])
def test_a_failure_before_the_text_is_a_status(
    chat: openai.OpenAI, native: ollama.Client, model: str, status: int, stream: bool
) -> None:
    with pytest.raises(openai.APIStatusError) as told:
        chat.chat.completions.create(model=model, messages=[QUESTION], tools=[ADD], stream=stream)
    assert told.value.status_code == status
    with pytest.raises(ollama.ResponseError) as heard:
        list(native.chat(model, [QUESTION], tools=[ADD], stream=stream))
    assert heard.value.status_code == status


def test_half_a_call_is_never_run(chat: openai.OpenAI) -> None:
    with pytest.raises(openai.APIError):
        streamed(chat, "half", tools=[ADD])


def test_a_model_that_is_not_there_is_not_found(chat: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="nothing-like-it"):
        chat.chat.completions.create(model="nothing-like-it", messages=[QUESTION], tools=[ADD])


def test_the_refusal_of_tools_is_never_seen(servers: Pair, chat: openai.OpenAI) -> None:
    assert streamed(chat, "call", tools=[ADD])[2] == "tool_calls"
    assert all("tools" not in body for body in servers.generations())


# S18: nothing, and too little


def test_nothing_and_too_little_end_cleanly(chat: openai.OpenAI) -> None:
    assert streamed(chat, "empty", tools=[ADD])[2] == "stop"
    assert streamed(chat, "cut", tools=[ADD])[::2] == ("Paris is the", "length")


# S19: the client goes away


def test_a_client_that_leaves_ends_the_generation(servers: Pair) -> None:
    body = {"model": "silent", "messages": [QUESTION], "tools": [ADD], "stream": True}
    before = servers.seen()["broken_off"]
    with httpx.stream(
        "POST", f"{servers.url}/v1/chat/completions", json=body, trust_env=False
    ) as response:
        lines = response.iter_lines()
        assert json.loads(next(lines).removeprefix("data: "))["choices"][0]["delta"]["role"]
        kept_alive = [next(lines) for _ in range(4)]  # and it is kept alive meanwhile
        assert any('"content": ""' in line for line in kept_alive)
        assert servers.seen()["open"] == 1
    for _ in range(100):
        if servers.seen()["broken_off"] > before:
            break
    assert servers.seen()["open"] == 0


def test_a_client_that_leaves_ends_a_generation_that_is_passed_through(servers: Pair) -> None:
    body = json.dumps({"model": "silent", "prompt": "Hi", "stream": False})
    connection = http.client.HTTPConnection(servers.url.removeprefix("http://"), timeout=60)
    connection.request("POST", "/api/generate", body)
    assert any(servers.seen()["open"] == 1 for _ in range(1000))
    connection.close()
    assert any(servers.seen()["open"] == 0 for _ in range(1000))


# S20: the window


def test_the_window_holds_the_prompt_and_stays_as_it_is(servers: Pair, chat: openai.OpenAI) -> None:
    long: Any = {"role": "system", "content": "Be good. " * 6000}
    for _ in range(2):
        chat.chat.completions.create(
            model="text", messages=[long, QUESTION], tools=[ADD], max_tokens=32_000
        )
    chat.chat.completions.create(model="text", messages=[QUESTION])
    bodies = servers.generations()
    assert {body["options"]["num_ctx"] for body in bodies} == {32_768}
    assert all(body["truncate"] is False for body in bodies)


# S22: what nobody expects


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/chat"])
def test_unknown_fields_roles_parts_and_headers_change_nothing(servers: Pair, path: str) -> None:
    body = {
        "model": "text",
        "stream": False,
        "messages": [
            {"role": "system", "content": "x-anthropic-billing-header: cc_version=1;"},
            {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "narrator", "content": [{"type": "hologram", "text": "Hello"}, 3, None]},
            {"role": "assistant", "content": None, "tool_calls": [7, {}, {"function": "x"}]},
            {"role": "tool", "content": [{"type": "text", "text": "r"}], "tool_call_id": 9},
            QUESTION,
        ],
        "tools": [ADD, {"type": "web_search"}, {"type": "function"}, 5, {"name": "bad name!"}],
        "store": True,
        "metadata": {"a": [1]},
        "options": None,
    }
    reply = servers.post(path, body, **{"x-stainless-lang": "python", "anthropic-beta": "a"})
    assert reply.status_code == 200, reply.text
    assert "billing" not in json.dumps(servers.generations())


# Everything else passes through


def test_other_paths_pass_through_byte_for_byte(servers: Pair) -> None:
    body = b'{"model": "text",   "input": ["\xc3\xa9"], "odd": 1}'
    for path in ("/api/embed", "/v1/embeddings"):
        reply = httpx.post(servers.url + path, content=body, trust_env=False)
        assert reply.content == body
    assert httpx.get(f"{servers.url}/api/version", trust_env=False).json() == {"version": "0.33.0"}
    raw = {"model": "text", "prompt": "x", "stream": True}
    assert servers.post("/api/generate", raw).text.count("\n") == 4


def test_unknown_paths_are_json(servers: Pair) -> None:
    for path in ("/api/nothing", "/v1/nothing", "/nothing"):
        reply = httpx.get(servers.url + path, trust_env=False)
        assert reply.status_code == 404
        assert "error" in reply.json()
    assert httpx.get(servers.url, trust_env=False).status_code == 200


def test_credentials_and_origins_stay_here(servers: Pair) -> None:
    headers = {"Authorization": "Bearer mine", "x-api-key": "mine", "Cookie": "a=b"}
    httpx.post(f"{servers.url}/api/embed", json={}, headers=headers, trust_env=False)
    (seen,) = servers.seen()["requests"]
    assert "mine" not in json.dumps(seen)
    assert "cookie" not in seen["headers"]


def test_tools_that_a_client_leaves_out_behind_a_result_are_still_there(servers: Pair) -> None:
    told = {"model": "two", "messages": [QUESTION], "tools": [ADD], "stream": False}
    first = servers.post("/api/chat", told).json()["message"]
    history = [QUESTION, first, *({"role": "tool", "content": "x"} for _ in first["tool_calls"])]
    body = {"model": "call", "messages": history, "stream": False}
    assert "tool_calls" not in servers.post("/api/chat", body).json()["message"]
    httpx.post(f"{servers.upstream}/_reset", trust_env=False)
    again = servers.post("/api/chat", body | {"model": "two"}).json()["message"]
    assert [call["function"]["name"] for call in again["tool_calls"]] == ["add", "add"]
    httpx.post(f"{servers.upstream}/_reset", trust_env=False)
    none = servers.post("/api/chat", body | {"model": "two", "tools": []}).json()["message"]
    assert "tool_calls" not in none


def test_strict_templates_get_turns_that_alternate(servers: Pair) -> None:
    messages: Any = [
        {"role": "system", "content": "One."},
        {"role": "developer", "content": "Two."},
        {"role": "user", "content": "Three."},
        {"role": "system", "content": "Four."},
        {"role": "tool", "content": "Nobody asked.", "tool_call_id": "c9"},
        {"role": "assistant", "content": "Five."},
        {"role": "assistant", "content": "Six."},
        QUESTION,
    ]
    reply = servers.post("/v1/chat/completions", {"model": "native", "messages": messages})
    assert reply.status_code == 200
    (body,) = servers.generations()
    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "user"]
    assert body["messages"][0]["content"] == "One.\n\nTwo."
