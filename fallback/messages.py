"""The values that travel through the project: frozen, plain, without behaviour or I/O.

The words are those of ARCHITECTURE.md. Identity, storage and wire formats are other modules'
business.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

Mode = Literal["native", "prompt"]
Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_call", "error", "cancelled"]
StopReason = Literal[
    "answered",
    "max_steps",
    "max_calls",
    "deadline",
    "repeated_call",
    "approval_required",
    "denied",
    "cancelled",
    "failed",
]
ProblemKind = Literal[
    "unknown_tool",
    "invalid_json",
    "invalid_arguments",
    "truncated",
    "in_reasoning",
    "oversized",
    "wrong_tool",
    "required_call_missing",
]
SegmentKind = Literal[
    "text", "masked", "candidate", "reasoning", "markup", "call", "rejected", "dropped"
]
SHOWN: frozenset[SegmentKind] = frozenset(("text", "masked", "candidate"))
"""The segments that make up a reading's text."""

ResultStatus = Literal["ok", "error", "retry", "denied", "timeout", "paused"]
FailureKind = Literal[
    "denied",
    "approval_required",
    "not_run",
    "outcome_unknown",
    "invalid_arguments",
    "timeout",
    "cancelled",
    "transient",
    "conflict",
    "partial",
    "failed",
    "internal",
]
"""Why a call that was read has no result: the gates behind the parser's own, ``ProblemKind``."""


class Span(NamedTuple):
    """Half-open range of characters in the reply: ``reply[start:end]``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that was read, resolved to a declared tool and validated against its schema.

    ``arguments`` are final: coerced, without injected parameters. ``repairs`` names each fix of
    form that was needed, in order; a clean call has none.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    dialect: str = "native"
    span: Span = Span(0, 0)
    repairs: tuple[str, ...] = ()

    def apart(self) -> ToolCall:
        """The same call with arguments of its own, for somebody who may change them."""
        return replace(self, arguments=deepcopy(self.arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why something call-like was not accepted. A value that is fed back to the model.

    Attributes:
        kind: which gate refused it.
        message: one or two sentences for the model: what was wrong, where, and what is right.
        tool: the declared tool it was meant for, if that is known.
        path: JSONPath of the first fault inside the arguments, such as ``$.days``.
        span: where it stands in the reply.
        text: the offending text, cut to a size that fits a prompt.
    """

    kind: ProblemKind
    message: str
    tool: str | None = None
    path: str | None = None
    span: Span = Span(0, 0)
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppressed:
    """A call that was recognised and deliberately not run, because it was not meant as a call."""

    reason: str
    text: str
    span: Span = Span(0, 0)


class Segment(NamedTuple):
    """One piece of a reply and what became of it. The segments of a reading tile the reply.

    Attributes:
        kind: ``text`` for the user, and two kinds of it: ``masked`` is quoted, so that no call in
            it counts, and ``candidate`` is a call that was left alone. ``reasoning`` is thought.
            Not shown are ``call``, what holds calls that may run; ``rejected``, what was meant as
            calls and is at fault; ``markup`` around the others; and ``dropped``, what was not read.
        start: offset of the first character in the reply.
        end: offset behind the last one.
        note: of a ``call`` the repairs it took and the problems of others beside it, of what is
            ``rejected`` the kinds of its problems, of the rest the reason, if there is one.
    """

    kind: SegmentKind
    start: int
    end: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The outcome of parsing one reply; every character is accounted for in ``segments``."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    problems: tuple[Problem, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    segments: tuple[Segment, ...] = ()
    finish_reason: FinishReason = "stop"


