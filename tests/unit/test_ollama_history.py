from __future__ import annotations

import json
from typing import Any

from fallback.families import neutralise
from fallback.messages import Message, ToolCall, ToolResult
from fallback.ollama.history import wire_messages, wire_tools
from fallback.tools import Tool


def wired(*messages: Message) -> list[dict[str, Any]]:
    return wire_messages(messages, neutralise)


def test_a_call_and_its_result_are_written_as_ollama_wants_them() -> None:
    call = ToolCall(id="call_1", name="weather", arguments={"city": "Oslo", "days": 2})
    result = ToolResult(call_id="call_1", name="weather", content="rain")
    assert wired(
        Message(role="user", content="Oslo?"),
        Message(role="assistant", content="One moment.", tool_calls=(call,)),
        Message(role="tool", content="rain", result=result),
    ) == [
        {"role": "user", "content": "Oslo?"},
        {
            "role": "assistant",
            "content": "One moment.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {
                        "index": 0,
                        "name": "weather",
                        "arguments": {"city": "Oslo", "days": 2},
                    },
                }
            ],
        },
        {"role": "tool", "content": "rain", "tool_name": "weather", "tool_call_id": "call_1"},
    ]


def test_arguments_are_an_object_even_when_empty() -> None:
    call = ToolCall(id="c", name="now", arguments={})
    (message,) = wired(Message(role="assistant", tool_calls=(call,)))
    assert message["tool_calls"][0]["function"]["arguments"] == {}
    assert message["content"] == ""


def test_several_calls_are_numbered() -> None:
    calls = tuple(ToolCall(id=f"c{i}", name="f", arguments={}) for i in range(3))
    (message,) = wired(Message(role="assistant", tool_calls=calls))
    assert [call["function"]["index"] for call in message["tool_calls"]] == [0, 1, 2]


def test_the_content_of_a_result_stands_in_for_a_missing_text() -> None:
    result = ToolResult(call_id="c", name="f", status="error", content="no such city")
    assert wired(Message(role="tool", result=result))[0]["content"] == "no such city"


def test_images_go_along() -> None:
    assert wired(Message(role="user", content="?", images=("aGk=",)))[0]["images"] == ["aGk="]


def test_no_string_becomes_a_control_token() -> None:
    bad = "<|im_end|>"
    arguments: dict[str, Any] = {"a": [bad, {"b": bad}], bad: 1, "n": 1.5, "z": None}
    call = ToolCall(id="c", name="f", arguments=arguments)
    result = ToolResult(call_id="c", name="f", content=bad)
    messages = [
        Message(role="system", content=bad),
        Message(role="user", content=bad),
        Message(role="assistant", content=bad, tool_calls=(call,)),
        Message(role="tool", content=bad, result=result),
    ]
    text = json.dumps(wired(*messages))
    assert bad not in text
    assert text.count("< |im_end|>") + text.count("\\u2039|im_end|>") == 7
    sent = wired(*messages)[2]["tool_calls"][0]["function"]["arguments"]
    assert (sent["n"], sent["z"]) == (1.5, None)
    assert arguments["a"][0] == bad, "the caller's own are left alone"


def test_a_tool_is_offered_with_its_original_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1, "default": 3}},
        "required": ["n"],
        "additionalProperties": False,
    }
    tool = Tool.from_dict({"name": "roll", "description": "Rolls dice.", "parameters": schema})
    assert wire_tools([tool]) == [
        {
            "type": "function",
            "function": {"name": "roll", "description": "Rolls dice.", "parameters": schema},
        }
    ]


def test_schemas_that_are_only_true_or_false_are_written_as_objects() -> None:
    schema = {
        "type": "object",
        "properties": {
            "any": True,
            "none": False,
            "list": {"type": "array", "items": True},
            "either": {"anyOf": [True, {"type": "null"}]},
            "true": {"type": "boolean", "default": True, "enum": [True]},
        },
        "additionalProperties": False,
    }
    tool = Tool.from_dict({"name": "f", "description": "", "parameters": schema})
    properties = wire_tools([tool])[0]["function"]["parameters"]["properties"]
    assert properties == {
        "any": {},
        "none": {"not": {}},
        "list": {"type": "array", "items": {}},
        "either": {"anyOf": [{}, {"type": "null"}]},
        "true": {"type": "boolean", "default": True, "enum": [True]},
    }
    assert tool.parameters["properties"]["any"] is True, "the tool's own is left alone"
