"""Requests to Ollama's API as plain values, and the bodies of all of them. No I/O.

Source: Ollama's API documentation, ``/api/generate``, ``/api/chat``, ``/api/show``, ``/api/tags``,
``/api/ps`` and ``/api/version``, and the behaviour of version 0.33.

What must stay true: every generation names its window (``num_ctx``) and forbids silent cuts. With
``truncate`` left out a prompt that does not fit loses its front, the tools first, and with
``shift`` left out a reply that fills the window throws the prompt away while it is being written;
both with status 200.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fallback.backend import GenerationRequest
from fallback.errors import ConfigurationError
from fallback.limits import Limits

__all__ = [
    "Answer",
    "Exchange",
    "chat",
    "common_fields",
    "encoded",
    "generate_raw",
    "generate_system",
    "options_for",
    "ps",
    "render_only",
    "show",
    "stops",
    "tags",
    "version",
]


_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request: ``body`` is sent as JSON; a ``GET`` has none."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer that was not streamed."""

    status: int
    body: bytes


def encoded(body: Mapping[str, Any]) -> bytes:
    """A body as JSON. Lone surrogates, such as a file name may hold, become U+FFFD.

    Raises:
        ConfigurationError: an option, a format or a schema is no plain JSON.
    """
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"the request cannot be written as JSON: {error}") from error
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).encode()


def tags() -> Exchange:
    """List the models."""
    return Exchange("GET", "/api/tags")


def ps() -> Exchange:
    """List the loaded models."""
    return Exchange("GET", "/api/ps")


def version() -> Exchange:
    """Ask for the server's version."""
    return Exchange("GET", "/api/version")


def show(model: str) -> Exchange:
    """Ask what a model is."""
    return Exchange("POST", "/api/show", {"model": model})


def stops(*groups: Iterable[str]) -> list[str]:
    """Join lists of stop strings, each string once, in order."""
    return list(dict.fromkeys(stop for group in groups for stop in group if stop))


def options_for(
    request: GenerationRequest, *, num_ctx: int, stop: Sequence[str], limits: Limits
) -> dict[str, Any]:
    """The ``options`` of a generation.

    Args:
        request: its own options stay, except that ``stop`` is joined and ``num_ctx`` decided.
        num_ctx: window in tokens.
        stop: the model's own end strings. Ollama's ``stop`` replaces the model's list, so they are
            sent again; without them the model would run on.
        limits: ``num_predict`` where the request does not say. Ollama takes 0 for "no limit" on
            some paths and for 1 on others; it is always 1 here.
    """
    options = dict(request.options)
    own = options.pop("stop", None) or ()
    joined = stops(stop, (own,) if isinstance(own, str) else own, request.stop)
    if joined:
        options["stop"] = joined
    options["num_ctx"] = num_ctx
    asked = options.get("num_predict")
    options["num_predict"] = limits.num_predict if asked is None else asked or 1
    return options


def common_fields(
    model: str,
    options: Mapping[str, Any],
    *,
    think: bool | str | None = None,
    response_format: Mapping[str, Any] | None = None,
    keep_alive: str | float | None = None,
) -> dict[str, Any]:
    """What every generation says. ``None`` leaves a field out: Ollama has its own default then."""
    fields: dict[str, Any] = {
        "model": model,
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": dict(options),
    }
    given = {"think": think, "format": response_format, "keep_alive": keep_alive}
    return fields | {name: value for name, value in given.items() if value is not None}


def generate_raw(fields: Mapping[str, Any], prompt: str) -> Exchange:
    """Send a finished prompt; the server adds nothing but BOS."""
    return Exchange("POST", "/api/generate", {**fields, "raw": True, "prompt": prompt})


def generate_system(fields: Mapping[str, Any], system: str | None, prompt: str) -> Exchange:
    """Send a system text and one prompt; the server renders them with the model's own template."""
    told = {"system": system} if system else {}
    return Exchange("POST", "/api/generate", {**fields, **told, "prompt": prompt})


def chat(
    fields: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] = (),
) -> Exchange:
    """Send a conversation. Without tools the field is left out: ``[]`` means the same to Ollama."""
    offered = {"tools": list(tools)} if tools else {}
    return Exchange("POST", "/api/chat", {**fields, "messages": list(messages), **offered})


def render_only(exchange: Exchange) -> Exchange:
    """The same request, asking for the rendered prompt in place of a reply (Ollama 0.11.5).

    An older server ignores the field and generates; one token is all it may then write.
    """
    body = dict(exchange.body or {})
    body["options"] = {**body.get("options", {}), "num_predict": 1}
    return Exchange(
        exchange.method, exchange.path, {**body, "stream": False, "_debug_render_only": True}
    )
