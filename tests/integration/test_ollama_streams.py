"""Streams, clients and the rest of the server."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import httpx
import pytest

from fallback.backend import GenerationRequest
from fallback.errors import (
    BackendConnectionError,
    BackendError,
)
from fallback.hosts import connect
from fallback.limits import Limits
from fallback.messages import Message
from fallback.ollama import OllamaBackend

DONE = {"response": "", "done": True, "done_reason": "stop", "eval_count": 2}


def asked(*texts: str, **fields: Any) -> GenerationRequest:
    roles = ("user", "assistant")
    turns = [Message(role=roles[i % 2], content=t) for i, t in enumerate(texts or ("hi",))]  # type: ignore[arg-type] # both are roles
    given: dict[str, Any] = {"model": "m", "mode": "prompt", "messages": (*turns,)}
    return GenerationRequest(**(given | fields))


# Streams ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_bytes_may_be_cut_anywhere_on_the_way(
    way: Any, ollama: Any, backend: Any, size: int
) -> None:
    ollama.has_model()
    body = '{"response":"é€😀"}\n\n{"response":"","done":true}\n'.encode()
    ollama.sends("/api/generate", *(body[i : i + size] for i in range(0, len(body), size)))
    assert "".join(chunk.text for chunk in way.stream(backend, asked())) == "é€😀"


def test_a_chunk_is_there_before_the_next_one_is_written(
    way: Any, ollama: Any, backend: Any
) -> None:
    ollama.has_model()
    go_on = threading.Event()
    ollama.sends("/api/generate", b'{"response":"one"}\n', go_on, b'{"done":true}\n')
    assert way.first(backend, asked()).text == "one"
    go_on.set()


def test_leaving_the_stream_cancels_the_generation(way: Any, ollama: Any, backend: Any) -> None:
    ollama.has_model()
    ollama.repeats("/api/generate", b'{"response":"word "}\n')
    assert way.first(backend, asked()).text == "word "
    assert ollama.client_left.wait(20), "the server noticed that nobody listens"


def test_a_reply_ends_with_its_last_chunk_even_if_the_server_stays(
    way: Any, ollama: Any, backend: Any
) -> None:
    ollama.has_model()
    never = threading.Event()
    ollama.sends("/api/generate", b'{"response":"","done":true}\n', never)
    assert way.stream(backend, asked())[-1].done
    never.set()


def test_a_finished_backend_can_be_used_again(ollama: Any) -> None:
    ollama.has_model()
    ollama.streams("/api/generate", DONE)
    backend = OllamaBackend(ollama.url)
    for _ in range(2):
        assert list(backend.stream(asked()))[-1].done
        backend.close()


# Clients ------------------------------------------------------------------------------------------


def test_a_client_of_ones_own_is_used_and_left_open(ollama: Any) -> None:
    ollama.has_model()
    ollama.streams("/api/generate", DONE)
    with httpx.Client(headers={"X-Mine": "1"}) as client:
        backend = OllamaBackend(ollama.url, client=client)
        assert list(backend.stream(asked()))[-1].done
        backend.close()
        assert not client.is_closed


def test_a_client_of_the_fork_httpx2_will_do(ollama: Any) -> None:
    httpx2 = pytest.importorskip("httpx2")
    ollama.has_model()
    ollama.streams("/api/generate", {"response": "ok"}, DONE)
    with httpx2.Client() as client:
        backend = OllamaBackend(ollama.url, client=client)
        assert next(iter(backend.stream(asked()))).text == "ok"
        gone = OllamaBackend("http://127.0.0.1:1", client=client)
        with pytest.raises(BackendConnectionError, match="nothing answers"):
            gone.describe("m")

    async def main() -> str:
        async with httpx2.AsyncClient() as aclient:
            backend = OllamaBackend(ollama.url, aclient=aclient)
            return "".join([chunk.text async for chunk in backend.astream(asked())])

    assert anyio.run(main) == "ok"


def test_every_exchange_has_timeouts(ollama: Any) -> None:
    seen = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"])
        return httpx.Response(200, json={"models": [], "version": "1", "template": ""})

    with httpx.Client(transport=httpx.MockTransport(answer), timeout=None) as client:  # noqa: S113 -- the point of the test
        limits = Limits(connect_seconds=1.5, read_seconds=9)
        backend = OllamaBackend("http://x", client=client, limits=limits)
        backend.describe("m")
        backend.version()
    expected = {"connect": 1.5, "read": 9, "write": 9, "pool": 9}
    assert len(seen) == 3
    assert all(timeout == expected for timeout in seen)


def test_a_proxy_of_the_environment_does_not_stand_before_this_machine(
    way: Any, ollama: Any, backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    ollama.has_model()
    assert way.describe(backend).family == "chatml"


def test_a_password_in_the_address_is_never_shown() -> None:
    backend = OllamaBackend("http://user:secret@127.0.0.1:1")
    with pytest.raises(BackendError) as caught:
        backend.describe("m")
    assert "secret" not in str(caught.value)
    assert "http://127.0.0.1:1" in str(caught.value)
    backend.close()


# The rest of the server ---------------------------------------------------------------------------


def test_the_server_tells_its_version_and_its_models(ollama: Any, backend: Any) -> None:
    ollama.has_model()
    ollama.answers("/api/ps", {"models": [{"name": "m:latest", "context_length": 8192}]})
    assert backend.version() == "0.33.0"
    assert [model["name"] for model in backend.tags()] == ["m:latest"]
    assert backend.ps()[0]["context_length"] == 8192
    assert "template" in backend.show("m")


def test_a_list_that_is_null_is_empty(ollama: Any, backend: Any) -> None:
    ollama.answers("/api/tags", {"models": None})
    assert backend.tags() == ()


def test_a_host_that_is_named_is_connected_to(ollama: Any) -> None:
    ollama.has_model()
    backend = connect(ollama.url.removeprefix("http://"), environ={})
    assert backend.describe("m").family == "chatml"
    assert backend.where == ollama.url
    backend.close()


def test_a_server_on_this_machine_is_noticed(ollama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from fallback import hosts

    monkeypatch.setattr(hosts, "DEFAULT_URL", ollama.url)
    ollama.answers("/api/version", {"version": "0.33.0"})
    assert hosts.resolve_host(environ={}, has_engine=lambda: False).url == ollama.url
    ollama.forget("/api/version")
    ollama.sends("/api/version", b"<html>something else</html>")
    with pytest.raises(BackendConnectionError):
        hosts.resolve_host(environ={}, has_engine=lambda: False)
