"""What goes wrong between the backend and a server, and how it is told."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from fallback.backend import GenerationRequest
from fallback.catalogue import Catalogue
from fallback.errors import (
    BackendConnectionError,
    BackendProtocolError,
    BackendStatusError,
    BackendTimeoutError,
    CapabilityError,
    ContextWindowError,
    ModelNotFoundError,
)
from fallback.limits import Limits
from fallback.messages import Message
from fallback.ollama import OllamaBackend
from fallback.tools import Tool

ROLL = Tool.from_dict({"name": "roll", "description": "Rolls.", "parameters": {"type": "object"}})
DONE = {"response": "", "done": True, "done_reason": "stop", "eval_count": 2}


def asked(*texts: str, **fields: Any) -> GenerationRequest:
    roles = ("user", "assistant")
    turns = [Message(role=roles[i % 2], content=t) for i, t in enumerate(texts or ("hi",))]  # type: ignore[arg-type] # both are roles
    given: dict[str, Any] = {"model": "m", "mode": "prompt", "messages": (*turns,)}
    return GenerationRequest(**(given | fields))


def native(**fields: Any) -> GenerationRequest:
    return replace(asked(), mode="native", catalogue=Catalogue([ROLL]), **fields)


# Failures -----------------------------------------------------------------------------------------


def test_a_model_that_only_embeds_is_refused_before_it_is_asked(
    way: Any, ollama: Any, backend: Any
) -> None:
    ollama.has_model(capabilities=("embedding",))
    for request in (asked(), native()):
        with pytest.raises(CapabilityError, match="does not write text"):
            way.stream(backend, request)
    assert {path for path, _ in ollama.requests} <= {"/api/tags", "/api/show"}


def test_an_unknown_model_is_named_with_those_that_there_are(
    way: Any, ollama: Any, backend: Any
) -> None:
    ollama.answers("/api/tags", {"models": [{"name": "gemma3:4b"}, {"name": "qwen3:8b"}]})
    ollama.answers("/api/show", {"error": "model 'm:latest' not found"}, 404)
    for question in (way.describe, lambda b: way.stream(b, asked())):
        with pytest.raises(ModelNotFoundError) as caught:
            question(backend)
        told = f"{ollama.url} has no model 'm': get it with `ollama pull m`"
        assert str(caught.value) == f"{told}; it has gemma3:4b, qwen3:8b"


def test_a_prompt_larger_than_the_window_carries_both_numbers(
    way: Any, ollama: Any, backend: Any
) -> None:
    info = {"general.architecture": "x", "x.context_length": 2048}
    ollama.has_model(model_info=info)
    inner = {
        "code": 400,
        "message": "request (915 tokens) exceeds the available context size (512 tokens), try"
        " increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 915,
        "n_ctx": 512,
    }
    ollama.answers("/api/generate", {"error": json.dumps({"error": inner})}, 400)
    with pytest.raises(ContextWindowError, match=r"up to 2,048") as caught:
        way.stream(backend, asked(num_ctx=512))
    assert (caught.value.prompt_tokens, caught.value.num_ctx) == (915, 512)


def test_a_stream_that_just_ends_is_a_failure(way: Any, ollama: Any, backend: Any) -> None:
    ollama.has_model()
    ollama.streams("/api/generate", {"response": "Hel", "done": False})
    with pytest.raises(BackendProtocolError, match="ended before it was done"):
        way.stream(backend, asked())


def test_a_connection_that_breaks_off_is_a_failure(way: Any, ollama: Any, backend: Any) -> None:
    ollama.has_model()
    ollama.sends("/api/generate", b'{"response":"Hel"}\n', whole=False)
    with pytest.raises(BackendProtocolError, match="broke off in the middle"):
        way.stream(backend, asked())


def test_an_error_in_the_middle_of_a_stream_is_raised(way: Any, ollama: Any, backend: Any) -> None:
    ollama.has_model()
    ollama.streams("/api/generate", {"response": "Hel"}, {"error": "out of memory"})
    with pytest.raises(BackendProtocolError, match="out of memory"):
        way.stream(backend, asked())


def test_a_server_that_is_not_ollama_is_told_as_that(way: Any, ollama: Any, backend: Any) -> None:
    with pytest.raises(BackendStatusError, match=r"does not know /api/show \(404\)"):
        way.describe(backend)
    ollama.sends("/api/tags", b"<html>Welcome to nginx</html>")
    with pytest.raises(BackendProtocolError, match=r"does not speak Ollama's API.*nginx"):
        way.describe(backend)


def test_a_redirect_is_not_followed_into_the_dark(way: Any, ollama: Any, backend: Any) -> None:
    ollama.has_model()
    ollama.sends("/api/generate", b"", status=301, headers={"Location": "http://127.0.0.1:1/"})
    with pytest.raises(BackendProtocolError, match="redirect"):
        way.stream(backend, asked())


def test_an_answer_without_end_is_not_read_to_its_end(way: Any, ollama: Any) -> None:
    small = OllamaBackend(ollama.url, limits=Limits(max_line_bytes=1000))
    ollama.sends("/api/tags", *[b"x" * 600] * 3)
    with pytest.raises(BackendProtocolError, match="more than 1,000 bytes"):
        way.describe(small)
    small.close()


def test_nobody_at_the_address_is_told_in_one_line(way: Any, ollama: Any) -> None:
    url = ollama.url
    ollama.close()
    backend = OllamaBackend(url)
    with pytest.raises(BackendConnectionError, match=r"nothing answers at http://127\.0\.0\.1:"):
        way.describe(backend)
    backend.close()


def test_a_server_that_stays_silent_is_given_up(way: Any, ollama: Any) -> None:
    never = threading.Event()
    ollama.has_model()
    ollama.sends("/api/generate", b'{"response":"Hel"}\n', never)
    impatient = OllamaBackend(ollama.url, limits=Limits(read_seconds=0.2))
    try:
        with pytest.raises(BackendTimeoutError, match="took too long"):
            way.stream(impatient, asked())
    finally:
        never.set()
        impatient.close()


def test_an_old_server_that_cuts_the_prompt_is_caught(way: Any, ollama: Any, backend: Any) -> None:
    ollama.has_model(version="0.12.5")
    ollama.streams("/api/generate", DONE | {"prompt_eval_count": 258})
    with pytest.raises(ContextWindowError, match="silently cut"):
        way.stream(backend, asked("long " * 1000, num_ctx=512))
