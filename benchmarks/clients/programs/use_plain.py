"""The clients of Ollama, OpenAI and Anthropic themselves, with the loop that their users write."""

from __future__ import annotations

import json
from typing import Any

from conversation import SCHEMA, URL, VARIANT, add, serve

_FUNCTION: dict[str, Any] = {"name": "add", "description": "Add two numbers.", "parameters": SCHEMA}
_TOOL: dict[str, Any] = {"type": "function", "function": _FUNCTION}
_ROUNDS = 6


def native(model: str, prompt: str) -> str:
    import ollama

    client = ollama.Client(host=URL)
    messages: list[Any] = [{"role": "user", "content": prompt}]
    said = []
    for _ in range(_ROUNDS):
        text, calls = "", []
        if VARIANT.endswith("stream"):
            for part in client.chat(model, messages, tools=[_TOOL], stream=True):
                text += part.message.content or ""
                calls += part.message.tool_calls or []
        else:
            message = client.chat(model, messages, tools=[_TOOL]).message
            text, calls = message.content or "", list(message.tool_calls or [])
        said.append(text)
        if not calls:
            break
        messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        results = [add(**call.function.arguments) for call in calls]
        messages += [{"role": "tool", "content": result} for result in results]
    return "\n".join(said)


def chat(model: str, prompt: str) -> str:
    import openai

    client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none")
    messages: list[Any] = [{"role": "user", "content": prompt}]
    said = []
    for _ in range(_ROUNDS):
        if VARIANT.endswith("stream"):
            with client.chat.completions.stream(
                model=model, messages=messages, tools=[_TOOL]
            ) as stream:
                message = stream.get_final_completion().choices[0].message
        else:
            reply = client.chat.completions.create(model=model, messages=messages, tools=[_TOOL])
            message = reply.choices[0].message
        said.append(message.content or "")
        if not message.tool_calls:
            break
        messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        for call in message.tool_calls:
            result = add(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return "\n".join(said)


def responses(model: str, prompt: str) -> str:
    import openai

    client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none")
    history: list[Any] = [{"role": "user", "content": prompt}]
    tools: list[Any] = [{"type": "function", "strict": False, **_FUNCTION}]
    said = []
    for _ in range(_ROUNDS):
        if VARIANT.endswith("stream"):
            with client.responses.stream(model=model, input=history, tools=tools) as stream:
                reply = stream.get_final_response()
        else:
            reply = client.responses.create(model=model, input=history, tools=tools)
        if reply.status == "failed":
            raise RuntimeError(reply.error)
        said.append(reply.output_text)
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            break
        for call in calls:
            kept = {"type": "function_call", "call_id": call.call_id, "name": call.name}
            history.append({**kept, "arguments": call.arguments})
        for call in calls:
            told = {"type": "function_call_output", "call_id": call.call_id}
            history.append({**told, "output": add(**json.loads(call.arguments))})
    return "\n".join(said)


def messages_api(model: str, prompt: str) -> str:
    import anthropic

    client = anthropic.Anthropic(base_url=URL, api_key="none")
    history: list[Any] = [{"role": "user", "content": prompt}]
    tools: list[Any] = [{"name": "add", "description": "Add two numbers.", "input_schema": SCHEMA}]
    said = []
    for _ in range(_ROUNDS):
        asked: dict[str, Any] = {"model": model, "max_tokens": 1000, "messages": history}
        if VARIANT.endswith("stream"):
            with client.messages.stream(**asked, tools=tools) as stream:
                reply = stream.get_final_message()
        else:
            reply = client.messages.create(**asked, tools=tools)
        said += [block.text for block in reply.content if block.type == "text"]
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": add(**block.input)}
            for block in reply.content
            if block.type == "tool_use"
        ]
        if not results:
            break
        history += [
            {"role": "assistant", "content": [b.model_dump() for b in reply.content]},
            {"role": "user", "content": results},
        ]
    return "\n".join(said)


_WIRES = {"ollama": native, "chat": chat, "responses": responses, "messages": messages_api}

if __name__ == "__main__":
    serve(_WIRES[VARIANT.split()[0]])
