"""The clients of Ollama, OpenAI and Anthropic themselves, with the loop that their users write."""

from __future__ import annotations

import json
from typing import Any

from conversation import (
    IMPATIENCE,
    PICTURE,
    ROUNDS,
    SCHEMA,
    URL,
    VARIANT,
    add,
    is_picture,
    serve,
    task,
)

_FUNCTION: dict[str, Any] = {"name": "add", "description": "Add two numbers.", "parameters": SCHEMA}
_TOOL: dict[str, Any] = {"type": "function", "function": _FUNCTION}
_STREAM = VARIANT.endswith("stream")
_AGAIN = {"role": "user", "content": "What was it again?"}
_CHOICES: dict[str, dict[str, dict[str, Any]]] = {
    "ollama": {},
    "chat": {
        "required": {"tool_choice": "required"},
        "named": {"tool_choice": {"type": "function", "function": {"name": "add"}}},
        "none": {"tool_choice": "none"},
        "single": {"parallel_tool_calls": False},
    },
    "responses": {
        "required": {"tool_choice": "required"},
        "named": {"tool_choice": {"type": "function", "name": "add"}},
        "none": {"tool_choice": "none"},
        "single": {"parallel_tool_calls": False},
    },
    "messages": {
        "required": {"tool_choice": {"type": "any"}},
        "named": {"tool_choice": {"type": "tool", "name": "add"}},
        "none": {"tool_choice": {"type": "none"}},
        "single": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    },
}


def _settings(key: str) -> dict[str, Any]:
    patience = {"timeout": IMPATIENCE} if task() == "impatient" else {}
    return {key: URL if key == "host" else f"{URL}/v1", **patience}


def _ways(wire: str, tools: list[Any]) -> list[dict[str, Any]]:
    """What goes with each request besides the history: the choice binds only the first."""
    chosen = _CHOICES[wire].get(task(), {})
    return [{"tools": tools, **chosen}, *[{"tools": tools}] * (ROUNDS - 1)]


def _tried(a: int, b: int) -> tuple[str, bool]:
    """What the tool says, and whether it has failed."""
    try:
        return add(a, b), False
    except ValueError as failure:
        return str(failure), True


def native(model: str, prompt: str) -> str:
    import ollama

    client = ollama.Client(**_settings("host"))
    if task() == "discover":
        names = [str(listed.model) for listed in client.list().models]
        return "\n".join(f"{name} {client.show(name).capabilities}" for name in names)
    messages: list[Any] = [{"role": "user", "content": prompt}]
    said = []
    for way in _ways("ollama", [_TOOL]):
        text, calls = _native_reply(client, model, messages, way)
        said.append(text)
        messages.append({"role": "assistant", "content": text, "tool_calls": calls or None})
        if not calls:
            break
        messages += [_native_result(**call.function.arguments) for call in calls]
    if task() == "later":
        said.append(_native_reply(client, model, [*messages, _AGAIN], {})[0])
    return "\n".join(said)


def _native_reply(client: Any, model: str, messages: Any, way: Any) -> tuple[str, list[Any]]:
    if not _STREAM:
        message = client.chat(model, messages, **way).message
        return message.content or "", list(message.tool_calls or [])
    text, calls = "", []
    for part in client.chat(model, messages, stream=True, **way):
        text += part.message.content or ""
        calls += part.message.tool_calls or []
    return text, calls


def _native_result(a: int, b: int) -> dict[str, Any]:
    told = {"role": "tool", "content": _tried(a, b)[0]}
    return {**told, "images": [PICTURE]} if is_picture(a, b) else told


