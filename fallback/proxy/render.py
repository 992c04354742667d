"""What a model is told: the conversation of a request, in the mode that suits the model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fallback.backend import GenerationRequest, ModelInfo
from fallback.catalogue import Catalogue
from fallback.dialects.record import FENCED, Dialect
from fallback.messages import Message, Mode
from fallback.proxy.ask import Ask
from fallback.proxy.noise import own_words, settled
from fallback.rendering import prompt_messages, result_text
from fallback.rendering.text import offered
from fallback.templating import to_json

__all__ = ["Rendered", "fits_format", "rendered"]

_UNSEEN = "[an image, which this model cannot see]"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A request that lacks only its window, and the size of what it says besides its messages."""

    request: GenerationRequest
    extra_chars: int = 0


def rendered(
    ask: Ask,
    info: ModelInfo,
    mode: Mode,
    dialect: Dialect,
    *,
    tools: bool,
    extra: str = "",
    aside: str = "",
) -> Rendered:
    """The request for one reply.

    Args:
        ask: what the client wants.
        info: of the model.
        mode: how it is asked.
        dialect: how calls are written in prompt mode.
        tools: whether tools are offered this time.
        extra: added to the system prompt.
        aside: said to the model once, at the end.
    """
    messages = _seen(settled(ask.messages), info)
    if extra.strip():
        messages = (Message(role="system", content=extra.strip()), *messages)
    if ask.format is not None:
        messages = (*_with_format(messages, ask.format, tools=tools),)
    if aside:
        messages = (*messages, Message(role="user", content=aside))
    choice = ask.tool_choice if tools else "none"
    catalogue = offered(ask.catalogue, choice)
    # With tools, a grammar for the text would make every call impossible.
    wanted = ask.format if not tools else None
    if mode == "native":
        request = _native(ask, messages, catalogue)
        size = sum(len(to_json(tool.to_dict())) for tool in catalogue)
        return Rendered(replace(request, format=wanted), size)
    told = prompt_messages(
        messages,
        ask.catalogue,
        dialect,
        tool_choice=choice,
        parallel=ask.parallel,
        asked=own_words,
    )
    # Without tools the server's own template and its way with reasoning are the better ones.
    request = GenerationRequest(
        model=ask.model,
        mode="prompt" if tools else "native",
        messages=_never_empty(told),
        stop=dialect.stop if tools else (),
        format=wanted,
    )
    return Rendered(request)


def _native(ask: Ask, messages: tuple[Message, ...], catalogue: Catalogue) -> GenerationRequest:
    return GenerationRequest(
        model=ask.model,
        mode="native",
        messages=_never_empty(tuple(_in_turns(_matched(messages)))),
        catalogue=catalogue if len(catalogue) else None,
    )


def _in_turns(messages: Iterable[Message]) -> Iterable[Message]:
    """One system message, first, and no two messages of one role in a row but results.

    Strict templates refuse anything else. What a client says as ``system`` later on is told as the
    user's words, where it stands.
    """
    last: Message | None = None
    for message in messages:
        if message.role == "system" and last is not None and last.role != "system":
            message = replace(message, role="user")  # noqa: PLW2901 -- told by another
        if last is not None and _joins(last, message):
            last = replace(
                message,
                content="\n\n".join(filter(str.strip, (last.content, message.content))),
                images=(*last.images, *message.images),
            )
            continue
        if last is not None:
            yield last
        last = message
    if last is not None:
        yield last


def _joins(first: Message, second: Message) -> bool:
    return first.role == second.role != "tool" and not first.tool_calls


def _matched(messages: Iterable[Message]) -> Iterable[Message]:
    """Results that follow no call of theirs as the user's words: strict templates refuse them."""
    known: set[str] = set()
    for message in messages:
        known.update(call.id for call in message.tool_calls)
        result = message.result
        if message.role == "tool" and (result is None or result.call_id not in known):
            text = message.content if result is None else result_text(result, FENCED)
            yield Message(role="user", content=text, images=message.images)
        else:
            yield message


def _never_empty(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """A conversation without any turn would only load the model."""
    if any(message.role != "system" for message in messages):
        return messages
    return (*messages, Message(role="user", content="Begin."))


def _seen(messages: tuple[Message, ...], info: ModelInfo) -> tuple[Message, ...]:
    """Without the images that the model cannot see; it is told that there were some."""
    capabilities = info.capabilities
    if capabilities is None or "vision" in capabilities:
        return messages
    if not any(message.images for message in messages):
        return messages
    return tuple(_without_images(message) if message.images else message for message in messages)


def _without_images(message: Message) -> Message:
    text = "\n".join(filter(None, (message.content, *([_UNSEEN] * len(message.images)))))
    result = message.result
    if result is not None:
        result = replace(result, content=text)
    return replace(message, content=text, images=(), result=result)


def _with_format(
    messages: tuple[Message, ...], schema: Mapping[str, Any], *, tools: bool
) -> Iterable[Message]:
    """The schema in words too: a grammar forces the form, but does not tell the model what for."""
    when = "When you answer without a tool, answer" if tools else "Answer"
    form = (
        "a JSON object" if schema == {"type": "object"} else f"JSON of this schema: {_json(schema)}"
    )
    yield Message(role="system", content=f"{when} with nothing but {form}")
    yield from messages


def _json(schema: Mapping[str, Any]) -> str:
    return to_json({key: value for key, value in schema.items() if key != "$schema"})


def fits_format(text: str, schema: Mapping[str, Any] | None) -> bool:
    """Whether a text is JSON of a schema; a schema that cannot be used accepts all JSON."""
    from fallback.errors import InvalidToolError
    from fallback.schema import CompiledSchema

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    try:
        compiled = CompiledSchema({**(schema or {})})
    except (InvalidToolError, ValueError):
        return True
    return bool(compiled.accepts(value))
