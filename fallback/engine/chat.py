"""``POST /api/chat``: a conversation is continued, with tools if there are any.

This is Ollama's *native* path: llama.cpp makes the prompt with the model's own Jinja template
(ChatML if the model has none) and reads the calls with its own parser. All calls come in the last
line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fallback.engine.generate import token_logprob
from fallback.engine.generation import (
    Event,
    Job,
    Line,
    llama_settings,
    run,
    statistics,
    window_exceeded,
)
from fallback.engine.llama import LlamaError, LlamaServer
from fallback.engine.reply import Reply, WireError, json_reply
from fallback.engine.runtime import Lease
from fallback.engine.wire import ChatRequest

Messages = Sequence[Mapping[str, Any]]


def chat(request: ChatRequest, job: Job, lease: Lease) -> Reply:
    """Answer the request. The lease is given back by the reply, or here if there is an error."""
    offer = _offer(request, job)
    messages: Messages = [llama_message(message) for message in request.messages]
    prompt, ids = _measure(messages, offer, lease.server)
    if len(ids) >= job.window and job.common.truncate:
        messages = _drop_oldest(messages, offer, job, lease.server)
        prompt, ids = _measure(messages, offer, lease.server)
    if request.common.render_only:
        lease.release()
        message = {"role": "", "content": ""}
        info = {"rendered_template": prompt}
        return json_reply(job.line(message=message, done=False, _debug_info=info))
    if len(ids) >= job.window:
        raise window_exceeded(len(ids), job.window)
    body = {
        **llama_settings(job, prompt_tokens=len(ids)),
        **offer,
        "messages": messages,
        "stream_options": {"include_usage": True},
    }
    if job.common.options.num_predict == 0:
        body["n_predict"] = 1  # what llama.cpp makes of Ollama's zero here
    if request.common.logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": request.common.logprobs}

    def lines(events: Iterator[Event]) -> Iterator[Line]:
        return _lines(request, job, lease, events)

    return run(job, lease, "/v1/chat/completions", body, ids, lines, _joined)


def _offer(request: ChatRequest, job: Job) -> dict[str, Any]:
    """What the template is told beside the messages."""
    offer: dict[str, Any] = {}
    if request.tools:
        offer["tools"] = request.tools
    think = job.think
    if think is not None:
        arguments: dict[str, Any] = {"enable_thinking": bool(think)}
        if isinstance(think, str):
            arguments["reasoning_effort"] = think
        offer["chat_template_kwargs"] = arguments
    return offer


def llama_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of Ollama's wire in llama.cpp's form, which is OpenAI's: arguments are a string."""
    shown: dict[str, Any] = {"role": message["role"], "content": message["content"]}
    if "thinking" in message:
        shown["reasoning_content"] = message["thinking"]
    if "tool_name" in message:
        shown["name"] = message["tool_name"]
    if "tool_call_id" in message:
        shown["tool_call_id"] = message["tool_call_id"]
    if "tool_calls" in message:
        shown["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {
                    "name": call["name"],
                    "arguments": json.dumps(call["arguments"], ensure_ascii=False),
                },
            }
            for call in message["tool_calls"]
        ]
    return shown


def _measure(
    messages: Messages, offer: Mapping[str, Any], server: LlamaServer
) -> tuple[str, tuple[int, ...]]:
    """The rendered prompt and its tokens."""
    prompt = server.apply_template({**offer, "messages": messages})
    return prompt, server.tokenize(prompt)


def _drop_oldest(
    messages: Messages, offer: Mapping[str, Any], job: Job, server: LlamaServer
) -> list[Mapping[str, Any]]:
    """Leave out as few of the oldest messages as make the rest fit.

    Every system message and the last message stay. How many to drop is found by bisection, since
    each try renders the whole conversation. A template that refuses a rest counts as one that does
    not fit.
    """
    droppable = [
        index for index, message in enumerate(messages[:-1]) if message["role"] != "system"
    ]

    def rest(count: int) -> list[Mapping[str, Any]]:
        gone = set(droppable[:count])
        return [message for index, message in enumerate(messages) if index not in gone]

    def fits(count: int) -> bool:
        try:
            return len(_measure(rest(count), offer, server)[1]) < job.window
        except LlamaError:
            return False

    low, high = 0, len(droppable)
    while low < high:
        middle = (low + high) // 2
        if fits(middle):
            high = middle
        else:
            low = middle + 1
    return rest(low)


@dataclass(slots=True)
class _Call:
    """A call whose pieces are being collected."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Collected:
    """What the last line needs from the events before it."""

    calls: dict[int, _Call] = field(default_factory=dict)
    reason: str = "stop"

    def add(self, delta: Mapping[str, Any]) -> None:
        for piece in delta.get("tool_calls") or ():
            call = self.calls.setdefault(int(piece["index"]), _Call())
            function = piece.get("function", {})
            call.id += piece.get("id") or ""
            call.name += function.get("name") or ""
            call.arguments.append(function.get("arguments") or "")

    def tool_calls(self) -> list[dict[str, Any]]:
        return [self._shown(index, call) for index, call in sorted(self.calls.items())]

    def _shown(self, index: int, call: _Call) -> dict[str, Any]:
        try:
            arguments = json.loads("".join(call.arguments) or "{}")
        except ValueError as error:
            raise _bad_arguments(call.name, error) from error
        if not isinstance(arguments, dict):
            raise _bad_arguments(call.name, "they are not an object")
        function = {"index": index, "name": call.name, "arguments": arguments}
        return {**({"id": call.id} if call.id else {}), "function": function}


def _bad_arguments(name: str, reason: object) -> WireError:
    return WireError(
        500, f'llama-server returned invalid tool call arguments for "{name}": {reason}'
    )


def _lines(request: ChatRequest, job: Job, lease: Lease, events: Iterator[Event]) -> Iterator[Line]:
    collected = _Collected()
    timings: Mapping[str, Any] = {}
    for event in events:
        timings = event.get("timings", timings)
        for choice in event.get("choices", ()):
            delta = choice.get("delta", {})
            collected.add(delta)
            if choice.get("finish_reason") == "length":
                collected.reason = "length"
            if message := _message(delta):
                extra = _logprobs(request, choice)
                yield job.line(message={"role": "assistant", **message}, done=False, **extra)
    last: dict[str, Any] = {"role": "assistant", "content": ""}
    if calls := collected.tool_calls():
        last["tool_calls"] = calls
    line = job.line(message=last, done=True, done_reason=collected.reason)
    yield {**line, **statistics(job, lease, timings)}


def _message(delta: Mapping[str, Any]) -> dict[str, str]:
    content, thinking = delta.get("content"), delta.get("reasoning_content")
    if not content and not thinking:
        return {}
    return {"content": content or "", **({"thinking": thinking} if thinking else {})}


def _logprobs(request: ChatRequest, choice: Mapping[str, Any]) -> dict[str, Any]:
    alternatives = request.common.logprobs
    entries = (choice.get("logprobs") or {}).get("content") or ()
    if alternatives is None or not entries:
        return {}
    return {"logprobs": [token_logprob(entry, alternatives) for entry in entries]}


def _joined(lines: list[Line]) -> Line:
    whole = dict(lines[-1])
    message = dict(whole["message"])
    message["content"] = "".join(line["message"]["content"] for line in lines)
    if thinking := "".join(line["message"].get("thinking", "") for line in lines):
        message["thinking"] = thinking
    whole["message"] = message
    if logprobs := [entry for line in lines for entry in line.get("logprobs", ())]:
        whole["logprobs"] = logprobs
    return whole
