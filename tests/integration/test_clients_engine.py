"""Clients of other people, the adapter, and the embedded model: nothing here is scripted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import ollama
import openai
import pytest
from proxy_models import WEATHER
from serving_child import serving_child

from fallback.engine import models

pytestmark = pytest.mark.engine

QUESTION: Any = {"role": "user", "content": "What is the weather in Oslo?"}


def get_weather(city: str) -> str:
    return f"In {city} it is 4 degrees Celsius and raining."


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``fallback serve`` in a process of its own."""
    models.pull(models.DEFAULT_MODEL)
    folder = tmp_path_factory.mktemp("server")
    settings = folder / "fallback.toml"
    settings.write_text('[default]\nmode = "prompt"\nnum_ctx = 2048\n', encoding="utf-8")
    command = [sys.executable, "-m", "fallback", "serve", "--port", "0", "--upstream", "embedded"]
    with (
        (folder / "log").open("wb") as log,
        serving_child([*command, "--config", settings], stderr=log) as (url, process),
    ):
        yield url
        process.terminate()
        assert process.wait(60) == 0


def test_ollama_s_client_asks_calls_and_is_answered(url: str) -> None:
    client = ollama.Client(host=url)
    options = {"temperature": 0, "num_predict": 96}
    try:
        asked = {"model": models.DEFAULT_MODEL, "tools": [WEATHER], "options": options}
        first = client.chat(messages=[QUESTION], **asked).message
        (call,) = first.tool_calls or ()
        assert (call.function.name, dict(call.function.arguments)) == (
            "get_weather",
            {"city": "Oslo"},
        )
        result = {"role": "tool", "content": get_weather(**call.function.arguments)}
        last = client.chat(messages=[QUESTION, first, result], **asked).message
    finally:
        client._client.close()
    assert not last.tool_calls
    assert "4" in (last.content or "")


def test_openai_s_client_asks_calls_and_is_answered_in_a_stream(url: str) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        asked: dict[str, Any] = {
            "model": models.DEFAULT_MODEL,
            "tools": [WEATHER],
            "temperature": 0,
            "max_completion_tokens": 96,
        }
        with client.chat.completions.stream(messages=[QUESTION], **asked) as stream:
            first = stream.get_final_completion().choices[0]
        assert first.finish_reason == "tool_calls"
        (call,) = first.message.tool_calls or ()
        arguments = json.loads(call.function.arguments)
        assert (call.function.name, arguments) == ("get_weather", {"city": "Oslo"})
        said = {"role": "tool", "tool_call_id": call.id, "content": get_weather(**arguments)}
        told: Any = first.message.to_dict()
        told["tool_calls"] = [c.to_dict() for c in first.message.tool_calls or ()]
        history: Any = [QUESTION, told, said]
        with client.chat.completions.stream(messages=history, **asked) as stream:
            last = stream.get_final_completion().choices[0]
    assert last.finish_reason == "stop"
    assert "4" in (last.message.content or "")
