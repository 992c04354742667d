"""What the parser says while a reply arrives.

Order is guaranteed: a call is ``CallStarted``, any number of ``ArgumentsDelta``, then exactly one
of
``CallReady`` (it may run) or ``ProblemFound`` (it may not). Nothing emitted is ever taken back.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallback.messages import FinishReason, Problem, Suppressed, ToolCall


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Prose for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The model's thinking; never scanned for calls."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call of a declared tool has begun; it is not yet known to be whole or valid."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """A piece of the arguments as JSON text; the pieces concatenate to the final arguments."""

    index: int
    fragment: str


@dataclass(frozen=True, slots=True)
class CallReady:
    """The call is complete and valid. Only this event means that it may run."""

    index: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ProblemFound:
    """Something call-like was refused. ``index`` is set if a ``CallStarted`` came before."""

    problem: Problem
    index: int | None = None


@dataclass(frozen=True, slots=True)
class CallSuppressed:
    """A call was recognised and deliberately left alone; its text, if visible, comes as text."""

    suppressed: Suppressed


@dataclass(frozen=True, slots=True)
class BatchComplete:
    """The first batch of calls has ended: generation can stop before a result is invented."""

    calls: int


@dataclass(frozen=True, slots=True)
class End:
    """The reply is over; exactly one in a parser's life, always the last event."""

    finish_reason: FinishReason


Event = (
    TextDelta
    | ReasoningDelta
    | CallStarted
    | ArgumentsDelta
    | CallReady
    | ProblemFound
    | CallSuppressed
    | BatchComplete
    | End
)
