"""The transport in other processes: forked ones, ones that never close it, and the real engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import ollama
import pytest
from proxy_models import scripted_models
from proxy_servers import serving

import fallback
from fallback.engine.models import DEFAULT_MODEL
from fallback.limits import Limits
from fallback.testing import scripted_server

FORKED = """
import os, sys
import httpx
import fallback

def ask(client):
    messages = [{"role": "user", "content": "Where?"}]
    body = {"model": "text", "messages": messages, "stream": False, "tools": []}
    return client.post("/api/chat", json=body).json()["message"]["content"]

client = httpx.Client(base_url=sys.argv[1], transport=fallback.Transport())
before = ask(client)
opened = client.send(client.build_request("POST", "/api/embed", content=b"{}"), stream=True)
child = os.fork()
if child == 0:
    said = ask(client)
    try:
        opened.read()
    except httpx.ReadError as error:
        print(said, "|", error, flush=True)
    opened.close()
    client.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert opened.read() == b"{}"
print(before, "|", ask(client))
"""
LEFT_OPEN = """
import sys
import ollama
import fallback

client = ollama.Client(host=sys.argv[1], transport=fallback.Transport())
messages = [{"role": "user", "content": "Where?"}]
stream = client.chat("text", messages, stream=True)
print(next(stream).message.content)
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(scripted_server.create_app(scripted_models()), lifespan="off") as address:
        yield address


def output(code: str, url: str, *options: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, *options, "-c", code, url], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_process_has_connections_of_its_own(url: str) -> None:
    # Newer Pythons warn of any fork beside threads, which is what this is about.
    in_child, in_parent = output(FORKED, url, "-W", "ignore::DeprecationWarning")
    assert in_child.startswith("Paris is the capital. | ")
    assert "forked from" in in_child
    assert in_parent == "Paris is the capital. | Paris is the capital."


def test_a_program_that_closes_nothing_ends_all_the_same(url: str) -> None:
    assert output(LEFT_OPEN, url, "-W", "error") == ["Paris is"]


def test_what_is_needed_is_httpx_alone(url: str) -> None:
    blocked = "starlette uvicorn prometheus_client httpx_sse xllamacpp openai anthropic httpx2"
    code = f"import sys\nsys.modules.update(dict.fromkeys({blocked.split()!r}))\n{LEFT_OPEN}"
    assert output(code, url) == ["Paris is"]


@pytest.mark.engine
def test_the_embedded_engine_calls_a_tool_in_the_client_s_own_process() -> None:
    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    }
    function = {
        "name": "get_weather",
        "description": "Current weather of a city",
        "parameters": parameters,
    }
    tools: Any = [{"type": "function", "function": function}]
    messages = [{"role": "user", "content": "What is the weather in Oslo?"}]
    transport = fallback.Transport(upstream="embedded", limits=Limits(num_ctx=2048))
    with ollama.Client(transport=transport) as client:
        reply = client.chat(DEFAULT_MODEL, messages, tools=tools)
    (call,) = reply.message.tool_calls or ()
    said = {name: value.casefold() for name, value in call.function.arguments.items()}
    assert said == {"city": "oslo"}
