"""OpenAI's responses: ``POST /v1/responses``, without a memory of them.

Source: https://platform.openai.com/docs/api-reference/responses and the types of the ``openai``
package 3.57; what Codex and other clients send besides was measured. A client that sends its whole
conversation each time, as all of those do, misses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fallback.proxy.ask import Ask, Refused
from fallback.proxy.content import flag, number, obj, text_of
from fallback.proxy.events import Answer, Failure
from fallback.proxy.failures import invalid
from fallback.proxy.toolset import Toolbox, read_choice
from fallback.proxy.wires.fields import NOT_HERE, model_of, schema_of, think_of
from fallback.proxy.wires.openai_chat import error_body
from fallback.proxy.wires.responses_items import read_items
from fallback.proxy.wires.responses_stream import Encoder, whole_response
from fallback.proxy.wires.responses_tools import read_tools

__all__ = ["OpenAIResponses"]

_OPTIONS = {
    "max_output_tokens": "num_predict",
    "temperature": "temperature",
    "top_p": "top_p",
}


class OpenAIResponses:
    """The wire. See :class:`fallback.proxy.wires.Wire`."""

    name = "responses"
    content_type = "text/event-stream"

    def decode(self, body: Mapping[str, Any], toolbox: Toolbox) -> Ask:
        """Read a request."""
        model = model_of(body)
        _check_memory(body)
        offered = read_tools(body.get("tools"))
        notice = NOT_HERE if offered.ignored and not offered.tools else ""
        items = read_items(body.get("instructions"), body.get("input"), offered, notice=notice)
        if not items.history.messages:
            raise Refused(invalid("input is empty: there is nothing to answer", param="input"))
        tools = toolbox.read(offered.tools)
        choice = read_choice(offered.choice(body.get("tool_choice")), tools.catalogue)
        return Ask(
            wire=self.name,
            model=model,
            messages=items.history.messages,
            catalogue=choice.catalogue,
            tool_choice=choice.value,
            parallel=flag(body.get("parallel_tool_calls"), True),
            stream=flag(body.get("stream"), False),
            options=_options(body),
            format=_format(obj(body.get("text")).get("format")),
            think=think_of(body),
            extra={"origins": offered.origins},
            ignored=(*offered.ignored, *items.ignored, *tools.ignored, *items.history.notes),
        )

    def stream(self, ask: Ask) -> Encoder:
        """Begin a stream."""
        return Encoder(ask)

    def whole(self, ask: Ask, answer: Answer) -> dict[str, Any]:
        """A ``response``."""
        return whole_response(ask, answer)

    def error(self, failure: Failure) -> dict[str, Any]:
        """An error object."""
        return error_body(failure)


def _check_memory(body: Mapping[str, Any]) -> None:
    """What refers to a conversation of which we know nothing cannot be answered."""
    for field in ("previous_response_id", "conversation"):
        if body.get(field):
            raise Refused(
                Failure(
                    kind="invalid_request",
                    message=f"this server keeps no conversations: leave {field} out and send the"
                    " whole input",
                    status=400,
                    param=field,
                    code=f"{field.removesuffix('_id')}_not_found",
                )
            )


def _options(body: Mapping[str, Any]) -> dict[str, Any]:
    found = {ours: number(body.get(theirs)) for theirs, ours in _OPTIONS.items()}
    return {name: value for name, value in found.items() if value is not None}


def _format(value: Any) -> Mapping[str, Any] | None:
    wanted = obj(value)
    kind = text_of(wanted.get("type"))
    if kind == "json_object":
        return {"type": "object"}
    return schema_of(wanted.get("schema")) if kind == "json_schema" else None
