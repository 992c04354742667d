"""Holding the answer of a turn against what the model was given, where that is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from fallback.execution.content import to_text
from fallback.execution.masking import safe_error
from fallback.loop import Ended, Plan
from fallback.loop.ending import is_answered
from fallback.messages import Message

__all__ = ["checked"]

_MOST_VALUES = 10_000
"""Values of one result whose lists are counted."""


def checked(ended: Ended, plan: Plan) -> Ended:
    """The turn with what its answer has from nowhere; unchanged where no tool has run.

    A check that raises costs the turn nothing: ``detail`` says what it raised.
    """
    turn = ended.turn
    if plan.grounding is None or not is_answered(turn) or not turn.tools_used:
        return ended
    sources = [plan.instructions, *_sources(ended.messages)]
    try:
        found = tuple(map(str, plan.grounding(turn.answer, sources)))
    except Exception as error:  # noqa: BLE001 # foreign code, and the turn has happened
        detail = "; ".join(filter(None, (turn.detail, f"grounding: {safe_error(error)}")))
        return replace(ended, turn=replace(turn, detail=detail))
    return replace(ended, turn=replace(turn, ungrounded=found))


def _sources(messages: Iterable[Message]) -> Iterator[str]:
    """The words of users and the whole of results; what the model has said counts for nothing."""
    for message in messages:
        if message.role == "user":
            yield message.content
        elif message.result is not None:
            yield message.result.content
            value = message.result.value
            if value is not None:
                yield to_text(value)
                # "You have three posts" rests on a list of three.
                yield " ".join(str(len(part)) for part in _lists(value))


def _lists(value: Any) -> Iterator[list[Any] | tuple[Any, ...]]:
    waiting = [value]
    for part in islice(_each(waiting), _MOST_VALUES):
        if isinstance(part, list | tuple):
            yield part


def _each(waiting: list[Any]) -> Iterator[Any]:
    """All parts of JSON-like values, outermost first; the list grows while it is read."""
    for part in waiting:
        yield part
        if len(waiting) < _MOST_VALUES:
            if isinstance(part, dict):
                waiting.extend(part.values())
            elif isinstance(part, list | tuple):
                waiting.extend(islice(part, _MOST_VALUES))
