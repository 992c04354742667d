"""OpenAI's chat completions: ``POST /v1/chat/completions``.

Source: https://platform.openai.com/docs/api-reference/chat; what real clients send, and which
streams all of them accept, was measured with some thirty of them.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

from fallback.messages import ToolCall, Usage
from fallback.proxy.ask import Ask, Refused
from fallback.proxy.content import array, flag, number, obj, read_content, text_of
from fallback.proxy.events import (
    Answer,
    ArgumentsDelta,
    CallBegun,
    CallReady,
    Event,
    Failure,
    FailureKind,
    Finished,
    ReasoningDelta,
    TextDelta,
)
from fallback.proxy.failures import invalid
from fallback.proxy.history import History, PastCall
from fallback.proxy.toolset import Toolbox, bare_tool, read_choice
from fallback.proxy.wires.fields import model_of, schema_of, stops_of, think_of
from fallback.templating import to_json

__all__ = ["OpenAIChat", "error_body", "error_type", "sse"]

_OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "max_tokens": "num_predict",
    "max_completion_tokens": "num_predict",
    "num_ctx": "num_ctx",
}
_TYPES: dict[FailureKind, str] = {
    "unauthorized": "authentication_error",
    "forbidden": "permission_error",
    "not_found": "not_found_error",
    "busy": "rate_limit_error",
}


class OpenAIChat:
    """The wire. See :class:`fallback.proxy.wires.Wire`."""

    name = "chat"
    content_type = "text/event-stream"

    def decode(self, body: Mapping[str, Any], toolbox: Toolbox) -> Ask:
        """Read a request."""
        count = body.get("n")
        if isinstance(count, int) and not isinstance(count, bool) and count > 1:
            raise Refused(invalid("one answer at a time: leave n out", param="n"))
        model = model_of(body)
        history = read_messages(body.get("messages"))
        if not history.messages:
            raise Refused(
                invalid("messages is empty: there is nothing to answer", param="messages")
            )
        tools = toolbox.read(_tools(body))
        choice = read_choice(_choice(body), tools.catalogue)
        return Ask(
            wire=self.name,
            model=model,
            messages=history.messages,
            catalogue=choice.catalogue,
            tool_choice=choice.value,
            parallel=flag(body.get("parallel_tool_calls"), True),
            stream=flag(body.get("stream"), False),
            options=_options(body),
            stop=stops_of(body.get("stop")),
            format=_format(body.get("response_format")),
            think=think_of(body),
            keep_alive=_keep_alive(body.get("keep_alive")),
            include_usage=obj(body.get("stream_options")).get("include_usage") is True,
            extra={"legacy": bool(body.get("functions")) and not body.get("tools")},
            ignored=(*tools.ignored, *history.notes),
        )

    def stream(self, ask: Ask) -> Encoder:
        """Begin a stream."""
        return Encoder(ask)

    def whole(self, ask: Ask, answer: Answer) -> dict[str, Any]:
        """A ``chat.completion``."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.reasoning:
            message["reasoning"] = answer.reasoning
        if answer.calls and ask.extra.get("legacy"):
            message["function_call"] = _function(answer.calls[0])
        elif answer.calls:
            message["tool_calls"] = [_call(call, i) for i, call in enumerate(answer.calls)]
        elif not answer.text:
            message["content"] = ""
        reason = _reason(answer.finished, ask)
        return {
            **_head(ask, "chat.completion"),
            "choices": [
                {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
            ],
            "usage": _usage(answer.finished.usage),
        }

    def error(self, failure: Failure) -> dict[str, Any]:
        """An error object."""
        return error_body(failure)


# Reading -----------------------------------------------------------------------------------------


def read_messages(value: Any) -> History:
    """The ``messages`` of a request, of whatever roles they are."""
    history = History()
    for entry in array(value):
        message = obj(entry)
        role = text_of(message.get("role")).lower()
        content = read_content(message.get("content"))
        if role in ("system", "developer"):
            history.system(content.text)
        elif role == "assistant":
            history.assistant(content.text or text_of(message.get("refusal")), _past(message))
        elif role in ("tool", "function"):
            history.result(
                content.text,
                call_id=message.get("tool_call_id"),
                name=message.get("name") or message.get("tool_name"),
                images=content.images,
            )
        elif content.text or content.images:
            history.user(content.text, content.images)
    return history


def _past(message: Mapping[str, Any]) -> list[PastCall]:
    calls = [obj(call) for call in array(message.get("tool_calls"))]
    legacy = obj(message.get("function_call"))
    if legacy and not calls:
        calls = [{"function": legacy}]
    past = []
    for call in calls:
        function = obj(call.get("function")) or call
        past.append(PastCall(call.get("id"), function.get("name"), function.get("arguments")))
    return past


def _tools(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    given = array(body.get("tools")) or array(body.get("functions"))
    return [tool for tool in map(bare_tool, given) if tool is not None]


def _choice(body: Mapping[str, Any]) -> Any:
    return body.get("tool_choice", body.get("function_call"))


def _options(body: Mapping[str, Any]) -> dict[str, Any]:
    """Ollama's options; some clients put them beside OpenAI's fields and expect an effect."""
    options = {k: v for k, v in obj(body.get("options")).items() if v is not None and k != "stop"}
    for theirs, ours in _OPTIONS.items():
        value = number(body.get(theirs))
        if value is not None:
            options[ours] = value
    return options


def _format(value: Any) -> Mapping[str, Any] | None:
    wanted = obj(value)
    if wanted.get("type") == "json_object":
        return {"type": "object"}
    if wanted.get("type") == "json_schema":
        return schema_of(obj(wanted.get("json_schema")).get("schema"))
    return None


def _keep_alive(value: Any) -> str | float | None:
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None


# Writing -----------------------------------------------------------------------------------------


class Encoder:
    """One stream of ``chat.completion.chunk`` events."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._head = _head(ask, "chat.completion.chunk")
        self._begun: set[int] = set()

    def open(self) -> bytes:
        """The role."""
        return self._chunk({"role": "assistant", "content": ""})

    def keep_alive(self) -> bytes:
        """A delta of nothing; comments do not count as progress for every client."""
        return self._chunk({"content": ""})

    def encode(self, event: Event) -> bytes:
        """One event, or everything that ends the stream."""
        if isinstance(event, TextDelta):
            return self._chunk({"content": event.text})
        if isinstance(event, ReasoningDelta):
            return self._chunk({"reasoning": event.text})
        if isinstance(event, CallBegun | ArgumentsDelta | CallReady):
            return self._call(event)
        if isinstance(event, Finished):
            return self._end(event)
        return sse(error_body(event.failure)) + _DONE

    def _call(self, event: CallBegun | ArgumentsDelta | CallReady) -> bytes:
        if self._ask.extra.get("legacy"):
            if event.index or not isinstance(event, CallReady):
                return b""
            return self._chunk({"function_call": _function(event.call)})
        if isinstance(event, CallBegun):
            self._begun.add(event.index)
            delta = _delta(event.index, event.id, event.name, "")
        elif isinstance(event, ArgumentsDelta):
            delta = {"index": event.index, "function": {"arguments": event.fragment}}
        elif event.index in self._begun:
            return b""  # all of it has been told
        else:
            delta = _call(event.call, event.index)
        return self._chunk({"tool_calls": [delta]})

    def _end(self, event: Finished) -> bytes:
        end = self._chunk({}, _reason(event, self._ask))
        if self._ask.include_usage:
            end += sse({**self._head, "choices": [], "usage": _usage(event.usage)})
        return end + _DONE

    def _chunk(self, delta: Mapping[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return sse({**self._head, "choices": [choice]})


_DONE = b"data: [DONE]\n\n"


def sse(value: Mapping[str, Any]) -> bytes:
    """An event without a name."""
    return b"data: " + to_json(value).encode() + b"\n\n"


def error_type(failure: Failure) -> str:
    """The ``type`` of an error on OpenAI's wires."""
    found = _TYPES.get(failure.kind)
    if found is not None:
        return found
    return "invalid_request_error" if failure.status < 500 else "api_error"


def error_body(failure: Failure) -> dict[str, Any]:
    """An error as OpenAI's wires have it."""
    message = failure.message
    if failure.kind == "overflow" and failure.num_ctx is not None:
        # The words that clients look for; they compact the conversation then.
        message = (
            f"This model's maximum context length is {failure.num_ctx} tokens. However, your"
            f" messages resulted in {failure.prompt_tokens or 'more'} tokens. {message}"
        )
    error = {
        "message": message,
        "type": error_type(failure),
        "param": failure.param,
        "code": failure.code,
    }
    return {"error": error}


def _head(ask: Ask, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": kind,
        "created": int(time.time()),
        "model": ask.model,
        "system_fingerprint": "fp_fallback",
    }


def _call(call: ToolCall, index: int) -> dict[str, Any]:
    return _delta(index, call.id, **_function(call))


def _delta(index: int, identity: str, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": identity, "type": "function", "function": function}


def _function(call: ToolCall) -> dict[str, str]:
    return {"name": call.name, "arguments": json.dumps(call.arguments)}


def _reason(finished: Finished, ask: Ask) -> str:
    if finished.reason == "tool_calls" and ask.extra.get("legacy"):
        return "function_call"
    return finished.reason


def _usage(usage: Usage) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
    if usage.cached_tokens is not None:
        figures["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    return figures
