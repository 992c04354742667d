"""Requests that are refused before any model is needed, through the engine's one entrance."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from fallback.engine.core import VERSION, Engine
from fallback.engine.registry import Registry
from fallback.engine.reply import encode, timestamp
from fallback.engine.store import Store
from fallback.engine.transport import AsyncEngineTransport, EngineTransport
from fallback.engine.wire import read_chat

Writer = Callable[..., Path]
RAW = "raw mode does not support template, system, or context"
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.fixture
def client(tmp_path: Path) -> httpx.Client:
    """A client of an engine that has no models but local files."""
    engine = Engine(Store(tmp_path, registry=Registry([])))
    return httpx.Client(transport=EngineTransport(engine), base_url="http://embedded")


@pytest.fixture
def model(write_gguf: Writer) -> str:
    """A model with a header and no weights: whatever needs no weights works with it."""
    return str(write_gguf(tokenizer__chat_template="{{ messages }}"))


def refusal(client: httpx.Client, path: str, body: Any) -> tuple[int, str]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = client.post(path, content=content)
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    return response.status_code, response.json()["error"]


def test_the_small_endpoints_answer_as_ollama_does(client: httpx.Client) -> None:
    root = client.get("/")

    assert (root.text, root.headers["content-type"]) == (
        "Ollama is running",
        "text/plain; charset=utf-8",
    )
    assert client.get("/api/version").json() == {"version": VERSION}
    assert client.get("/api/tags").json() == {"models": []}
    assert client.get("/api/ps").json() == {"models": []}


@pytest.mark.parametrize("path", ["/api/embed", "/api/embeddings", "/v1/models", "/nope", "/api"])
def test_an_unknown_path_is_plain_text_404(client: httpx.Client, path: str) -> None:
    response = client.post(path, json={"model": "x"})

    assert (response.status_code, response.text) == (404, "404 page not found")


def test_the_wrong_method_is_plain_text_405(client: httpx.Client) -> None:
    for method, path in (("GET", "/api/chat"), ("POST", "/api/tags"), ("DELETE", "/")):
        response = client.request(method, path)
        assert (response.status_code, response.text) == (405, "405 method not allowed")


def test_head_has_the_status_and_no_body(client: httpx.Client) -> None:
    response = client.head("/")

    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize("path", ["/api/generate", "/api/chat", "/api/show"])
def test_a_body_that_is_not_an_object_is_400(client: httpx.Client, path: str) -> None:
    assert refusal(client, path, b"") == (400, "missing request body")
    for body in (b"{", b"[1]", b"nope", b'{"model": NaN}', b"[" * 100_000, b"\xff\xfe"):
        assert refusal(client, path, body)[0] == 400


def test_a_model_that_is_not_here_is_named_as_it_was_sent(client: httpx.Client) -> None:
    assert refusal(client, "/api/generate", {"model": "nope"}) == (404, "model 'nope' not found")
    assert refusal(client, "/api/generate", {}) == (404, "model '' not found")
    assert refusal(client, "/api/chat", {"model": "nope"}) == (404, "model 'nope' not found")
    assert refusal(client, "/api/chat", {}) == (400, "model is required")
    assert refusal(client, "/api/show", {"model": "nope"}) == (404, "model 'nope:latest' not found")
    assert refusal(client, "/api/show", {"name": ""}) == (400, "model is required")


@pytest.mark.parametrize(
    ("fields", "status", "text"),
    [
        ({"raw": True, "system": "s"}, 400, RAW),
        ({"raw": True, "context": [1]}, 400, RAW),
        ({"raw": True, "template": "t"}, 400, RAW),
        ({"template": "{{ .Prompt }}"}, 400, "no Go template engine"),
        ({"top_logprobs": 21}, 400, "top_logprobs must be between 0 and 20"),
        ({"top_logprobs": -1}, 400, "top_logprobs must be between 0 and 20"),
        ({"format": "yaml"}, 500, 'invalid format: "\\"yaml\\""; expected "json" or a valid JSON'),
        ({"format": [1]}, 500, 'invalid format: "[1]"; expected "json" or a valid JSON Schema'),
        (
            {"think": "ultra"},
            400,
            'invalid think value: "ultra" (must be "high", "medium", "low", "max", true, or false)',
        ),
        ({"keep_alive": "soon"}, 400, 'time: invalid duration "soon"'),
        ({"options": {"num_ctx": "x"}}, 500, 'option "num_ctx" must be of type integer'),
        ({"prompt": 3}, 400, "number into Go struct field GenerateRequest.prompt of type string"),
        ({"stream": "yes"}, 400, "string into Go struct field GenerateRequest.stream of type bool"),
        ({"options": []}, 400, "array into Go struct field GenerateRequest.options"),
        ({"context": ["a"]}, 400, "GenerateRequest.context"),
    ],
)  # fmt: skip
def test_a_bad_field_of_generate_has_ollamas_status_and_text(
    client: httpx.Client, model: str, fields: dict[str, Any], status: int, text: str
) -> None:
    got, message = refusal(client, "/api/generate", {"model": model, "prompt": "p", **fields})

    assert got == status
    assert text in message


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "content of type string"),
        ({"messages": ["hi"]}, "ChatRequest.messages of type api.Message"),
        ({"messages": {"role": "user"}}, "cannot unmarshal object into Go struct field"),
        (
            {
                "messages": [
                    {"role": "assistant", "tool_calls": [{"function": {"arguments": "{}"}}]}
                ]
            },
            "Value looks like object, but can't find closing '}' symbol",
        ),
        ({"messages": [{"role": "assistant", "tool_calls": [7]}]}, "api.ToolCall"),
        ({"tools": ["f"]}, "api.Tool"),
    ],
)
def test_a_bad_message_is_400(
    client: httpx.Client, model: str, fields: dict[str, Any], text: str
) -> None:
    status, message = refusal(client, "/api/chat", {"model": model, **fields})

    assert status == 400
    assert text in message


def test_what_the_model_cannot_do_is_said_before_it_is_loaded(
    client: httpx.Client, write_gguf: Writer, model: str
) -> None:
    embedding = str(write_gguf("embedding.gguf", toy__pooling_type=1))
    message = {"role": "user", "content": "hi"}
    ask = {"model": model, "messages": [message]}

    assert refusal(client, "/api/chat", {**ask, "tools": [TOOL]}) == (
        400,
        f"{model} does not support tools",
    )
    assert refusal(client, "/api/chat", {**ask, "think": True}) == (
        400,
        f'"{model}" does not support thinking',
    )
    assert refusal(client, "/api/generate", {"model": embedding, "prompt": "x"}) == (
        400,
        f'"{embedding}" does not support generate',
    )
    assert refusal(client, "/api/chat", {**ask, "model": embedding}) == (
        400,
        f'"{embedding}" does not support chat',
    )


def test_pictures_and_suffixes_are_refused_as_missing_capabilities(client: httpx.Client) -> None:
    picture = {"role": "user", "content": "", "images": ["aGk="]}
    name = "registry.ollama.ai/library/smollm2:135m"

    assert refusal(client, "/api/generate", {"model": "smollm2:135m", "images": ["aGk="]}) == (
        400,
        f"{name} does not support vision",
    )
    assert refusal(client, "/api/chat", {"model": "smollm2:135m", "messages": [picture]}) == (
        400,
        f"{name} does not support vision",
    )
    assert refusal(client, "/api/generate", {"model": "smollm2:135m", "suffix": "}"}) == (
        400,
        f"{name} does not support insert",
    )


def test_a_broken_model_file_is_one_clear_error(client: httpx.Client, tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"not a model")

    status, text = refusal(client, "/api/generate", {"model": str(path), "prompt": "x"})

    assert status == 500
    assert text.startswith("broken.gguf is not a readable GGUF file")


def test_an_engine_that_others_can_reach_opens_no_files_by_path(tmp_path: Path, model: str) -> None:
    engine = Engine(Store(tmp_path, registry=Registry([])), local_files=False)

    reply = engine.handle("POST", "/api/show", json.dumps({"model": model}).encode())

    assert reply.status == 404


def test_null_counts_as_absent_and_roles_lose_their_case() -> None:
    body = {
        "model": "m",
        "stream": None,
        "tools": None,
        "options": None,
        "messages": [{"role": "USER", "content": None, "tool_calls": None, "extra": 1}],
    }

    request = read_chat(json.dumps(body).encode())

    assert request.common.stream is True
    assert request.messages == ({"role": "user", "content": ""},)


def test_bytes_that_are_not_utf_8_are_replaced_as_go_replaces_them() -> None:
    request = read_chat(b'{"model": "m", "messages": [{"role": "user", "content": "\xff"}]}')

    assert request.messages[0]["content"] == "\ufffd"


def test_lines_are_compact_and_safe_inside_html() -> None:
    assert encode({"a": "<b> & ä", "c": 1}) == '{"a":"\\u003cb\\u003e \\u0026 ä","c":1}'.encode()


def test_a_lone_surrogate_never_stops_a_reply() -> None:
    assert json.loads(encode({"a": "\ud800"})) == {"a": "?"}


def test_a_moment_is_written_with_nanoseconds_in_utc() -> None:
    assert timestamp(1_000_000_001_000_000_002) == "2001-09-09T01:46:41.000000002Z"


@pytest.mark.anyio
async def test_the_async_transport_answers_the_same(tmp_path: Path) -> None:
    transport = AsyncEngineTransport(Engine(Store(tmp_path, registry=Registry([]))))
    async with httpx.AsyncClient(transport=transport, base_url="http://embedded") as client:
        response = await client.post("/api/chat", json={"model": "nope"})

    assert response.status_code == 404
    assert response.json() == {"error": "model 'nope' not found"}
