"""The official Python client of Ollama against the served engine, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import ollama
import pytest

pytestmark = pytest.mark.engine

CODER, SMALL = "qwen2.5-coder:0.5b", "smollm2:135m"
SHORT = {"temperature": 0, "num_predict": 8}
HELLO = [{"role": "user", "content": "Say hello."}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


@pytest.fixture
def client(engine_url: str) -> Iterator[ollama.Client]:
    client = ollama.Client(host=engine_url)
    yield client
    client._client.close()


def test_chat_answers_and_counts(client: ollama.Client) -> None:
    reply = client.chat(SMALL, HELLO, options=SHORT)

    assert reply.message.role == "assistant"
    assert reply.message.content
    assert reply.done
    assert reply.done_reason == "length"
    assert reply.eval_count == 8
    assert reply.prompt_eval_count is not None
    assert reply.prompt_eval_count > 8
    assert reply.total_duration is not None
    assert reply.eval_duration is not None
    assert 0 < reply.eval_duration < reply.total_duration


def test_a_streamed_chat_adds_up_to_the_whole_one(client: ollama.Client) -> None:
    whole = client.chat(SMALL, HELLO, options=SHORT)
    pieces = list(client.chat(SMALL, HELLO, options=SHORT, stream=True))

    assert "".join(piece.message.content or "" for piece in pieces) == whole.message.content
    assert len(pieces) > 4
    assert [piece.done for piece in pieces] == [False] * (len(pieces) - 1) + [True]


def test_generate_answers_whole_and_streamed(client: ollama.Client) -> None:
    whole = client.generate(SMALL, "Say hello.", system="Be brief.", options=SHORT)
    pieces = list(
        client.generate(SMALL, "Say hello.", system="Be brief.", options=SHORT, stream=True)
    )

    assert whole.response
    assert "".join(piece.response for piece in pieces) == whole.response
    assert pieces[-1].context == whole.context
    assert whole.context


def test_tools_are_offered_to_a_model_that_claims_them(client: ollama.Client) -> None:
    question = [{"role": "user", "content": "What is the weather in Oslo?"}]

    reply = client.chat(CODER, question, tools=[WEATHER], options={**SHORT, "num_predict": 40})

    # This model writes the call as text: what the whole package is for. Either way it is about
    # Oslo.
    calls = [call.function.arguments for call in reply.message.tool_calls or []]
    assert "Oslo" in (reply.message.content or "") or {"city": "Oslo"} in calls


def test_a_model_without_tools_is_refused_as_by_ollama(client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match=r"does not support\b[\s\S]*\btools\b") as caught:
        client.chat(SMALL, HELLO, tools=[WEATHER])

    assert caught.value.status_code == 400


def test_list_and_show_describe_the_models(client: ollama.Client) -> None:
    listed = {model.model: model for model in client.list().models}
    shown = client.show(CODER)

    assert {CODER, SMALL} <= set(listed)
    assert listed[SMALL].size == 98_362_432
    assert listed[SMALL].details is not None
    assert listed[SMALL].details.family == "llama"
    assert shown.capabilities == ["completion", "tools"]
    assert shown.details is not None
    assert shown.details.family == "qwen2"
    assert shown.template is not None
    assert "<|im_start|>" in shown.template
    assert shown.modelinfo is not None
    assert shown.modelinfo["qwen2.context_length"] == 32768
    assert "tokenizer.chat_template" not in shown.modelinfo


def test_ps_shows_what_is_loaded_and_with_which_window(client: ollama.Client) -> None:
    client.generate(SMALL, "Hi", options={**SHORT, "num_ctx": 512}, keep_alive="5m")
    (loaded,) = client.ps().models

    assert (loaded.model, loaded.context_length) == (SMALL, 512)

    client.generate(SMALL, keep_alive=0)
    assert client.ps().models == []


def test_an_unknown_model_is_a_404(client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match="model 'nope' not found") as caught:
        client.chat("nope", HELLO)

    assert caught.value.status_code == 404


def test_what_the_engine_does_not_have_is_a_404(client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match="404 page not found"):
        client.embed(SMALL, "text")


@pytest.mark.anyio
async def test_the_async_client_works_too(engine_url: str) -> None:
    client = ollama.AsyncClient(host=engine_url)

    pieces = [piece async for piece in await client.chat(SMALL, HELLO, options=SHORT, stream=True)]
    await client._client.aclose()

    assert pieces[-1].done
    assert any(piece.message.content for piece in pieces)


def test_a_client_that_hangs_up_frees_the_model(engine_url: str) -> None:
    endless = {"model": SMALL, "prompt": "1 2 3 4 5", "raw": True, "options": {"temperature": 0}}
    with (
        httpx.Client(base_url=engine_url, timeout=120) as client,
        client.stream("POST", "/api/generate", json=endless) as response,
    ):
        next(response.iter_lines())

    # Ten windows of tokens take many minutes: this answer comes only if that was stopped.
    reply = httpx.post(
        f"{engine_url}/api/generate",
        json={**endless, "options": SHORT, "stream": False},
        timeout=120,
    )
    assert reply.json()["eval_count"] == 8
