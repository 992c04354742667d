"""A backend for any server with OpenAI's chat endpoint: llama-server, vLLM, LM Studio and others.

Prompt mode only: tools stand in the messages, and calls are read from the text, so it does not
matter what the server thinks of tools.

Source: https://platform.openai.com/docs/api-reference/chat, and how those servers differ from it:
``reasoning_content`` (vLLM, llama-server) beside ``reasoning``, and errors as an event in a stream.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx

from fallback.backend import Chunk, GenerationRequest, ModelInfo
from fallback.errors import (
    BackendError,
    BackendProtocolError,
    BackendStatusError,
    CapabilityError,
    ConfigurationError,
    ContextWindowError,
    ModelNotFoundError,
)
from fallback.limits import Limits
from fallback.messages import FinishReason, Message, Usage
from fallback.ollama.exchange import encoded
from fallback.ollama.failures import mapped, read_error, shown
from fallback.proxy.content import number, obj, text_of

__all__ = ["OpenAIBackend"]

_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|exceed_context_size|too many tokens|maximum context",
    re.IGNORECASE,
)
_NAMES = {
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "num_predict": "max_tokens",
}


class OpenAIBackend:
    """Generates through ``POST /v1/chat/completions``.

    Args:
        base: address without ``/v1``.
        client: not closed with the backend.
        limits: sizes and timeouts.
        where: the server, for people to read.
    """

    def __init__(self, base: str, *, client: httpx.AsyncClient, limits: Limits, where: str) -> None:
        self._base, self._client, self._limits, self._where = base, client, limits, where

    async def adescribe(self, model: str) -> ModelInfo:
        """What can be known: such servers do not tell what a model can do."""
        return ModelInfo(name=model, capabilities=frozenset({"completion", "vision"}))

    async def astream(self, request: GenerationRequest) -> AsyncGenerator[Chunk]:
        """See :meth:`fallback.backend.AsyncBackend.astream`."""
        try:
            from httpx_sse import EventSource
        except ImportError:
            raise ConfigurationError(
                f"{self._where} speaks OpenAI's wire, which needs httpx-sse:"
                " pip install 'toolcall-fallback[server]'"
            ) from None

        if request.catalogue is not None:
            raise CapabilityError(
                "tools are not sent to servers of OpenAI's wire: use mode prompt or auto",
                status=400,
                missing="tools",
            )
        url = f"{self._base}/v1/chat/completions"
        reading = _Reading(self._where)
        with mapped(self._where):
            async with self._client.stream(
                "POST", url, content=encoded(_body(request)), headers=_HEADERS
            ) as response:
                if response.status_code != 200:
                    body = await _beginning(response, self._limits.max_line_bytes)
                    raise _refusal(response.status_code, body, request.model, self._where)
                async for event in EventSource(response).aiter_sse():
                    if event.data == "[DONE]":
                        break
                    for chunk in reading.feed(event.data):
                        yield chunk
        yield reading.close()

    async def aclose(self) -> None:
        """There is nothing of our own to give back."""


_HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream"}


async def _beginning(response: httpx.Response, size: int) -> bytes:
    """So much of a body as can matter."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > size:
            break
    return bytes(body)


def _body(request: GenerationRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    for ours, theirs in _NAMES.items():
        if request.options.get(ours) is not None:
            body[theirs] = request.options[ours]
    if request.stop:
        body["stop"] = list(request.stop)
    if request.format is not None:
        schema = {"name": "answer", "schema": dict(request.format)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _message(message: Message) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.content}
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}]
    for image in message.images:
        url = f"data:image/{_kind(image)};base64,{image}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return {"role": message.role, "content": parts}


def _kind(image: str) -> str:
    """The format of an image by its first bytes, as base64 has them."""
    beginnings = {"/9j/": "jpeg", "R0lGOD": "gif", "UklGR": "webp"}
    return next((k for b, k in beginnings.items() if image.startswith(b)), "png")


class _Reading:
    """One stream: the chunks of events, and at the end whether it was whole."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._finish: FinishReason | None = None
        self._usage = Usage()
        self._started = time.monotonic()
        self._first: float | None = None

    def feed(self, data: str) -> list[Chunk]:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            raise BackendProtocolError(
                f"{self._where} sent an event that is no JSON object: {shown(data[:200])!r}"
            )
        if event.get("error"):
            raise BackendProtocolError(
                f"{self._where} failed while it was replying: {shown(read_error(event)[0])}"
            )
        self._count(obj(event.get("usage")))
        choices = event.get("choices")
        choice = obj(choices[0]) if isinstance(choices, list) and choices else {}
        if choice.get("finish_reason"):
            self._finish = "length" if choice["finish_reason"] == "length" else "stop"
        delta = obj(choice.get("delta"))
        text = text_of(delta.get("content"))
        thinking = text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning"))
        if not text and not thinking:
            return []
        if self._first is None:
            self._first = time.monotonic() - self._started
        return [Chunk(text=text, thinking=thinking, path="v1/chat")]

    def close(self) -> Chunk:
        if self._finish is None:
            raise BackendProtocolError(
                f"the reply of {self._where} ended before it was done; see the log of the server"
            )
        usage = Usage(
            prompt_tokens=self._usage.prompt_tokens,
            completion_tokens=self._usage.completion_tokens,
            seconds=time.monotonic() - self._started,
            first_token_seconds=self._first,
        )
        return Chunk(done=True, finish_reason=self._finish, usage=usage, path="v1/chat")

    def _count(self, usage: Mapping[str, Any]) -> None:
        if usage:
            self._usage = Usage(
                prompt_tokens=int(number(usage.get("prompt_tokens")) or 0),
                completion_tokens=int(number(usage.get("completion_tokens")) or 0),
            )


def _refusal(status: int, body: bytes, model: str, where: str) -> BackendError:
    text, fields = read_error(body)
    detail = shown(text)
    if status in (400, 413) and (_TOO_LONG.search(text) or "exceed_context" in str(fields)):
        return ContextWindowError(
            f"the prompt for {model!r} does not fit its window: {detail}",
            status=400,
            prompt_tokens=_figure(fields, "n_prompt_tokens"),
            num_ctx=_figure(fields, "n_ctx"),
            detail=detail,
        )
    if status == 404 and "model" in text.lower():
        return ModelNotFoundError(
            f"{where} has no model {model!r}: {detail}", status=404, detail=detail
        )
    message = f"{where} answered {status}: {detail or 'nothing more'}"
    return BackendStatusError(message, status=status, detail=detail)


def _figure(fields: Mapping[str, Any], name: str) -> int | None:
    value = number(fields.get(name))
    return None if value is None else int(value)
