"""What the server answers itself, as an OpenAPI 3.1 document: ``GET /openapi.json``.

It says what is needed and what comes back, not everything that may be sent: a field that is not
listed is taken too, as the wire's own documentation has it, and one of the wrong type is left out
of account wherever that is possible. What is passed on to the upstream is the upstream's to
describe.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

__all__ = ["document"]

_Json = dict[str, Any]

_TEXT: _Json = {"type": "string"}
_COUNT: _Json = {"type": "integer", "minimum": 0}


def _object(required: Mapping[str, Any], **optional: Any) -> _Json:
    """An object with at least these properties."""
    found: _Json = {"type": "object", "properties": {**required, **optional}}
    return {**found, "required": list(required)} if required else found


def _list(items: Any, *, least: int = 0) -> _Json:
    return {"type": "array", "items": items, "minItems": least}


def _const(value: Any) -> _Json:
    return {"const": value}


_CONTENT: _Json = {"type": ["string", "array", "null"], "description": "text, or parts of content"}
_FUNCTION = _object({"name": _TEXT}, description=_TEXT, parameters={"type": "object"})
_MESSAGE = _object({"role": _TEXT, "content": _CONTENT})
_TOOL = _object({"type": _const("function"), "function": _FUNCTION})
_MODEL: _Json = {"type": "string", "minLength": 1, "pattern": r"\S"}
_ANY_CHOICE: _Json = {"description": "the mode, or an object that names one tool"}
_STREAM: _Json = {"type": "boolean"}

_REQUESTS: dict[str, _Json] = {
    "/api/chat": _object(
        {"model": _MODEL},
        messages=_list(_MESSAGE),
        tools=_list(_TOOL),
        stream={"type": "boolean", "default": True},
        options={"type": "object"},
        format={"description": "`json`, or a JSON Schema of the answer"},
    ),
    "/v1/chat/completions": _object(
        {"model": _MODEL, "messages": _list(_MESSAGE, least=1)},
        tools=_list(_TOOL),
        tool_choice=_ANY_CHOICE,
        parallel_tool_calls={"type": "boolean", "default": True},
        stream=_STREAM,
        max_completion_tokens=_COUNT,
        stop={"type": ["string", "array", "null"]},
    ),
    "/v1/messages": _object(
        {"model": _MODEL, "messages": _list(_MESSAGE, least=1)},
        system=_CONTENT,
        max_tokens=_COUNT,
        tools=_list(_object({"name": _TEXT}, input_schema={"type": "object"}, description=_TEXT)),
        tool_choice=_ANY_CHOICE,
        stream=_STREAM,
    ),
    "/v1/responses": _object(
        {"model": _MODEL, "input": {"type": ["string", "array"]}},
        instructions={"type": ["string", "null"]},
        tools=_list(_object({"type": _TEXT})),
        tool_choice=_ANY_CHOICE,
        stream=_STREAM,
        max_output_tokens=_COUNT,
    ),
    "/api/show": _object({"model": _MODEL}),
}
_COUNTED = {
    "/v1/messages/count_tokens": "/v1/messages",
    "/v1/responses/input_tokens": "/v1/responses",
}
_REQUESTS |= {path: _REQUESTS[wire] for path, wire in _COUNTED.items()}

_LISTED = _object({"name": _TEXT, "model": _TEXT, "capabilities": _list(_TEXT)})
_CHOICE = _object(
    {
        "index": _COUNT,
        "message": _object({"role": _const("assistant"), "content": {"type": ["string", "null"]}}),
        "finish_reason": {"enum": ["stop", "length", "tool_calls", "function_call"]},
    }
)
_ANSWERS: dict[str, _Json] = {
    "/api/chat": _object(
        {"model": _TEXT},
        message=_object({"role": _const("assistant"), "content": _TEXT}),
        done_reason=_TEXT,
        done=_const(True),
    ),
    "/v1/chat/completions": _object(
        {
            "id": _TEXT,
            "object": _const("chat.completion"),
            "created": _COUNT,
            "model": _TEXT,
            "choices": _list(_CHOICE, least=1),
            "usage": _object({"prompt_tokens": _COUNT, "completion_tokens": _COUNT}),
        }
    ),
    "/v1/messages": _object(
        {
            "id": _TEXT,
            "type": _const("message"),
            "role": _const("assistant"),
            "model": _TEXT,
            "content": _list(_object({"type": _TEXT})),
            "stop_reason": _TEXT,
            "usage": _object({"input_tokens": _COUNT, "output_tokens": _COUNT}),
        }
    ),
    "/v1/responses": _object(
        {
            "id": _TEXT,
            "object": _const("response"),
            "status": {"enum": ["completed", "incomplete"]},
            "model": _TEXT,
            "output": _list(_object({"type": _TEXT})),
            "usage": _object({"input_tokens": _COUNT, "output_tokens": _COUNT}),
        }
    ),
    "/v1/messages/count_tokens": _object({"input_tokens": _COUNT}),
    "/v1/responses/input_tokens": _object({"input_tokens": _COUNT, "object": _TEXT}),
    "/api/show": _object({"capabilities": _list(_TEXT)}),
    "/api/tags": _object({"models": _list(_LISTED)}),
    "/v1/models": _object({"data": _list(_object({"id": _TEXT}))}),
    "/healthz": _object({"status": _const("ok")}),
    "/health": _object({"status": _const("ok")}),
    "/readyz": _object({"status": _const("ready")}),
    "/openapi.json": _object({"openapi": _TEXT, "paths": {"type": "object"}}),
}
_STREAMS = {
    "/api/chat": "application/x-ndjson",
    "/v1/chat/completions": "text/event-stream",
    "/v1/messages": "text/event-stream",
    "/v1/responses": "text/event-stream",
}
_PLAIN = {"/": "text/plain", "/api/hello": "text/plain", "/metrics": "text/plain"}
_SUMMARIES = {
    "/api/chat": "Ollama's chat, with tools for any model",
    "/v1/chat/completions": "OpenAI's chat completions, with tools for any model",
    "/v1/messages": "Anthropic's messages, with tools for any model",
    "/v1/responses": "OpenAI's responses, without a memory of them",
    "/v1/messages/count_tokens": "Tokens of a prompt, estimated; nothing is generated",
    "/v1/responses/input_tokens": "Tokens of a prompt, estimated; nothing is generated",
    "/api/show": "What a model is, with `tools` among its capabilities",
    "/api/tags": "The models, with `tools` among their capabilities",
    "/v1/models": "The models, in OpenAI's form, or Anthropic's with an `anthropic-version` header",
    "/healthz": "Whether the process is there",
    "/health": "The same",
    "/readyz": "Whether the upstream answers too",
    "/metrics": "Figures for Prometheus",
    "/openapi.json": "This document",
    "/": "What some clients look for to know that they have found a server",
    "/api/hello": "The same",
}
_REFUSALS = {
    "400": "the request makes no sense, or is too long for the model",
    "401": "a key is needed",
    "403": "foreign Host or Origin",
    "404": "no such model",
    "408": "the request did not arrive in time",
    "413": "the request is too large",
    "422": "a call was demanded, and the model made none",
    "429": "too many requests at once",
    "431": "the headers are too large",
    "500": "a fault of this server",
    "502": "the upstream failed",
    "503": "the upstream cannot be reached, or is busy",
    "504": "the upstream did not answer in time",
}
_OPEN = frozenset({"/", "/api/hello", "/health", "/healthz", "/readyz"})
_ALONE = frozenset({"/", "/api/hello", "/health", "/healthz", "/metrics", "/openapi.json"})
"""What is answered without asking the upstream."""
_ERROR: _Json = {
    "description": "Each wire has its own form; all of them have `error`.",
    **_object({"error": {"type": ["string", "object"]}}),
}


def _operation(path: str, *, method: str) -> _Json:
    content: _Json = {}
    if path in _ANSWERS:
        content["application/json"] = {"schema": _ANSWERS[path]}
    if path in _STREAMS:
        content[_STREAMS[path]] = {}  # the events, as the wire has them
    if path in _PLAIN:
        content[_PLAIN[path]] = {"schema": _TEXT}
    told: _Json = {
        "summary": _SUMMARIES[path],
        "responses": {"200": {"description": "the answer", "content": content}, **_refused(path)},
    }
    if method == "post":
        schema = {"application/json": {"schema": _REQUESTS[path]}}
        told["requestBody"] = {"required": True, "content": schema}
    if path in _OPEN:
        told["security"] = []
    return told


def _refused(path: str) -> _Json:
    """The errors; those of the body and of the upstream only where there is one."""
    never = set() if path in _REQUESTS else {"400", "404", "408", "413", "422", "429"}
    never |= {"502", "503", "504"} if path in _ALONE else set()
    never |= {"401"} if path in _OPEN else set()
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        status: {"description": why, "content": content}
        for status, why in _REFUSALS.items()
        if status not in never
    }


@cache
def document() -> Mapping[str, Any]:
    """The document. Do not change it: there is one."""
    try:
        ours = version("toolcall-fallback")
    except PackageNotFoundError:
        ours = "unknown"
    paths: _Json = {}
    for path in _SUMMARIES:
        method = "post" if path in _REQUESTS else "get"
        paths[path] = {method: _operation(path, method=method)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "fallback",
            "version": ours,
            "description": "Tools for any client, with any model. Other paths under `/api/` and"
            " `/v1/` are passed on to the upstream.",
        },
        "paths": paths,
        "security": [{"bearer": []}, {"key": []}, {}],
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    }
