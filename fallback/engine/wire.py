"""What comes in on the wire: the requests of Ollama's API, checked field by field.

Source: Ollama's API documentation and its ``GenerateRequest`` and ``ChatRequest``, version 0.33.
Unknown fields are ignored, ``null`` counts as absent, and the error texts are those of Ollama where
it has any; texts that come from Go's JSON decoder are worded like it, but only their status is
dependable there too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fallback.engine.duration import keep_alive_seconds
from fallback.engine.options import Options, read_options
from fallback.engine.reply import WireError

Think = bool | Literal["low", "medium", "high", "max"] | None
_LEVELS = ("low", "medium", "high", "max")
_MAX_TOP_LOGPROBS = 20
_GO_NAMES: Mapping[type, str] = {str: "string", bool: "bool", list: "array", dict: "object"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """The fields that ``/api/generate`` and ``/api/chat`` share.

    ``keep_alive`` is in seconds, ``math.inf`` for "forever"; ``format`` is a JSON Schema.
    ``logprobs`` is the number of alternatives per token, 0 for the token alone, ``None`` for none.
    """

    model: str
    stream: bool
    options: Options
    format: Mapping[str, Any] | None
    keep_alive: float | None
    think: Think
    truncate: bool
    shift: bool
    logprobs: int | None
    render_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest:
    """``POST /api/generate``.

    ``forced_reply`` is ours, not Ollama's: the text that the model is made to write, so that
    ``logprobs`` tells how probable it was.
    """

    common: Common
    prompt: str
    system: str
    raw: bool
    context: tuple[int, ...]
    forced_reply: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """``POST /api/chat``; ``messages`` and ``tools`` are in Ollama's own form, checked."""

    common: Common
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...]


class Fields:
    """Typed access to the fields of one JSON object."""

    def __init__(self, body: Mapping[str, Any], struct: str) -> None:
        self._body, self._struct = body, struct

    def get(self, name: str, kind: type, default: Any) -> Any:
        """The field if it is there; raises :class:`WireError` 400 if it is not a ``kind``."""
        value = self._body.get(name)
        if value is None:
            return default
        if not isinstance(value, kind):
            raise self.wrong(name, value, _GO_NAMES[kind])
        return value

    def raw(self, name: str) -> Any:
        """The field as it is."""
        return self._body.get(name)

    def wrong(self, name: str, value: Any, wanted: str) -> WireError:
        """The error for a field of the wrong type."""
        got = "number" if type(value) in (int, float) else _GO_NAMES.get(type(value), "null")
        return WireError(
            400,
            f"json: cannot unmarshal {got} into Go struct field {self._struct}.{name}"
            f" of type {wanted}",
        )


def read_body(data: bytes, struct: str) -> Fields:
    """Decode a request's body; raises :class:`WireError` 400."""
    if not data.strip():
        raise WireError(400, "missing request body")
    try:
        # Go replaces what is not UTF-8 instead of refusing it.
        body = json.loads(data.decode("utf-8", "replace"), parse_constant=_no_constant)
    except RecursionError:
        raise WireError(400, "exceeded max depth") from None
    except ValueError as error:
        raise WireError(400, f"invalid request body: {error}") from None
    if not isinstance(body, dict):
        raise Fields({}, struct).wrong("body", body, struct)
    return Fields(body, struct)


def read_generate(data: bytes) -> GenerateRequest:
    """Check a request to ``/api/generate``."""
    fields = read_body(data, "GenerateRequest")
    common = _common(fields)
    raw = fields.get("raw", bool, False)
    system = fields.get("system", str, "")
    template = fields.get("template", str, "")
    context = fields.get("context", list, [])
    if not all(type(token) is int for token in context):
        raise fields.wrong("context", "", "int")
    if raw and (template or system or context):
        raise WireError(400, "raw mode does not support template, system, or context")
    if template:
        raise WireError(
            400,
            "the embedded engine has no Go template engine: leave `template` out to use the model's"
            " own, or send the finished prompt with `raw`",
        )
    if fields.get("suffix", str, ""):
        raise WireError(400, f"{full_name(common.model)} does not support insert")
    _refuse_images(fields, common.model)
    return GenerateRequest(
        common=common,
        prompt=fields.get("prompt", str, ""),
        system=system,
        raw=raw,
        context=tuple(context),
        forced_reply=fields.get("_forced_reply", str, ""),
    )


