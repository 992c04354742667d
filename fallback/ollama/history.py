"""Our conversation and our tools in the form that ``/api/chat`` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fallback.messages import Message
from fallback.rendering import fences
from fallback.tools import Tool

__all__ = ["wire_messages", "wire_tools"]

_SUBSCHEMAS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_SUBSCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SUBSCHEMA = ("items", "not", "contains", "propertyNames", "if", "then", "else")


def wire_messages(
    messages: Iterable[Message], neutralise: Callable[[str], str]
) -> list[dict[str, Any]]:
    """Write the conversation down for ``/api/chat``.

    ``arguments`` are an object, as Ollama wants them (a JSON string is refused), and results carry
    both ``tool_name`` and ``tool_call_id``, of which servers know one or the other. A result can
    no more forge a call here than in prompt mode.

    Args:
        messages: any of our messages, calls and results included.
        neutralise: keeps a text from becoming control tokens; applied to every string that a
            template will write into the prompt.
    """
    return [_wire_message(message, neutralise) for message in messages]


def _wire_message(message: Message, neutralise: Callable[[str], str]) -> dict[str, Any]:
    content = message.content
    if message.role == "tool" and not content and message.result is not None:
        content = message.result.content
    if message.role == "tool":
        content = fences.neutralise(content)
    wire: dict[str, Any] = {"role": message.role, "content": neutralise(content)}
    if message.images:
        wire["images"] = list(message.images)
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "index": index,
                    "name": call.name,
                    "arguments": _neutral(call.arguments, neutralise),
                },
            }
            for index, call in enumerate(message.tool_calls)
        ]
    if message.role == "tool" and message.result is not None:
        wire |= {"tool_name": message.result.name, "tool_call_id": message.result.call_id}
    return wire


def _neutral(value: Any, neutralise: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return neutralise(value)
    if isinstance(value, Mapping):
        return {neutralise(str(key)): _neutral(item, neutralise) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_neutral(item, neutralise) for item in value]
    return value


def wire_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The tools as ``/api/chat`` takes them, with their original schemas."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": _objects_only(tool.parameters),
            },
        }
        for tool in tools
    ]


def _objects_only(schema: Any) -> Any:
    """Write ``true`` and ``false`` as the objects they stand for; Ollama decodes nothing else."""
    if schema is True:
        return {}
    if schema is False:
        return {"not": {}}
    if not isinstance(schema, Mapping):
        return schema
    written = dict(schema)
    for key in _SUBSCHEMAS:
        if isinstance(inner := written.get(key), Mapping):
            written[key] = {name: _objects_only(item) for name, item in inner.items()}
    for key in _SUBSCHEMA_LISTS:
        if isinstance(inner := written.get(key), list):
            written[key] = [_objects_only(item) for item in inner]
    for key in _SUBSCHEMA:
        if key in written:
            written[key] = _objects_only(written[key])
    return written