def chat(model: str, prompt: str) -> str:
    import openai

    client = openai.OpenAI(api_key="none", **_settings("base_url"))
    if task() == "discover":
        return "\n".join(listed.id for listed in client.models.list())
    messages: list[Any] = [{"role": "user", "content": prompt}]
    said = []
    for way in _ways("chat", [_TOOL]):
        message = _chat_reply(client, model, messages, way)
        said.append(message.content or "")
        messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        for call in message.tool_calls or ():
            result = _chat_result(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not message.tool_calls:
            break
    if task() == "later":
        said.append(_chat_reply(client, model, [*messages, _AGAIN], {}).content)
    return "\n".join(said)


def _chat_reply(client: Any, model: str, messages: Any, way: Any) -> Any:
    asked = {"model": model, "messages": messages, **way}
    if not _STREAM:
        return client.chat.completions.create(**asked).choices[0].message
    with client.chat.completions.stream(**asked) as stream:
        return stream.get_final_completion().choices[0].message


def _chat_result(a: int, b: int) -> Any:
    text = _tried(a, b)[0]
    if not is_picture(a, b):
        return text
    shown = {"url": f"data:image/png;base64,{PICTURE}"}
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": shown}]


def responses(model: str, prompt: str) -> str:
    import openai

    client = openai.OpenAI(api_key="none", **_settings("base_url"))
    if task() == "discover":
        return "\n".join(listed.id for listed in client.models.list())
    history: list[Any] = [{"role": "user", "content": prompt}]
    said = []
    for way in _ways("responses", [{"type": "function", "strict": False, **_FUNCTION}]):
        reply = _response(client, model, history, way)
        said.append(reply.output_text)
        calls = [item for item in reply.output if item.type == "function_call"]
        for call in calls:
            kept = {"type": "function_call", "call_id": call.call_id, "name": call.name}
            history.append({**kept, "arguments": call.arguments})
        for call in calls:
            told = {"type": "function_call_output", "call_id": call.call_id}
            history.append({**told, "output": _output(**json.loads(call.arguments))})
        if not calls:
            break
    if task() == "later":
        said.append(_response(client, model, [*history, _AGAIN], {}).output_text)
    return "\n".join(said)


def _response(client: Any, model: str, history: Any, way: Any) -> Any:
    asked = {"model": model, "input": history, **way}
    if _STREAM:
        with client.responses.stream(**asked) as stream:
            reply = stream.get_final_response()
    else:
        reply = client.responses.create(**asked)
    if reply.status == "failed":
        raise RuntimeError(reply.error)
    return reply


def _output(a: int, b: int) -> Any:
    text = _tried(a, b)[0]
    if not is_picture(a, b):
        return text
    shown = {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"}
    return [{"type": "input_text", "text": text}, shown]


def messages_api(model: str, prompt: str) -> str:
    import anthropic

    client = anthropic.Anthropic(api_key="none", **_settings("base_url") | {"base_url": URL})
    if task() == "discover":
        return "\n".join(listed.id for listed in client.models.list())
    history: list[Any] = [{"role": "user", "content": prompt}]
    said = []
    tool = {"name": "add", "description": "Add two numbers.", "input_schema": SCHEMA}
    for way in _ways("messages", [tool]):
        reply = _message(client, model, history, way)
        said += [block.text for block in reply.content if block.type == "text"]
        history.append({"role": "assistant", "content": [b.model_dump() for b in reply.content]})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            break
        results = [_tool_result(call.id, **call.input) for call in calls]
        history.append({"role": "user", "content": results})
    if task() == "later":
        reply = _message(client, model, [*history, _AGAIN], {})
        said += [block.text for block in reply.content if block.type == "text"]
    return "\n".join(said)


def _message(client: Any, model: str, history: Any, way: Any) -> Any:
    asked = {"model": model, "max_tokens": 1000, "messages": history, **way}
    if not _STREAM:
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        return stream.get_final_message()


def _tool_result(call_id: str, a: int, b: int) -> dict[str, Any]:
    text, failed = _tried(a, b)
    told: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    if is_picture(a, b):
        source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
        told["content"] = [{"type": "text", "text": text}, {"type": "image", "source": source}]
    return {**told, "is_error": True} if failed else told


_WIRES = {"ollama": native, "chat": chat, "responses": responses, "messages": messages_api}

if __name__ == "__main__":
    serve(_WIRES[VARIANT.split()[0]])