def read_chat(data: bytes) -> ChatRequest:
    """Check a request to ``/api/chat``."""
    fields = read_body(data, "ChatRequest")
    common = _common(fields)
    messages = fields.get("messages", list, [])
    tools = fields.get("tools", list, [])
    if wrong := next((tool for tool in tools if not isinstance(tool, dict)), None):
        raise fields.wrong("tools", wrong, "api.Tool")
    return ChatRequest(
        common=common,
        messages=tuple(_message(message, fields, common.model) for message in messages),
        tools=tuple(tools),
    )


def full_name(model: str) -> str:
    """A model's name as Ollama writes it in capability errors."""
    from fallback.engine.names import parse_name

    parsed = parse_name(model)
    return model if parsed is None else parsed.full


def _common(fields: Fields) -> Common:
    count = fields.raw("top_logprobs")
    if count is not None and (type(count) is not int or not 0 <= count <= _MAX_TOP_LOGPROBS):
        raise WireError(400, f"top_logprobs must be between 0 and {_MAX_TOP_LOGPROBS}")
    wanted = fields.get("logprobs", bool, False)
    return Common(
        model=fields.get("model", str, ""),
        stream=fields.get("stream", bool, True),
        options=read_options(fields.get("options", dict, {})),
        format=_format(fields.raw("format")),
        keep_alive=keep_alive_seconds(fields.raw("keep_alive")),
        think=_think(fields.raw("think")),
        truncate=fields.get("truncate", bool, True),
        shift=fields.get("shift", bool, True),
        logprobs=(count or 0) if wanted else None,
        render_only=fields.get("_debug_render_only", bool, False),
    )


def _format(value: Any) -> Mapping[str, Any] | None:
    if value is None or value == "":
        return None
    if value == "json":
        return {"type": "object"}
    if isinstance(value, dict):
        return value
    shown = json.dumps(json.dumps(value))
    raise WireError(500, f'invalid format: {shown}; expected "json" or a valid JSON Schema object')


def _think(value: Any) -> Think:
    if value is None or isinstance(value, bool) or value in _LEVELS:
        return value  # type: ignore[no-any-return] # narrowed by the two tests before
    shown = json.dumps(value)
    raise WireError(
        400,
        f'invalid think value: {shown} (must be "high", "medium", "low", "max", true, or false)',
    )


def _message(value: Any, outer: Fields, model: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise outer.wrong("messages", value, "api.Message")
    fields = Fields(value, "ChatRequest.messages")
    _refuse_images(fields, model)
    message: dict[str, Any] = {
        "role": fields.get("role", str, "").lower(),
        "content": fields.get("content", str, ""),
    }
    for name in ("thinking", "tool_name", "tool_call_id"):
        if text := fields.get(name, str, ""):
            message[name] = text
    if calls := fields.get("tool_calls", list, []):
        message["tool_calls"] = [_call(call, fields) for call in calls]
    return message


def _call(value: Any, outer: Fields) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise outer.wrong("tool_calls", value, "api.ToolCall")
    call = Fields(value, "ChatRequest.messages.tool_calls")
    function = Fields(call.get("function", dict, {}), "ChatRequest.messages.tool_calls.function")
    if isinstance(function.raw("arguments"), str):
        raise WireError(400, "Value looks like object, but can't find closing '}' symbol")
    return {
        "id": call.get("id", str, ""),
        "name": function.get("name", str, ""),
        "arguments": function.get("arguments", dict, {}),
    }


def _refuse_images(fields: Fields, model: str) -> None:
    if fields.get("images", list, []):
        raise WireError(400, f"{full_name(model)} does not support vision")


def _no_constant(name: str) -> Any:
    raise ValueError(f"invalid character in {name!r} looking for beginning of value")
