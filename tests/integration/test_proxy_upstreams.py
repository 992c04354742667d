"""Other servers behind the adapter: those of OpenAI's wire, and the embedded engine."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from proxy_models import ADD, QUESTION, WEATHER
from proxy_servers import Pair, serving

from fallback.engine.core import Engine
from fallback.engine.models import DEFAULT_MODEL
from fallback.proxy import create_app
from fallback.proxy.settings import ModelSettings, Settings
from fallback.testing import scripted_server
from fallback.testing.scripted_server import Model, Reply

CALL = '```tool_call\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n```'


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    models = {
        "call": Model(replies=[Reply(text=f"Let me add. {CALL}", thinking="hm")]),
        "text": Model(replies=[Reply(text="Three.", reason="length")]),
        "errs": Model(replies=[Reply(text="Thr", fault="error_in_text")]),
        "half": Model(replies=[Reply(text="Thr", fault="unfinished")]),
        "long": Model(replies=[Reply(fault="too_long")]),
    }
    with serving(scripted_server.create_app(models), lifespan="off") as upstream:
        settings = Settings(
            upstream=f"{upstream}/v1", upstream_key="theirs", api_keys=("ours-and-long",)
        )
        with serving(create_app(settings)) as url:
            yield Pair(url, upstream)


@pytest.fixture
def chat(servers: Pair) -> Iterator[openai.OpenAI]:
    url = f"{servers.url}/v1"
    with openai.OpenAI(base_url=url, api_key="ours-and-long", max_retries=0) as client:
        yield client


@pytest.fixture(autouse=True)
def _forget(servers: Pair) -> None:
    httpx.post(f"{servers.upstream}/_reset", trust_env=False)


def test_a_server_without_tools_gets_a_prompt_and_gives_calls(
    servers: Pair, chat: openai.OpenAI
) -> None:
    reply = chat.chat.completions.create(
        model="call", messages=[QUESTION], tools=[ADD], seed=7, max_tokens=99
    )
    said = reply.choices[0].message
    (call,) = said.tool_calls or ()
    assert json.loads(call.function.arguments) == {"a": 1, "b": 2}
    assert said.content == "Let me add."
    assert (said.model_extra or {})["reasoning"] == "hm"
    (seen,) = servers.seen()["requests"]
    assert "tools" not in seen["body"]
    assert (seen["body"]["seed"], seen["body"]["max_tokens"]) == (7, 99)
    assert "tool_call" in seen["body"]["messages"][0]["content"]


def test_each_server_is_shown_its_own_key_only(servers: Pair, chat: openai.OpenAI) -> None:
    chat.chat.completions.create(model="text", messages=[QUESTION])
    servers.post("/v1/embeddings", {}, authorization="Bearer ours-and-long")
    seen = servers.seen()["requests"]
    assert {request["headers"]["authorization"] for request in seen} == {"Bearer theirs"}
    assert "ours-and-long" not in json.dumps(seen)


def test_usage_and_a_length_stop_come_through(chat: openai.OpenAI) -> None:
    reply = chat.chat.completions.create(model="text", messages=[QUESTION])
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (50, 20)


def test_images_go_along_as_this_wire_has_them(servers: Pair, chat: openai.OpenAI) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    far = {"type": "image_url", "image_url": {"url": "https://elsewhere.example/x.png"}}
    content: Any = [{"type": "text", "text": "What is this?"}, image, far]
    chat.chat.completions.create(model="text", messages=[{"role": "user", "content": content}])
    (seen,) = servers.seen()["requests"]
    text, sent = seen["body"]["messages"][-1]["content"]
    assert sent["image_url"]["url"] == "data:image/png;base64,iVBORw0KGgo="
    assert "not fetched" in text["text"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", ["errs", "half"])
def test_a_reply_that_breaks_off_is_an_error(chat: openai.OpenAI, model: str, stream: bool) -> None:
    def ask() -> None:
        reply: Any = chat.chat.completions.create(model=model, messages=[QUESTION], stream=stream)
        list(reply)

    with pytest.raises(openai.APIError):
        ask()


def test_errors_of_the_server_keep_their_meaning(chat: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as told:
        chat.chat.completions.create(model="long", messages=[QUESTION])
    assert told.value.code == "context_length_exceeded"
    with pytest.raises(openai.NotFoundError):
        chat.chat.completions.create(model="none", messages=[QUESTION])


def test_clients_of_ollama_find_the_models_too(servers: Pair) -> None:
    key = {"x-api-key": "ours-and-long"}
    tags = httpx.get(f"{servers.url}/api/tags", headers=key, trust_env=False).json()
    assert {model["name"] for model in tags["models"]} >= {"call", "text"}
    assert all("tools" in model["capabilities"] for model in tags["models"])
    assert "tools" in servers.post("/api/show", {"name": "call"}, **key).json()["capabilities"]
    body = {"model": "call", "messages": [QUESTION], "tools": [ADD], "stream": False}
    message = servers.post("/api/chat", body, **key).json()["message"]
    assert message["tool_calls"][0]["function"]["arguments"] == {"a": 1, "b": 2}


def test_native_mode_is_refused_where_the_server_s_tools_are_not_used(servers: Pair) -> None:
    settings = Settings(upstream=f"{servers.upstream}/v1", default=ModelSettings(mode="native"))
    with serving(create_app(settings)) as url:
        body = {"model": "call", "messages": [QUESTION], "tools": [ADD]}
        reply = httpx.post(f"{url}/v1/chat/completions", json=body, trust_env=False)
    assert reply.status_code == 400
    assert "prompt or auto" in reply.json()["error"]["message"]


@pytest.mark.engine
def test_the_embedded_engine_answers_behind_the_adapter(engine: Engine) -> None:
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(serving(create_app(Settings(upstream="embedded"))))
        client = stack.enter_context(
            openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0)
        )
        assert DEFAULT_MODEL in [model.id for model in client.models.list()]
        reply = client.chat.completions.create(
            model=DEFAULT_MODEL,
            messages=[{"role": "user", "content": "What is 1234 + 4321? Use the tool."}],
            tools=[ADD],
            tool_choice="required",
        )
    (call,) = reply.choices[0].message.tool_calls or ()
    assert json.loads(call.function.arguments) == {"a": 1234, "b": 4321}
    assert reply.usage is not None
    assert reply.usage.prompt_tokens > 50


@pytest.mark.engine
def test_the_adapter_decides_on_several_calls_of_a_real_model(engine: Engine) -> None:
    """Asked freely, the model writes one call with the city twice, of which nothing may run."""
    default = ModelSettings(mode="prompt", decide=True)
    settings = Settings(upstream="embedded", default=default)
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(serving(create_app(settings)))
        client = stack.enter_context(
            openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0)
        )

        stream = client.chat.completions.create(
            model=DEFAULT_MODEL,
            messages=[{"role": "user", "content": "What is the weather in Oslo and in Bergen?"}],
            tools=[WEATHER],
            stream=True,
        )
        deltas = [choice.delta for chunk in stream for choice in chunk.choices]
    told = [call.function for delta in deltas for call in delta.tool_calls or ()]
    calls = [json.loads(call.arguments or "{}") for call in told if call is not None]
    assert [call["city"].casefold() for call in calls] == ["oslo", "bergen"]
