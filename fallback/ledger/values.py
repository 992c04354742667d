"""What goes into the ledger and what comes out of it: frozen values, without storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from fallback.messages import FailureKind, ToolResult

__all__ = [
    "NOTHING_HAPPENED",
    "OTHERS_EVENTS",
    "UNCERTAIN",
    "Anchor",
    "Audited",
    "Begun",
    "Entry",
    "Event",
    "Finished",
    "InProgress",
    "Operation",
    "Origin",
    "State",
    "Stored",
    "Unknown",
    "Versions",
]

State = Literal["started", "finished", "failed", "unknown"]
"""``failed`` is an operation that surely had no effect; its key may be begun again."""

Event = Literal[
    "started",
    "finished",
    "failed",
    "unknown",
    "resolved",
    "late",
    "approval_requested",
    "approved",
    "denied",
    "approval_used",
    "approval_refused",
    "proposed",
    "refused",
    "replayed",
    "paused",
    "resumed",
]
"""What an entry of the audit log says has happened.

The ledger itself writes those up to ``approval_refused``, and everybody else the others. ``late``
is the report of a holder after somebody else had already settled its operation.
"""

OTHERS_EVENTS: frozenset[Event] = frozenset(
    {"proposed", "refused", "replayed", "paused", "resumed"}
)
"""What may be recorded from outside: the states of operations and approvals follow from the
rest."""

NOTHING_HAPPENED: frozenset[FailureKind] = frozenset(
    {"invalid_arguments", "transient", "conflict", "approval_required", "not_run"}
)
"""Kinds with which a tool says that it did nothing: its key may be begun again."""

UNCERTAIN: frozenset[FailureKind] = frozenset({"timeout", "internal", "cancelled", "denied"})
"""Kinds after which nobody knows whether it happened; the system may deny the second half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Which reply proposed a call; ``reply_hash`` is the SHA-256 of its text, in hex."""

    conversation: str = ""
    turn: str = ""
    step: int | None = None
    call_id: str = ""
    reply_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """What produced a call. Hashes are SHA-256 in hex; ``dispatcher`` is this package's version,
    and is filled in where it is left empty."""

    model: str = ""
    model_digest: str = ""
    template_hash: str = ""
    schema_hash: str = ""
    dispatcher: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call of a tool, as it is about to run.

    Attributes:
        tool: the declared name.
        arguments: the model's, final; never injected ones. Kept as they are, so that the operation
            can be undone; in the audit log secrets in them are masked.
        origin: which reply proposed it.
        user, tenant: on whose authority it runs.
        approval_id: the approval that was used for it.
        versions: what produced the call.
        seconds: deadline of the tool; ``None`` for none. A holder that cannot be seen is given up
            for lost some time after that.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin = field(default_factory=Origin)
    user: str = ""
    tenant: str = ""
    approval_id: str = ""
    versions: Versions = field(default_factory=Versions)
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The operation is recorded as started, and it is yours: run it, then say what came of it.

    Attributes:
        key: what it was begun under.
        id: names the operation on the command line: ``op_`` and 16 hex digits.
        attempt: 1, or more where earlier attempts surely had no effect.
        tool: the tool's name.
    """

    key: str
    id: str
    attempt: int
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """It has run before; ``result`` is that of the first run."""

    key: str
    id: str
    result: ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """It was started and nobody knows whether it happened; only a person can say."""

    key: str
    id: str
    tool: str
    started_at: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InProgress:
    """Somebody else is running it at this moment, as far as can be seen."""

    key: str
    id: str
    tool: str
    started_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """An operation as it stands in the ledger. Times in seconds since 1970, UTC.

    Attributes:
        undoes: id of the operation that this one undid, or tried to.
        undone_by: id of the operation that undid this one, once it has.
    """

    key: str
    id: str
    tool: str
    arguments: Mapping[str, Any]
    state: State
    attempt: int
    started_at: float
    ended_at: float | None
    user: str
    tenant: str
    approval_id: str
    resource: str
    detail: str
    result: ToolResult | None
    undoes: str | None
    undone_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the audit log, before it has a place in it.

    Attributes:
        event: what happened.
        operation: the call it is about; it is written out with its origin, authority and versions.
        operation_id: of an operation that an earlier entry wrote out.
        key: its idempotency key.
        outcome: what came of it, such as a result's status.
        resource: id of what was created or changed.
        result_hash: SHA-256 of the stored result, in hex.
        row_hash: SHA-256 of what the tables hold of it from now on; see
            :mod:`fallback.ledger.consistency`.
        by: the person who acted, where it is not the operation's user.
        detail: a sentence; secrets in it are masked.
    """

    event: Event
    operation: Operation | None = None
    operation_id: str = ""
    key: str = ""
    outcome: str = ""
    resource: str = ""
    result_hash: str = ""
    row_hash: str = ""
    by: str = ""
    detail: str = ""


class Anchor(NamedTuple):
    """The last entry of the log at some moment; kept elsewhere, it proves what came before.

    ``str(anchor)`` is ``7:3f2a...``.
    """

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """One entry of the audit log in its place; ``body`` is what was recorded."""

    seq: int
    hash: str
    body: Mapping[str, Any]
