"""Ollama's own chat: ``POST /api/chat``.

Source: Ollama's API documentation and the behaviour of version 0.33. One JSON object a line; each
has ``model``, ``created_at``, ``message`` and ``done``; calls come complete, one a line, because
some clients take only the first of a line; ``done_reason`` stays ``stop`` with calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fallback.messages import ToolCall, Usage
from fallback.proxy.ask import Ask, Refused
from fallback.proxy.content import array, flag, obj, read_content, text_of
from fallback.proxy.events import (
    Answer,
    CallReady,
    Event,
    Failed,
    Failure,
    Finished,
    ReasoningDelta,
    TextDelta,
)
from fallback.proxy.failures import invalid
from fallback.proxy.history import History, PastCall
from fallback.proxy.toolset import Toolbox, bare_tool, read_choice
from fallback.proxy.wires.fields import model_of, schema_of, stops_of, think_of
from fallback.templating import to_json

__all__ = ["OllamaChat", "is_plain"]

_NANO = 1_000_000_000
_ONLY_THERE = ("logprobs", "top_logprobs", "_debug_render_only")


def is_plain(body: Mapping[str, Any]) -> bool:
    """Whether a request asks for what only the server itself can do: load, or show its insides."""
    if not body.get("messages"):
        return True
    return not body.get("tools") and any(body.get(name) for name in _ONLY_THERE)


class OllamaChat:
    """The wire. See :class:`fallback.proxy.wires.Wire`."""

    name = "ollama"
    content_type = "application/x-ndjson"

    def decode(self, body: Mapping[str, Any], toolbox: Toolbox) -> Ask:
        """Read a request."""
        model = model_of(body)
        history = read_messages(body.get("messages"))
        if not history.messages:
            raise Refused(invalid("messages is empty: there is nothing to answer"))
        given = [tool for tool in map(bare_tool, array(body.get("tools"))) if tool is not None]
        tools = toolbox.read(given)
        choice = read_choice(body.get("tool_choice"), tools.catalogue)
        options = {k: v for k, v in obj(body.get("options")).items() if v is not None}
        keep_alive = body.get("keep_alive")
        return Ask(
            wire=self.name,
            model=model,
            messages=history.messages,
            catalogue=choice.catalogue,
            tool_choice=choice.value,
            stream=flag(body.get("stream"), True),
            options={k: v for k, v in options.items() if k != "stop"},
            stop=stops_of(options.get("stop")),
            format=_format(body.get("format")),
            think=think_of(body),
            keep_alive=keep_alive if _is_duration(keep_alive) else None,
            extra={"tools_left_out": "tools" not in body},
            ignored=(*tools.ignored, *history.notes),
        )

    def stream(self, ask: Ask) -> Encoder:
        """Begin a stream."""
        return Encoder(ask)

    def whole(self, ask: Ask, answer: Answer) -> dict[str, Any]:
        """One object with everything in it."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if answer.reasoning:
            message["thinking"] = answer.reasoning
        if answer.calls:
            message["tool_calls"] = [_call(call, i) for i, call in enumerate(answer.calls)]
        return {**_head(ask), "message": message, **_end(answer.finished)}

    def error(self, failure: Failure) -> dict[str, Any]:
        """The text of the error, which clients show as it is."""
        return {"error": failure.message}


# Reading -----------------------------------------------------------------------------------------


def read_messages(value: Any) -> History:
    """The ``messages`` of a request."""
    history = History()
    for entry in array(value):
        message = obj(entry)
        role = text_of(message.get("role")).lower()
        content = read_content(message.get("content"))
        attached = (image for image in array(message.get("images")) if isinstance(image, str))
        images = (*content.images, *map(_bare_image, attached))
        if role in ("system", "developer"):
            history.system(content.text)
        elif role == "assistant":
            history.assistant(content.text, list(map(_past, array(message.get("tool_calls")))))
        elif role in ("tool", "function"):
            history.result(
                content.text,
                call_id=message.get("tool_call_id"),
                name=message.get("tool_name") or message.get("name"),
                images=images,
            )
        elif content.text or images:
            history.user(content.text, images)
    return history


def _bare_image(image: str) -> str:
    return image.partition(",")[2] if image.startswith("data:") else image


def _past(value: Any) -> PastCall:
    call = obj(value)
    function = obj(call.get("function")) or call
    return PastCall(call.get("id"), function.get("name"), function.get("arguments"))


def _format(value: Any) -> Mapping[str, Any] | None:
    if value == "json":
        return {"type": "object"}
    return schema_of(value) if isinstance(value, Mapping) and value else None


def _is_duration(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


# Writing -----------------------------------------------------------------------------------------


class Encoder:
    """One stream of lines."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def open(self) -> bytes:
        """Nothing: the first line is the first piece of the answer."""
        return b""

    def keep_alive(self) -> bytes:
        """A line without content."""
        return self._piece("")

    def encode(self, event: Event) -> bytes:
        """One event as a line."""
        if isinstance(event, TextDelta):
            return self._piece(event.text)
        if isinstance(event, ReasoningDelta):
            return self._piece("", thinking=event.text)
        if isinstance(event, CallReady):
            return self._piece("", tool_calls=[_call(event.call, event.index)])
        if isinstance(event, Finished):
            message = {"role": "assistant", "content": ""}
            return _line({**_head(self._ask), "message": message, **_end(event)})
        if isinstance(event, Failed):
            return _line({"error": event.failure.message})
        return b""  # calls come complete on this wire

    def _piece(self, content: str, **more: Any) -> bytes:
        message = {"role": "assistant", "content": content, **more}
        return _line({**_head(self._ask), "message": message, "done": False})


def _line(value: Mapping[str, Any]) -> bytes:
    return to_json(value).encode() + b"\n"


def _head(ask: Ask) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return {"model": ask.model, "created_at": now}


def _call(call: ToolCall, index: int) -> dict[str, Any]:
    function = {"index": index, "name": call.name, "arguments": call.arguments}
    return {"id": call.id, "function": function}


def _end(finished: Finished) -> dict[str, Any]:
    usage: Usage = finished.usage
    writing = max(usage.seconds - usage.load_seconds - usage.prompt_seconds, 0.0)
    return {
        "done": True,
        "done_reason": "length" if finished.reason == "length" else "stop",
        "total_duration": int(usage.seconds * _NANO),
        "load_duration": int(usage.load_seconds * _NANO),
        "prompt_eval_count": usage.prompt_tokens,
        "prompt_eval_duration": int(usage.prompt_seconds * _NANO),
        "eval_count": usage.completion_tokens,
        "eval_duration": int(writing * _NANO),
    }