class Source(NamedTuple):
    """Where a value comes from: an address or a name, and when it was fetched (ISO 8601)."""

    name: str
    retrieved_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What became of one call. ``content`` is what the model is shown; ``value`` is the whole
    thing.

    ``copy_of`` is the id of an identical call of the same reply: that one ran, this one did not.

    Attributes:
        kind: which gate refused the call, or how it failed; ``None`` where nothing is wrong.
        retryable: whether the model may call again, with what the result says in mind.
        fields: places of the arguments at fault, such as ``$.day``, where that is known.
        provenance: where the value comes from, as far as the tool has said.
        untrusted: whether the content comes from outside the application: text of others, which
            may have been written to steer the model.
        approval: id of the approval that was used for the call, or that it is waiting for.
        detail: the reason of a refusal, for the application's log; the model is not told.
    """

    call_id: str
    name: str
    status: ResultStatus = "ok"
    content: str = ""
    value: Any = None
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    copy_of: str | None = None
    kind: FailureKind | None = None
    retryable: bool = False
    untrusted: bool = False
    approval: str = ""
    detail: str = ""
    fields: tuple[str, ...] = ()
    provenance: tuple[Source, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the tool ran and returned."""
        return self.status == "ok"

    @property
    def envelope(self) -> dict[str, Any]:
        """The result as one object for programs: ``ok``, ``data`` or ``error``, and the rest.

        ``data`` is the whole value, as the tool returned it. ``error`` holds ``code`` (the kind),
        ``message``, ``retryable`` and ``fields``.
        """
        made: dict[str, Any] = {"ok": self.ok}
        if self.ok or self.value is not None:
            made["data"] = self.value
        if not self.ok:
            made["error"] = {
                "code": self.kind or self.status,
                "message": self.content,
                "retryable": self.retryable,
                "fields": list(self.fields),
            }
        made["provenance"] = [
            {"source": source.name, "retrieved_at": source.retrieved_at or None}
            for source in self.provenance
        ]
        made["warnings"] = list(self.warnings)
        made["untrusted"] = self.untrusted
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One entry of a conversation, in our own neutral form.

    ``tool_calls`` belongs to the role ``assistant``; ``result`` belongs to the role ``tool``.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    result: ToolResult | None = None
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a generation cost. Tokens as the server counts them; times in seconds."""

    prompt_tokens: int = 0
    cached_tokens: int | None = None
    completion_tokens: int = 0
    seconds: float = 0.0
    load_seconds: float = 0.0
    prompt_seconds: float = 0.0
    first_token_seconds: float | None = None

    def __add__(self, other: Usage) -> Usage:
        cached = [n for n in (self.cached_tokens, other.cached_tokens) if n is not None]
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=sum(cached) if cached else None,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            seconds=self.seconds + other.seconds,
            load_seconds=self.load_seconds + other.load_seconds,
            prompt_seconds=self.prompt_seconds + other.prompt_seconds,
            first_token_seconds=self.first_token_seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One generation and the handling of its calls.

    Attributes:
        mode: ``native`` or ``prompt``: which way was asked.
        path: the endpoint and form that was used, such as ``generate/raw/chatml`` or
        ``chat+tools``.
        source: where the calls came from: ``server`` (structured), ``text`` (read by the parser) or
            ``none``.
        raw: the model's text exactly as it came, thinking excluded.
    """

    index: int
    mode: Mode
    path: str
    source: Literal["server", "text", "none"]
    raw: str
    reading: Reading
    results: tuple[ToolResult, ...] = ()
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of this step, in the order the model wrote them."""
        return self.reading.calls

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was call-like and refused."""
        return self.reading.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """From a user message to the answer, with the whole record of how it came about.

    ``messages`` are those of this turn, from the user's on. ``detail`` says in a sentence what is
    unusual: why there is no answer, or what is wrong with it; it is empty when nothing is. ``id``
    names the turn where it is kept: in the ledger, and to resume it. ``ungrounded`` lists numbers,
    dates and ids of the answer that stand in no result, where the session was told to look.
    """

    answer: str
    stop_reason: StopReason
    steps: tuple[Step, ...] = ()
    messages: tuple[Message, ...] = ()
    detail: str = ""
    id: str = ""
    ungrounded: tuple[str, ...] = ()

    @property
    def waiting(self) -> tuple[ToolResult, ...]:
        """What stands in for the results of the calls that a turn waits for, if it waits."""
        if self.stop_reason != "approval_required" or not self.steps:
            return ()
        return tuple(r for r in self.steps[-1].results if r.status == "paused")

    @property
    def tools_used(self) -> tuple[str, ...]:
        """Names of the tools that really ran, in order; empty if none did."""
        ran = ("ok", "error", "retry", "timeout")
        results = (result for step in self.steps for result in step.results)
        return tuple(r.name for r in results if r.status in ran and r.copy_of is None)

    @property
    def usage(self) -> Usage:
        """The sum over all steps."""
        total = Usage()
        for step in self.steps:
            total = total + step.usage
        return total


Options = Mapping[str, Any]
