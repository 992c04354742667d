"""Answers on the wire of ``/v1/responses``, streamed and whole.

Each item is opened, filled and closed before the next one. The item of a call is written at once,
when the call is complete and validated: clients run it as soon as it is done. The stream ends with
``response.completed`` or ``response.failed``.

An answer that was cut off is ``completed`` with the status ``incomplete``: Codex takes the event
``response.incomplete`` for a broken stream and asks again, and other clients read the status.

Source: https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from typing import Any, Literal

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
from fallback.proxy.wires.openai_chat import error_body
from fallback.proxy.wires.responses_tools import TEXT_ARGUMENT, Origin
from fallback.templating import to_json

__all__ = ["Encoder", "whole_response"]

Status = Literal["in_progress", "completed", "incomplete", "failed"]
_Kind = Literal["message", "reasoning"]
_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}


class Encoder:
    """One stream of events."""

    def __init__(self, ask: Ask) -> None:
        self._ask, self._head = ask, _head(ask)
        self._number = 0
        self._output: list[dict[str, Any]] = []
        self._kind: _Kind | None = None
        self._identity = ""
        self._pieces: list[str] = []

    def open(self) -> bytes:
        """The response, with nothing in it yet."""
        return self._whole("response.created", "in_progress") + self.keep_alive()

    def keep_alive(self) -> bytes:
        """The same again; Codex does not count comments as progress."""
        return self._whole("response.in_progress", "in_progress")

    def encode(self, event: Event) -> bytes:
        """One event, or everything that ends the stream."""
        if isinstance(event, TextDelta):
            return self._delta("message", event.text)
        if isinstance(event, ReasoningDelta):
            return self._delta("reasoning", event.text)
        if isinstance(event, CallReady):
            return self._close() + self._call(event.call)
        if isinstance(event, Finished):
            status = _status(event)
            closed = self._close(status)
            more = {"usage": _usage(event.usage), **_incomplete(event)}
            return closed + self._whole("response.completed", status, self._output, **more)
        if isinstance(event, Failed):
            error = {"error": _error(event.failure)}
            return self._whole("response.failed", "failed", self._output, **error)
        return b""  # calls come complete on this wire

    # Items --------------------------------------------------------------------------------------

    def _delta(self, kind: _Kind, text: str) -> bytes:
        opened = b""
        if self._kind != kind:
            opened = self._close() + self._start(kind)
        self._pieces.append(text)
        if kind == "message":
            return opened + self._part("response.output_text.delta", delta=text, logprobs=[])
        return opened + self._part("response.reasoning_summary_text.delta", delta=text)

    def _start(self, kind: _Kind) -> bytes:
        self._kind, self._identity, self._pieces = kind, _identity(kind), []
        item = _item(kind, self._identity, "in_progress", None)
        added = self._event("response.output_item.added", output_index=self._index, item=item)
        if kind == "message":
            return added + self._part("response.content_part.added", part=_text_part(""))
        return added + self._part("response.reasoning_summary_part.added", part=_summary(""))

    def _close(self, status: Status = "completed") -> bytes:
        """The end of the item that is open, if one is."""
        kind, text = self._kind, "".join(self._pieces)
        if kind is None:
            return b""
        if kind == "message":
            done = self._part("response.output_text.done", text=text, logprobs=[])
            done += self._part("response.content_part.done", part=_text_part(text))
        else:
            done = self._part("response.reasoning_summary_text.done", text=text)
            done += self._part("response.reasoning_summary_part.done", part=_summary(text))
        self._kind = None
        return done + self._done(_item(kind, self._identity, status, text))

    def _call(self, call: ToolCall) -> bytes:
        item = _called(call, self._ask)
        custom = item["type"] == "custom_tool_call"
        field = "input" if custom else "arguments"
        where = {"output_index": self._index, "item_id": item["id"]}
        kind = "custom_tool_call_input" if custom else "function_call_arguments"
        begun = {**item, "status": "in_progress", field: ""}
        return (
            self._event("response.output_item.added", output_index=self._index, item=begun)
            + self._event(f"response.{kind}.delta", **where, delta=item[field])
            + self._event(f"response.{kind}.done", **where, **{field: item[field]})
            + self._done(item)
        )

    def _done(self, item: dict[str, Any]) -> bytes:
        done = self._event("response.output_item.done", output_index=self._index, item=item)
        self._output.append(item)
        return done

    # Events -------------------------------------------------------------------------------------

    @property
    def _index(self) -> int:
        return len(self._output)

    def _part(self, kind: str, **fields: Any) -> bytes:
        where = "content_index" if self._kind == "message" else "summary_index"
        place = {"item_id": self._identity, "output_index": self._index, where: 0}
        return self._event(kind, **place, **fields)

    def _whole(
        self, kind: str, status: Status, output: list[dict[str, Any]] | None = None, **more: Any
    ) -> bytes:
        told = {**self._head, "status": status, "output": output or [], **more}
        return self._event(kind, response=told)

    def _event(self, kind: str, **fields: Any) -> bytes:
        told = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return f"event: {kind}\ndata: {to_json(told)}\n\n".encode()


def whole_response(ask: Ask, answer: Answer) -> dict[str, Any]:
    """A whole answer: reasoning, text, calls."""
    status = _status(answer.finished)
    output: list[dict[str, Any]] = []
    if answer.reasoning:
        output.append(_item("reasoning", _identity("reasoning"), "completed", answer.reasoning))
    if answer.text:
        output.append(_item("message", _identity("message"), status, answer.text))
    output += (_called(call, ask) for call in answer.calls)
    return {
        **_head(ask),
        "status": status,
        "output": output,
        "usage": _usage(answer.finished.usage),
        **_incomplete(answer.finished),
    }


def _identity(kind: str) -> str:
    return f"{_PREFIXES[kind]}_{secrets.token_hex(12)}"


def _head(ask: Ask) -> dict[str, Any]:
    """What a response says of itself; tools and instructions are not sent back."""
    choice = ask.tool_choice
    named = choice not in ("auto", "none", "required")
    return {
        "id": f"resp_{secrets.token_hex(12)}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": ask.options.get("num_predict"),
        "metadata": {},
        "model": ask.model,
        "output": [],
        "parallel_tool_calls": ask.parallel,
        "previous_response_id": None,
        "store": False,
        "temperature": ask.options.get("temperature"),
        "tool_choice": {"type": "function", "name": choice} if named else choice,
        "tools": [],
        "top_p": ask.options.get("top_p"),
        "truncation": "disabled",
        "usage": None,
    }


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _summary(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "text": text}


def _item(kind: _Kind, identity: str, status: Status, text: str | None) -> dict[str, Any]:
    """A message or reasoning; without text it has only begun."""
    if kind == "reasoning":
        summary = [] if text is None else [_summary(text)]
        return {"id": identity, "type": kind, "summary": summary}
    content = [] if text is None else [_text_part(text)]
    return {
        "id": identity,
        "type": kind,
        "status": status,
        "role": "assistant",
        "content": content,
    }


def _called(call: ToolCall, ask: Ask) -> dict[str, Any]:
    """A call in the form in which the client declared its tool."""
    origins: Mapping[str, Origin] = ask.extra.get("origins", {})
    origin = origins.get(call.name) or Origin(call.name)
    kind = "custom_tool_call" if origin.custom else "function_call"
    item = {"id": _identity(kind), "type": kind, "status": "completed", "call_id": call.id}
    if origin.namespace:
        item["namespace"] = origin.namespace
    item["name"] = origin.name
    if origin.custom:
        return {**item, "input": str(call.arguments.get(TEXT_ARGUMENT, ""))}
    return {**item, "arguments": json.dumps(call.arguments)}


def _status(finished: Finished) -> Status:
    return "incomplete" if finished.reason == "length" else "completed"


def _incomplete(finished: Finished) -> dict[str, Any]:
    cut = finished.reason == "length"
    return {"incomplete_details": {"reason": "max_output_tokens"}} if cut else {}


def _error(failure: Failure) -> dict[str, Any]:
    """Codes by which Codex knows whether it is worth asking again."""
    code = failure.code if failure.kind == "overflow" else None
    if code is None and failure.kind == "busy":
        code = "rate_limit_exceeded"
    code = code or ("invalid_prompt" if failure.status < 500 else "server_error")
    return {"code": code, "message": error_body(failure)["error"]["message"]}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens or 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
