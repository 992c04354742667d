"""What the core answers with: the parser's events, and how an answer ends.

Order: any of ``TextDelta``, ``ReasoningDelta`` and ``CallReady``, then exactly one ``Finished`` or
``Failed``. Where live arguments are asked for, a ``CallReady`` is preceded by a ``CallBegun`` and
``ArgumentsDelta`` events of its index, which make up its arguments; a call that was begun and turns
out to be none ends the answer with ``Failed``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from fallback.messages import ToolCall, Usage
from fallback.parsing.events import ArgumentsDelta, CallReady, ReasoningDelta, TextDelta

__all__ = [
    "Answer",
    "ArgumentsDelta",
    "CallBegun",
    "CallReady",
    "Event",
    "Failed",
    "Failure",
    "FailureKind",
    "Finished",
    "ReasoningDelta",
    "TextDelta",
    "collected",
]

FailureKind = Literal[
    "invalid_request",
    "unauthorized",
    "forbidden",
    "not_found",
    "too_large",
    "overflow",
    "no_call",
    "busy",
    "unreachable",
    "timeout",
    "upstream",
    "internal",
]
Ended = Literal["stop", "length", "tool_calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why there is no answer, or no more of it.

    Attributes:
        kind: what each wire translates into its own type of error.
        message: one line for people that says what to do.
        status: HTTP status, where none has been sent yet.
        retry_after: seconds after which it is worth trying again.
        param: the field of the request that is at fault.
        code: a word that clients know, such as ``context_length_exceeded``.
        prompt_tokens, num_ctx: the figures of an ``overflow``, where they are known.
    """

    kind: FailureKind
    message: str
    status: int
    retry_after: float | None = None
    param: str | None = None
    code: str | None = None
    prompt_tokens: int | None = None
    num_ctx: int | None = None


@dataclass(frozen=True, slots=True)
class CallBegun:
    """A call is being written; nobody knows yet whether it is valid."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is whole.

    Attributes:
        reason: ``tool_calls`` if there is at least one call, ``length`` if it was cut off.
        usage: what it cost, corrections included.
        stop: the stop string of the client that ended the text, if one did.
    """

    reason: Ended
    usage: Usage
    stop: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """There is no more to come, and why."""

    failure: Failure


Event = TextDelta | ReasoningDelta | CallBegun | ArgumentsDelta | CallReady | Finished | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer, for clients that do not stream."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    finished: Finished = field(default_factory=lambda: Finished("stop", Usage()))


def collected(events: Iterable[Event]) -> Answer | Failure:
    """The answer that these events make, or why there is none."""
    text: list[str] = []
    reasoning: list[str] = []
    calls: list[ToolCall] = []
    for event in events:
        if isinstance(event, TextDelta):
            text.append(event.text)
        elif isinstance(event, ReasoningDelta):
            reasoning.append(event.text)
        elif isinstance(event, CallReady):
            calls.append(event.call)
        elif isinstance(event, Failed):
            return event.failure
        elif isinstance(event, Finished):
            return Answer(
                text="".join(text),
                reasoning="".join(reasoning),
                calls=tuple(calls),
                finished=event,
            )
    raise AssertionError("an answer always ends")
