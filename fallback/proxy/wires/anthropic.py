"""Anthropic's messages: ``POST /v1/messages`` and ``POST /v1/messages/count_tokens``.

Source: https://docs.claude.com/en/api/messages and the types of the ``anthropic`` package 2.14;
what Claude Code and other clients send besides, and what they do with an answer, was measured.
Anything unknown is left out of account and never refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fallback.proxy.ask import Ask, Refused
from fallback.proxy.content import array, flag, number, obj, text_of
from fallback.proxy.events import Answer, Failure, FailureKind
from fallback.proxy.failures import invalid
from fallback.proxy.toolset import Choice, Toolbox, Tools, read_choice
from fallback.proxy.wires.anthropic_blocks import read_messages, references
from fallback.proxy.wires.anthropic_stream import Encoder, whole_message
from fallback.proxy.wires.fields import NOT_HERE, model_of, schema_of, stops_of

__all__ = ["AnthropicMessages", "models_page"]

_OPTIONS = {
    "max_tokens": "num_predict",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
}
_TYPES: dict[FailureKind, str] = {
    "unauthorized": "authentication_error",
    "forbidden": "permission_error",
    "not_found": "not_found_error",
    "busy": "overloaded_error",
    "timeout": "timeout_error",
}
_PLACEHOLDER = "DeferredToolPlaceholder"
"""What Claude Code offers so that a list of nothing but deferred tools is not empty."""


class AnthropicMessages:
    """The wire. See :class:`fallback.proxy.wires.Wire`."""

    name = "messages"
    content_type = "text/event-stream"

    def decode(self, body: Mapping[str, Any], toolbox: Toolbox) -> Ask:
        """Read a request."""
        model = model_of(body)
        given, notes = _tools(body)
        notice = NOT_HERE if notes and not given else ""
        history = read_messages(body.get("system"), body.get("messages"), notice=notice)
        if not history.messages:
            raise Refused(
                invalid("messages is empty: there is nothing to answer", param="messages")
            )
        tools = toolbox.read(given)
        choice = _choice(body.get("tool_choice"), tools, left_out=bool(notes))
        return Ask(
            wire=self.name,
            model=model,
            messages=history.messages,
            catalogue=choice.catalogue,
            tool_choice=choice.value,
            parallel=not flag(obj(body.get("tool_choice")).get("disable_parallel_tool_use"), False),
            stream=flag(body.get("stream"), False),
            options=_options(body),
            stop=stops_of(body.get("stop_sequences")),
            format=_format(body),
            think=_think(body),
            ignored=(*notes, *tools.ignored, *history.notes),
        )

    def stream(self, ask: Ask) -> Encoder:
        """Begin a stream."""
        return Encoder(ask, self.error)

    def whole(self, ask: Ask, answer: Answer) -> dict[str, Any]:
        """A ``message``."""
        return whole_message(ask, answer)

    def error(self, failure: Failure) -> dict[str, Any]:
        """An error object; one of a prompt that is too long says so in the words clients know."""
        message = failure.message
        if failure.kind == "overflow":
            figures = failure.prompt_tokens and failure.num_ctx
            told = (
                f"{failure.prompt_tokens} tokens > {failure.num_ctx} maximum. " if figures else ""
            )
            message = f"prompt is too long: {told}{message}"
        error = {"type": _error_type(failure), "message": message}
        return {"type": "error", "error": error, "request_id": None}


def models_page(listing: Mapping[str, Any]) -> dict[str, Any]:
    """``/v1/models`` as clients of this wire read it: all models on one page.

    Args:
        listing: the same in OpenAI's form.
    """
    names = [text_of(obj(model).get("id")) for model in array(listing.get("data"))]
    always = {"type": "model", "created_at": "1970-01-01T00:00:00Z", "lifecycle": "active"}
    models = [{**always, "id": name, "display_name": name} for name in names]
    ends = {"first_id": names[0], "last_id": names[-1]} if names else {}
    return {"data": models, "has_more": False, "first_id": None, "last_id": None, **ends}


def _error_type(failure: Failure) -> str:
    if failure.status == 413:
        return "request_too_large"
    if failure.status == 429:
        return "rate_limit_error"
    known = _TYPES.get(failure.kind)
    return known or ("invalid_request_error" if failure.status < 500 else "api_error")


def _tools(body: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], tuple[str, ...]]:
    """The tools that the model is told of, and what was left out.

    A tool with ``defer_loading`` is told of from the message on that refers to it, behind all
    others, so that the beginning of the prompt stays as it was. Where the server was meant to
    search for it, it is told of at once, since there is no such search here.
    """
    told: list[Mapping[str, Any]] = []
    deferred: dict[str, Mapping[str, Any]] = {}
    left_out: list[str] = []
    searching = False
    for entry in map(obj, array(body.get("tools"))):
        name, kind = text_of(entry.get("name")), text_of(entry.get("type")) or "custom"
        searching = searching or kind.startswith("tool_search_")
        if kind != "custom":
            left_out.append(f"tool left out: {kind[:80]} is run by the server")
        elif entry.get("defer_loading") is True:
            deferred.setdefault(name, entry)
        elif name != _PLACEHOLDER:
            told.append(entry)
    wanted: list[str] = list(deferred) if searching else []
    if deferred and not searching:
        named = text_of(obj(body.get("tool_choice")).get("name"))
        wanted = list(dict.fromkeys((*references(body.get("messages")), *filter(None, [named]))))
    told += [deferred[name] for name in wanted if name in deferred]
    return [_bare(entry) for entry in told], tuple(left_out)


def _bare(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "name": entry.get("name"),
        "description": entry.get("description"),
        "parameters": entry.get("input_schema"),
    }


def _choice(value: Any, tools: Tools, *, left_out: bool) -> Choice:
    """``tool_choice``; a demand for what the server would have run is answered in words."""
    choice = obj(value)
    kind = text_of(choice.get("type"))
    name = text_of(choice.get("name"))
    if left_out and (
        (kind == "any" and len(tools.catalogue) == 0)
        or (kind == "tool" and name not in tools.catalogue)
    ):
        kind = "auto"
    return read_choice({"name": name} if kind == "tool" else kind, tools.catalogue)


def _options(body: Mapping[str, Any]) -> dict[str, Any]:
    found = {ours: number(body.get(theirs)) for theirs, ours in _OPTIONS.items()}
    return {name: value for name, value in found.items() if value is not None}


def _format(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    wanted = obj(obj(body.get("output_config")).get("format")) or obj(body.get("output_format"))
    return schema_of(wanted.get("schema")) if wanted.get("type") == "json_schema" else None


def _think(body: Mapping[str, Any]) -> bool | str | None:
    """Whether to think: budgets in tokens cannot be kept here, levels of effort can."""
    kind = obj(body.get("thinking")).get("type")
    if kind == "disabled":
        return False
    effort = obj(body.get("output_config")).get("effort")
    if kind in ("enabled", "adaptive"):
        return effort if effort in ("low", "medium", "high") else True
    return None
