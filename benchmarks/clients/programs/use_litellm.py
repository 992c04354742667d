"""LiteLLM as a library, through its providers `ollama_chat/`, `ollama/` and the compatible one."""

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

_PROVIDERS = {"ollama": "ollama_chat", "generate": "ollama", "chat": "openai"}
_PROVIDER = _PROVIDERS[VARIANT.split()[0]]
_FUNCTION = {"name": "add", "description": "Add two numbers.", "parameters": SCHEMA}
_CHOICES: dict[str, dict[str, Any]] = {
    "required": {"tool_choice": "required"},
    "named": {"tool_choice": {"type": "function", "function": {"name": "add"}}},
    "none": {"tool_choice": "none"},
    "single": {"parallel_tool_calls": False},
}


def answer(model: str, prompt: str) -> str:
    target: dict[str, Any] = {
        "model": f"{_PROVIDER}/{model}",
        "api_base": f"{URL}/v1" if _PROVIDER == "openai" else URL,
        "api_key": "none",
        **({"timeout": IMPATIENCE} if task() == "impatient" else {}),
    }
    tools: dict[str, Any] = {"tools": [{"type": "function", "function": _FUNCTION}]}
    messages: list[Any] = [{"role": "user", "content": prompt}]
    said = []
    for turn in range(ROUNDS):
        chosen = {} if turn else _CHOICES.get(task(), {})  # a choice binds only the first reply
        message = _message(messages=messages, **target, **tools, **chosen)
        said.append(message.content or "")
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            break
        messages += [_result(call) for call in message.tool_calls]
    if task() == "later":
        again = {"role": "user", "content": "What was it again?"}
        said.append(_message(messages=[*messages, again], **target).content)
    return "\n".join(said)


def _message(**asked: Any) -> Any:
    import litellm

    if not VARIANT.endswith("stream"):
        return litellm.completion(**asked).choices[0].message
    pieces = list(litellm.completion(**asked, stream=True))
    whole: Any = litellm.stream_chunk_builder(pieces)
    return whole.choices[0].message


def _result(call: Any) -> dict[str, Any]:
    if call.function.name != "add":
        content: Any = f"there is no tool {call.function.name}"
    else:
        content = _told(**json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": content}


def _told(a: int, b: int) -> Any:
    try:
        text = add(a, b)
    except ValueError as failure:
        return str(failure)
    if not is_picture(a, b):
        return text
    shown = {"url": f"data:image/png;base64,{PICTURE}"}
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": shown}]


if __name__ == "__main__":
    serve(answer)
