"""Answers on Anthropic's wire, streamed and whole.

Blocks follow one another: each is opened, filled and closed before the next one begins. Clients run
a tool as soon as its block is closed, so the block of a call is written at once, when the call is
complete and validated. Names of events are mandatory; a stream that does not end with
``message_stop`` is asked for again by some clients, without end.

Source: https://docs.claude.com/en/api/messages-streaming.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from fallback.messages import ToolCall, Usage
from fallback.proxy.ask import Ask
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
from fallback.proxy.windows import estimate
from fallback.templating import to_json

__all__ = ["Encoder", "whole_message"]

_EMPTY = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


class Encoder:
    """One stream of events.

    Args:
        ask: what is answered.
        error: writes the body of a failure.
    """

    def __init__(self, ask: Ask, error: Callable[[Failure], dict[str, Any]]) -> None:
        self._ask, self._error = ask, error
        self._index = 0
        self._kind = ""  # of the block that is open

    def open(self) -> bytes:
        """The message, with an estimate of its input: nobody has counted it yet."""
        tools = sum(len(to_json(tool.to_dict())) for tool in self._ask.catalogue)
        guessed = Usage(prompt_tokens=estimate(self._ask.messages, tools))
        message = {
            **_head(self._ask),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(guessed),
        }
        return _event("message_start", message=message) + self.keep_alive()

    def keep_alive(self) -> bytes:
        """A ping."""
        return _event("ping")

    def encode(self, event: Event) -> bytes:
        """One event, or everything that ends the stream."""
        if isinstance(event, TextDelta):
            return self._delta("text", {"type": "text_delta", "text": event.text})
        if isinstance(event, ReasoningDelta):
            return self._delta("thinking", {"type": "thinking_delta", "thinking": event.text})
        if isinstance(event, CallReady):
            return self._close() + self._call(event.call)
        if isinstance(event, Finished):
            delta = _stopped(event)
            end = _event("message_delta", delta=delta, usage=_usage(event.usage))
            return self._close() + end + _event("message_stop")
        if isinstance(event, Failed):
            # The open block stays open: what is in it is not all.
            return _named("error", self._error(event.failure)) + _event("message_stop")
        return b""  # calls come complete on this wire

    def _delta(self, kind: str, delta: Mapping[str, Any]) -> bytes:
        opened = b""
        if self._kind != kind:
            opened = self._close() + self._start(_EMPTY[kind])
            self._kind = kind
        return opened + _event("content_block_delta", index=self._index, delta=delta)

    def _call(self, call: ToolCall) -> bytes:
        start = self._start({**_tool_use(call), "input": {}})
        written = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        delta = _event("content_block_delta", index=self._index, delta=written)
        self._kind = "tool_use"
        return start + delta + self._close()

    def _start(self, block: Mapping[str, Any]) -> bytes:
        return _event("content_block_start", index=self._index, content_block=block)

    def _close(self) -> bytes:
        if not self._kind:
            return b""
        closed = _event("content_block_stop", index=self._index)
        self._kind, self._index = "", self._index + 1
        return closed


def whole_message(ask: Ask, answer: Answer) -> dict[str, Any]:
    """A whole answer: reasoning, text, calls."""
    content: list[dict[str, Any]] = []
    if answer.reasoning:
        content.append({**_EMPTY["thinking"], "thinking": answer.reasoning})
    if answer.text:
        content.append({**_EMPTY["text"], "text": answer.text})
    content += map(_tool_use, answer.calls)
    return {
        **_head(ask),
        "content": content,
        **_stopped(answer.finished),
        "usage": _usage(answer.finished.usage),
    }


def _named(name: str, body: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: {to_json(body)}\n\n".encode()


def _event(kind: str, **fields: Any) -> bytes:
    return _named(kind, {"type": kind, **fields})


def _head(ask: Ask) -> dict[str, Any]:
    identity = f"msg_{secrets.token_hex(12)}"
    return {"id": identity, "type": "message", "role": "assistant", "model": ask.model}


def _tool_use(call: ToolCall) -> dict[str, Any]:
    identity = f"toolu_{call.id.removeprefix('call_')}"
    return {"type": "tool_use", "id": identity, "name": call.name, "input": call.arguments}


def _stopped(finished: Finished) -> dict[str, Any]:
    if finished.stop is not None and finished.reason == "stop":
        return {"stop_reason": "stop_sequence", "stop_sequence": finished.stop}
    reasons = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
    return {"stop_reason": reasons[finished.reason], "stop_sequence": None}


def _usage(usage: Usage) -> dict[str, Any]:
    """The figures; ``input_tokens`` are those that no cache has saved."""
    cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
    figures = {
        "input_tokens": usage.prompt_tokens - cached,
        "output_tokens": usage.completion_tokens,
    }
    return {**figures, "cache_read_input_tokens": cached} if cached else figures
