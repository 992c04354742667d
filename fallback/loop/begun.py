"""How a call is begun for the model, and when another one may follow it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fallback.catalogue import Catalogue
from fallback.dialects.record import Dialect
from fallback.limits import Limits
from fallback.loop.actions import Generation
from fallback.rendering.opening import Opening, opening, opening_of_any
from fallback.schema.held import held, held_call
from fallback.templating import to_json
from fallback.tools import Tool

__all__ = ["another_may_follow", "begun_call"]


def begun_call(
    tools: Catalogue, dialect: Dialect, tool: str, limits: Limits, *, holds: bool = True
) -> tuple[Opening, Mapping[str, Any] | None]:
    """The beginning of a call, and the schema that the rest of the reply is held to.

    Args:
        tools: those on offer.
        dialect: how calls are written.
        tool: the one that is called; empty for any.
        limits: ``max_format_chars`` of them.
        holds: whether the server can hold a reply to a schema.

    Returns:
        The schema is ``None`` where the reply is not held to one; then nothing closes it either.
    """
    only = tools.get(tool) if tool else None
    if len(tools) == 1:
        only = next(iter(tools))
    if holds:
        opened, schema = opening_of_any(dialect), _of_one(tools, only, limits)
        if schema is None and only is not None:
            opened, schema = opening(dialect, only.name), held(only.parameters)
        if opened.closing and schema is not None:
            return opened, schema
    return Opening(opening(dialect, None if only is None else only.name).prefill), None


def _of_one(tools: Catalogue, only: Tool | None, limits: Limits) -> dict[str, Any] | None:
    """The schema of a call of that tool, or of any, if it can be written and is not too large.

    It is of the whole call, because models write the two braces at its end as one token: held to
    the arguments alone ``qwen2.5-coder:0.5b`` could not end a number and wrote zeros.
    """
    called = tuple(tools) if only is None else (only,)
    if sum(len(to_json(tool.parameters)) for tool in called) > limits.max_format_chars:
        return None
    return held_call({tool.name: tool.parameters for tool in called})


def another_may_follow(generation: Generation, opened: Opening, most: int) -> bool:
    """Whether it can be decided on another call: the reply has calls, and one block of them that
    another may join; where each has a block of its own, no text tells the end.

    Args:
        generation: the reply.
        opened: how its last call was begun.
        most: calls in one reply.
    """
    reading = generation.reading
    return (
        generation.error is None
        and generation.finish_reason == "stop"
        and bool(opened.closing)
        and generation.raw.endswith(opened.closing)
        and opened.kept(generation.raw) != generation.raw
        and not reading.problems
        and 0 < len(reading.calls) < most
    )
