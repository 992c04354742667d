"""The backend against a real server on this machine, blocking and asynchronous alike."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any

import anyio
import httpx
import pytest

from fallback.backend import Chunk, GenerationRequest, ModelInfo
from fallback.catalogue import Catalogue
from fallback.errors import (
    BackendConnectionError,
    BackendError,
    BackendProtocolError,
    BackendStatusError,
    BackendTimeoutError,
    CapabilityError,
    ContextWindowError,
    ModelNotFoundError,
)
from fallback.hosts import connect
from fallback.limits import Limits
from fallback.messages import Message
from fallback.ollama import OllamaBackend
from fallback.routing import choose
from fallback.tools import Tool

ROLL = Tool.from_dict({"name": "roll", "description": "Rolls.", "parameters": {"type": "object"}})
DONE = {"response": "", "done": True, "done_reason": "stop", "eval_count": 2}
CHAT_DONE = {"message": {"role": "assistant", "content": ""}, "done": True}
UNKNOWN = "{{ .System }}{{ .Prompt }}"


def asked(*texts: str, **fields: Any) -> GenerationRequest:
    roles = ("user", "assistant")
    turns = [Message(role=roles[i % 2], content=t) for i, t in enumerate(texts or ("hi",))]  # type: ignore[arg-type] # both are roles
    given: dict[str, Any] = {"model": "m", "mode": "prompt", "messages": (*turns,)}
    return GenerationRequest(**(given | fields))


def with_system(**fields: Any) -> GenerationRequest:
    system = Message(role="system", content="You are S.")
    return replace(asked(**fields), messages=(system, Message(role="user", content="hi")))


def native(**fields: Any) -> GenerationRequest:
    return replace(asked(), mode="native", catalogue=Catalogue([ROLL]), **fields)


class Blocking:
    """The same questions to a backend for both ways of asking."""

    def stream(self, backend: OllamaBackend, request: GenerationRequest) -> list[Chunk]:
        return list(backend.stream(request))

    def describe(self, backend: OllamaBackend, model: str = "m") -> ModelInfo:
        return backend.describe(model)

    def first(self, backend: OllamaBackend, request: GenerationRequest) -> Chunk:
        """Take one chunk and leave."""
        with closing(backend.stream(request)) as chunks:
            return next(chunks)


class Asynchronous:
    def stream(self, backend: OllamaBackend, request: GenerationRequest) -> list[Chunk]:
        async def main() -> list[Chunk]:
            try:
                return [chunk async for chunk in backend.astream(request)]
            finally:
                await backend.aclose()  # its connections belong to this event loop

        return anyio.run(main)

    def describe(self, backend: OllamaBackend, model: str = "m") -> ModelInfo:
        async def main() -> ModelInfo:
            try:
                return await backend.adescribe(model)
            finally:
                await backend.aclose()

        return anyio.run(main)

    def first(self, backend: OllamaBackend, request: GenerationRequest) -> Chunk:
        async def main() -> Chunk:
            async with aclosing(backend.astream(request)) as chunks:
                found = await anext(chunks)
            await backend.aclose()
            return found

        return anyio.run(main)


@pytest.fixture(params=[Blocking, Asynchronous])
def way(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.fixture
def backend(ollama: Any) -> Iterator[OllamaBackend]:
    made = OllamaBackend(ollama.url)
    yield made
    made.close()


# Prompt mode --------------------------------------------------------------------------------------


def test_a_known_family_is_asked_raw_and_streams(way: Any, ollama: Any, backend: Any) -> None:
    ollama.has_model(parameters='stop  "<|im_end|>"\nstop  "STOP"')
    ollama.streams("/api/generate", {"response": "Hel"}, {"response": "lo"}, DONE)
    chunks = way.stream(backend, asked("hi", "yes?", "go on", stop=("```tool_result",)))
    assert [chunk.text for chunk in chunks] == ["Hel", "lo", ""]
    assert {chunk.path for chunk in chunks} == {"generate/raw/chatml"}
    assert chunks[-1].usage.completion_tokens == 2
    (sent,) = ollama.asked("/api/generate")
    assert sent["raw"] is True
    assert sent["prompt"].count("<|im_start|>") == 4
    assert sent["options"]["stop"] == [
        "<|im_end|>",
        "<|im_start|>",
        "<|endoftext|>",
        "STOP",
        "```tool_result",
    ]
    assert sent["truncate"] is False
    assert sent["options"]["num_ctx"] == Limits().num_ctx


def test_what_is_known_of_a_model_is_asked_once(way: Any, ollama: Any, backend: Any) -> None:
    ollama.has_model()
    ollama.streams("/api/generate", DONE)
    for _ in range(3):
        way.stream(backend, asked())
    paths = [path for path, _ in ollama.requests]
    assert paths.count("/api/show") == 1
    assert paths.count("/api/tags") == 1
    assert paths.count("/api/version") == 1


def rendered(text: str) -> dict[str, Any]:
    return {"_debug_info": {"rendered_template": text}, "done": False}


SURVIVES = "The blue system marker is 7316. The red user marker is 9254."
DROPPED = "The red user marker is 9254."


def test_an_unknown_template_is_tried_once_and_then_trusted(
    way: Any, ollama: Any, backend: Any
) -> None:
    ollama.has_model(UNKNOWN)
    ollama.answers("/api/generate", rendered(SURVIVES))
    ollama.streams("/api/generate", {"response": "ok"}, DONE)
    for _ in range(2):
        chunks = way.stream(backend, with_system())
        assert (chunks[0].text, chunks[0].path) == ("ok", "generate/system")
    probe, first, second = ollama.asked("/api/generate")
    assert probe["_debug_render_only"] is True
    assert first == second
    assert (first["system"], first["prompt"]) == ("You are S.", "hi")


def test_a_template_that_drops_the_system_text_is_asked_by_chat(
    way: Any, ollama: Any, backend: Any
) -> None:
    ollama.has_model(UNKNOWN)
    ollama.answers("/api/generate", rendered(DROPPED))
    ollama.answers("/api/chat", rendered(SURVIVES))
    ollama.streams("/api/chat", {"message": {"content": "ok"}}, CHAT_DONE)
    chunks = way.stream(backend, with_system())
    assert (chunks[0].text, chunks[0].path) == ("ok", "chat")
    assert [m["role"] for m in ollama.asked("/api/chat")[-1]["messages"]] == ["system", "user"]


def test_a_system_text_that_is_dropped_everywhere_goes_into_the_question(
    way: Any, ollama: Any, backend: Any
) -> None:
    ollama.has_model(UNKNOWN)
    ollama.answers("/api/generate", rendered(DROPPED))
    ollama.answers("/api/chat", rendered(DROPPED))
    ollama.streams("/api/chat", CHAT_DONE)
    way.stream(backend, with_system())
    assert ollama.asked("/api/chat")[-1]["messages"] == [
        {"role": "user", "content": "You are S.\n\nhi"}
    ]


def test_a_server_that_does_not_show_prompts_is_asked_by_chat(
    way: Any, ollama: Any, backend: Any
) -> None:
    ollama.has_model(UNKNOWN)
    ollama.answers("/api/generate", {"response": "x", "done": True})
    ollama.streams("/api/chat", CHAT_DONE)
    way.stream(backend, with_system())
    assert len(ollama.asked("/api/generate")) == 1
    assert len(ollama.asked("/api/chat")) == 1, "it would have generated a second time"


def test_the_endpoint_may_be_forced_to_chat(way: Any, ollama: Any) -> None:
    ollama.has_model()
    ollama.answers("/api/chat", rendered(SURVIVES))
    ollama.streams("/api/chat", {"message": {"content": "ok"}}, CHAT_DONE)
    backend = OllamaBackend(ollama.url, endpoint="chat")
    assert way.stream(backend, with_system())[0].path == "chat"
    assert ollama.asked("/api/generate") == []
    backend.close()


def test_the_endpoint_may_be_forced_to_generate(way: Any, ollama: Any) -> None:
    ollama.has_model(UNKNOWN)
    ollama.answers("/api/generate", rendered(DROPPED))
    ollama.streams("/api/generate", DONE)
    backend = OllamaBackend(ollama.url, endpoint="generate")
    assert way.stream(backend, with_system())[0].path == "generate/system"
    assert ollama.asked("/api/generate")[-1]["prompt"] == "You are S.\n\nhi"
    assert ollama.asked("/api/chat") == []
    backend.close()


def test_a_prompt_that_opens_the_reasoning_says_so_in_the_first_chunk(
    way: Any, ollama: Any, backend: Any
) -> None:
    template = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}"
    ollama.has_model(template, capabilities=("completion", "thinking"))
    ollama.streams("/api/generate", {"response": "hm</think>"}, {"response": "ok"}, DONE)
    chunks = way.stream(backend, asked())
    assert [chunk.reasoning_open for chunk in chunks] == [True, False, False]
    assert ollama.asked("/api/generate")[0]["think"] is False


def test_a_model_with_a_builtin_parser_is_asked_raw_where_its_renderer_is_known(
    way: Any, ollama: Any, backend: Any
) -> None:
    modelfile = "FROM x\nRENDERER qwen3-coder\nPARSER qwen3-coder\n"
    ollama.has_model("{{ .Prompt }}", modelfile=modelfile)
    ollama.streams("/api/generate", {"response": "<tool_call>kept"}, DONE)
    chunks = way.stream(backend, asked())
    assert (chunks[0].text, chunks[0].path) == ("<tool_call>kept", "generate/raw/chatml")
    assert way.describe(backend).parser == "qwen3-coder"


# Native mode --------------------------------------------------------------------------------------


def test_native_mode_collects_calls_from_every_chunk(way: Any, ollama: Any, backend: Any) -> None:
    ollama.has_model(capabilities=("completion", "tools"))
    call = {"id": "c1", "function": {"index": 0, "name": "roll", "arguments": {}}}
    final = {"message": {"content": "", "tool_calls": [call]}, "done": True}
    ollama.streams("/api/chat", {"message": {"content": "", "tool_calls": [call]}}, final)
    chunks = way.stream(backend, native())
    assert [len(chunk.tool_calls) for chunk in chunks] == [1, 1]
    assert chunks[-1].finish_reason == "tool_call"
    assert chunks[-1].path == "chat+tools"
    assert ollama.asked("/api/chat")[0]["tools"][0]["function"]["name"] == "roll"


def test_a_refusal_of_tools_is_remembered_and_changes_the_route(
    way: Any, ollama: Any, backend: Any
) -> None:
    ollama.has_model(capabilities=("completion", "tools"))
    text = "registry.ollama.ai/library/m:latest does not support tools"
    ollama.answers("/api/chat", {"error": text}, 400)
    assert choose(way.describe(backend), "auto").mode == "native"
    with pytest.raises(CapabilityError) as caught:
        way.stream(backend, native())
    assert caught.value.missing == "tools"
    assert choose(way.describe(backend), "auto").mode == "prompt"
    ollama.has_model(capabilities=("completion", "tools"), digest="d2")
    assert choose(way.describe(backend), "auto").mode == "native", "it is another model now"


def test_an_old_server_is_tried_natively_until_it_refuses(
    way: Any, ollama: Any, backend: Any
) -> None:
    ollama.has_model(capabilities=None, version="0.5.0")
    ollama.answers("/api/chat", {"error": "llama3 does not support tools"}, 400)
    assert choose(way.describe(backend), "auto").mode == "native"
    with pytest.raises(CapabilityError):
        way.stream(backend, native())
    assert choose(way.describe(backend), "auto").mode == "prompt"


def test_a_model_mistake_that_the_server_makes_a_500_can_be_told_from_the_rest(
    way: Any, ollama: Any, backend: Any
) -> None:
    ollama.has_model(capabilities=("completion", "tools"))
    ollama.answers("/api/chat", {"error": "error parsing tool call: raw='{', err=EOF"}, 500)
    with pytest.raises(BackendStatusError) as caught:
        way.stream(backend, native())
    assert caught.value.status == 500
    assert "error parsing tool call" in caught.value.detail


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
