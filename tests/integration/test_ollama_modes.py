"""How the backend asks: prompt mode in its three forms, and native mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fallback.backend import GenerationRequest
from fallback.catalogue import Catalogue
from fallback.errors import (
    BackendStatusError,
    CapabilityError,
)
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


# Where a request would like to go -----------------------------------------------------------------


def test_a_request_can_choose_the_endpoint_where_nobody_else_has(way: Any, ollama: Any) -> None:
    ollama.has_model()
    ollama.streams("/api/chat", {"message": {"content": "Hello"}}, CHAT_DONE)
    ollama.streams("/api/generate", {"response": "Hello"}, DONE)
    for backend, path in (
        (OllamaBackend(ollama.url), "chat"),
        (OllamaBackend(ollama.url, endpoint="generate"), "generate/raw/chatml"),
    ):
        (first, *_) = way.stream(backend, asked(endpoint="chat"))
        assert first.path.startswith(path)
        backend.close()
