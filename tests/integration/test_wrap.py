"""``fallback.wrap``: the clients of ollama, openai and anthropic, made anew to go through us."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import httpx2
import ollama
import openai
import pytest
from proxy_models import scripted_models
from proxy_servers import Pair, serving

import fallback
import fallback.errors
from fallback.proxy.settings import ModelSettings, Settings
from fallback.testing import scripted_server

PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
ADD: Any = {"type": "function", "function": {"name": "add", "parameters": PARAMETERS}}
QUESTION: Any = {"role": "user", "content": "What is 1 + 2?"}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Pair]:
    with serving(scripted_server.create_app(scripted_models()), lifespan="off") as url:
        yield Pair(url, url)


@pytest.fixture(autouse=True)
def _forget(upstream: Pair) -> None:
    httpx.post(f"{upstream.url}/_reset", trust_env=False)


def test_ollama_s_client_as_it_was_has_no_tools_and_the_wrapped_one_has(upstream: Pair) -> None:
    plain = ollama.Client(host=upstream.url, headers={"X-Team": "a"}, timeout=9)
    inner, before = plain._client, dict(vars(plain))
    with fallback.wrap(plain) as wrapped:
        assert type(wrapped) is ollama.Client
        assert wrapped._client.timeout == httpx.Timeout(9)
        assert wrapped._client.headers == inner.headers
        (call,) = wrapped.chat("call", [QUESTION], tools=[ADD]).message.tool_calls or ()
        assert call.function.arguments == {"a": 1, "b": 2}
    assert vars(plain) == before
    assert not inner.is_closed
    with plain, pytest.raises(ollama.ResponseError, match="does not support tools"):
        plain.chat("call", [QUESTION], tools=[ADD])


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_openai_s_client_keeps_its_key_and_its_library(upstream: Pair, library: Any) -> None:
    http = library.Client(headers={"X-Team": "a"})
    url = f"{upstream.url}/v1"
    with openai.OpenAI(
        base_url=url, api_key="sk-1", organization="org-1", max_retries=7, http_client=http
    ) as plain:
        with fallback.wrap(plain) as wrapped:
            assert type(wrapped) is openai.OpenAI
            assert (wrapped.api_key, wrapped.max_retries) == ("sk-1", 7)
            assert isinstance(wrapped._client, library.Client)
            stream = wrapped.chat.completions.create(
                model="call", messages=[QUESTION], tools=[ADD], stream=True
            )
            calls = [c for chunk in stream for c in chunk.choices[0].delta.tool_calls or ()]
        assert [call.function.name for call in calls if call.function] == ["add"]
        assert plain._client is http
        assert not http.is_closed
    sent = upstream.seen()["requests"][-1]["headers"]
    assert (sent["authorization"], sent["openai-organization"]) == ("Bearer sk-1", "org-1")


def test_anthropic_s_client_can_be_wrapped(upstream: Pair) -> None:
    tool: Any = {"name": "add", "input_schema": PARAMETERS}
    with (
        anthropic.Anthropic(base_url=upstream.url, api_key="k") as plain,
        fallback.wrap(plain) as wrapped,
    ):
        reply = wrapped.messages.create(
            model="call", max_tokens=99, messages=[QUESTION], tools=[tool]
        )
    assert [block.type for block in reply.content] == ["tool_use"]


def test_asynchronous_clients_can_be_wrapped(upstream: Pair) -> None:
    settings = Settings(default=ModelSettings(num_ctx=2048))

    async def ask() -> None:
        plain = ollama.AsyncClient(host=upstream.url)
        wrapped = fallback.wrap(plain, settings=settings)
        assert type(wrapped) is ollama.AsyncClient
        reply = await wrapped.chat("call", [QUESTION], tools=[ADD])
        assert [call.function.name for call in reply.message.tool_calls or ()] == ["add"]
        await wrapped._client.aclose()
        await plain._client.aclose()
        async with (
            openai.AsyncOpenAI(base_url="http://127.0.0.1:9/v1", api_key="k") as theirs,
            fallback.wrap(theirs, upstream=upstream.url) as ours,
        ):
            said = await ours.chat.completions.create(model="text", messages=[QUESTION])
            assert said.choices[0].message.content == "Paris is the capital."

    asyncio.run(ask())
    assert upstream.generations()[0]["options"]["num_ctx"] == 2048
    assert all("authorization" not in r["headers"] for r in upstream.seen()["requests"])


def test_anything_else_is_refused_with_what_to_do() -> None:
    with httpx.Client() as client, pytest.raises(TypeError, match=r"transport=fallback\.Transport"):
        fallback.wrap(client)
    with (
        openai.OpenAI(api_key="k") as client_of_openai,
        pytest.raises(fallback.errors.ConfigurationError, match="no address"),
    ):
        fallback.wrap(client_of_openai, upstream="gopher://x")
    with pytest.raises(fallback.errors.ConfigurationError, match="belongs to one server"):
        fallback.Transport(settings=Settings(upstream_key="k"))
