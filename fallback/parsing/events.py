"""What the parser says while a reply arrives.

A call that is read is told as ``CallStarted``, any number of ``ArgumentsDelta``, and then exactly
one of ``CallReady`` (it may run) or ``CallWithdrawn`` (it may not); all carry the same ``index``.
Calls start in the order in which they stand in the reply, and the next may start before the last is
ready. Nothing emitted is ever taken back: a withdrawn call has no part in the reading.
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
    """A call of a declared tool has begun; it is not yet known to be whole or valid.

    ``index`` counts the calls that were started in this reply, those withdrawn included.
    """

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """A piece of the arguments as JSON text.

    The pieces of a call that becomes ready concatenate to
    ``json.dumps(call.arguments, ensure_ascii=False)``, exactly.
    """

    index: int
    fragment: str


@dataclass(frozen=True, slots=True)
class CallReady:
    """The call is complete and valid. Only this event means that it may run."""

    index: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class CallWithdrawn:
    """A call that was started is none that may run.

    ``reason`` is the kind of the problem or the reason of the suppression that is told next;
    ``text`` and ``dropped`` where it was no call after all; or ``restated`` where it is one, but
    its arguments turned out to differ from the pieces: it is told again from the beginning.
    """

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class ProblemFound:
    """Something call-like was refused. ``index`` is that of the ``CallWithdrawn`` before it."""

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
    | CallWithdrawn
    | ProblemFound
    | CallSuppressed
    | BatchComplete
    | End
)
