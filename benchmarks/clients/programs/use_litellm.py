"""LiteLLM as a library, through its `ollama_chat/` and its OpenAI-compatible provider."""

from __future__ import annotations

import json
from typing import Any

from conversation import SCHEMA, URL, VARIANT, add, serve

_ROUNDS = 6
_FUNCTION = {"name": "add", "description": "Add two numbers.", "parameters": SCHEMA}


def answer(model: str, prompt: str) -> str:
    import litellm

    native = VARIANT.startswith("ollama")
    target: dict[str, Any] = {
        "model": f"ollama_chat/{model}" if native else f"openai/{model}",
        "api_base": URL if native else f"{URL}/v1",
        "api_key": "none",
        "tools": [{"type": "function", "function": _FUNCTION}],
    }
    messages: list[Any] = [{"role": "user", "content": prompt}]
    said = []
    for _ in range(_ROUNDS):
        if VARIANT.endswith("stream"):
            pieces = list(litellm.completion(**target, messages=messages, stream=True))
            reply: Any = litellm.stream_chunk_builder(pieces)
        else:
            reply = litellm.completion(**target, messages=messages)
        message = reply.choices[0].message
        said.append(message.content or "")
        if not message.tool_calls:
            break
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = add(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return "\n".join(said)


if __name__ == "__main__":
    serve(answer)
