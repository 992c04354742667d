"""The models that the clients of the adapter are tried with, and what they say."""

from __future__ import annotations

from typing import Any

from fallback.testing.scripted_server import Model, Reply

ADD: Any = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
}
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "the city's name"}},
            "required": ["city"],
        },
    },
}
QUESTION: Any = {"role": "user", "content": "What is 1 + 2?"}
CALL = '```tool_call\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n```'
OTHER = '```tool_call\n{"name": "add", "arguments": {"a": 3, "b": 4}}\n```'
WRONG = '```tool_call\n{"name": "add", "arguments": {"a": "one", "b": 2}}\n```'
NATIVE = {"function": {"index": 0, "name": "add", "arguments": {"a": 1, "b": 2}}}
_REPLIES = {
    "text": [Reply(text="Paris is the capital.")],
    "call": [Reply(text=CALL), Reply(text="The sum is 3.")],
    "two": [Reply(text=f"{CALL}\n{OTHER}"), Reply(text="3 and 7.")],
    "prose": [Reply(text=f"Let me add.\n\n{CALL}"), Reply(text="It is 3.")],
    "thinks": [Reply(text=f"<think>sum</think>{CALL}"), Reply(text="It is 3.")],
    "slips": [Reply(text=WRONG), Reply(text=CALL)],
    "unknown": [Reply(text=CALL.replace("add", "subtract"))],
    "dies": [Reply(text="Paris is the capital of", fault="cut_in_text")],
    "errs": [Reply(text="Paris is the capital of", fault="error_in_text")],
    "dead": [Reply(fault="cut_before")],
    "broken": [Reply(text="Paris is the capital of", fault="malformed")],
    "half": [Reply(text=CALL[:50], fault="unfinished")],
    "busy": [Reply(fault="busy")],
    "long": [Reply(fault="too_long")],
    "empty": [Reply()],
    "cut": [Reply(text="Paris is the", reason="length")],
    "silent": [Reply(fault="silent")],
}
_NATIVE_REPLIES = {
    "native": [Reply(tool_calls=(NATIVE,)), Reply(text="It is 3.")],
    "claims": [Reply(text=CALL), Reply(text="It is 3.")],
    "breaks": [Reply(fault="status_500"), Reply(text=CALL)],
}


def scripted_models() -> dict[str, Model]:
    """All of them, new; those of the second table take tools, as their server says."""
    models = {name: Model(replies=replies) for name, replies in _REPLIES.items()}
    for name, replies in _NATIVE_REPLIES.items():
        models[name] = Model(replies=replies, capabilities=("completion", "tools"))
    return models
