"""Running a call that may change something: recorded before it runs, and never run twice.

What must stay true: between ``begin`` and the end of the call nothing is assumed. Only a tool that
says on purpose that nothing has happened may be called again under the same key; after a timeout,
a cancellation or an error nobody expected, the operation stays unknown until a person has looked.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from fallback.errors import FallbackError, LedgerError
from fallback.execution.hooks import Steps
from fallback.execution.masking import safe_error
from fallback.ledger import (
    Begun,
    Entry,
    Finished,
    InProgress,
    Ledger,
    Operation,
    Unknown,
)
from fallback.ledger.values import NOTHING_HAPPENED, UNCERTAIN
from fallback.loop import Job
from fallback.loop.gates import WAITS
from fallback.loop.repetition import canonical
from fallback.messages import FailureKind, ToolCall, ToolResult
from fallback.policy import ExecutionContext, call_key, operation_key, own_key
from fallback.session.provenance import Provenance
from fallback.tools import Tool, bind_beside

__all__ = ["Recorder"]

_UNKNOWN = (
    "Not run: an earlier try of this call was broken off, and it is not known whether it took"
    " effect. A person has to look. Do not call it again; say so."
)
_RUNNING = "Not run: this call is running already. Do not call it again; say that it is under way."
_PERHAPS = "It is not known whether it took effect. Do not call it again; say so."
_UNRECORDED = "Not run: it could not be put on record. Calling again will not help."


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """The side effects of one turn.

    Attributes:
        ledger: where they are kept.
        turn: id of the turn.
        context: on whose authority they happen.
        provenance: where its calls come from.
        lost: keys of calls that do not say what they do and of which nobody knows whether they
            happened, by their canonical text: the same call again is no new one.
    """

    ledger: Ledger
    turn: str
    context: ExecutionContext
    provenance: Provenance
    lost: dict[str, str] = field(default_factory=dict)

    def key(self, tool: Tool, call: ToolCall) -> Steps[str]:
        """The idempotency key of a call: the tool's own name for it, or one within this turn."""
        if tool.idempotency_key is None:
            return operation_key(self.turn, tool, call.arguments, self.context)
        name = tool.idempotency_key
        values = bind_beside(tool, name, deepcopy(call.arguments), self.context.injected)
        given = yield partial(name, **values)
        if not isinstance(given, str) or not given:
            raise TypeError(f"idempotency_key gave {type(given).__name__}, not a text")
        return own_key(given, tool, self.context)

    def run(self, job: Job, make: Callable[[Job], Any]) -> Steps[ToolResult]:
        """Run a call once.

        One that does not say what it does is recorded too: for this very call, not for the next one
        like it, and with whatever came of it, since nobody said that it changes anything.

        Args:
            job: the call.
            make: runs it and gives its result; plain or async.
        """
        operation = self.provenance.operation(
            job.tool, job.call, approval=job.approval_id, seconds=job.seconds
        )
        try:
            key = yield from self._key_of(job)
            begun = yield partial(self.ledger.begin, key, operation)
        except FallbackError as error:
            return _not_run(job, _UNRECORDED, "internal", str(error))
        except Exception as error:  # noqa: BLE001 # the tool's own key function may raise anything
            return _not_run(job, _UNRECORDED, "internal", safe_error(error))
        if not isinstance(begun, Begun):
            return (yield from self._before(job, operation, begun))
        if job.recalls:
            yield partial(self.ledger.fail, begun, "nobody has approved it", effect="none")
            return _not_run(job, WAITS, "approval_required", "what was on record has come undone")
        try:
            result = yield partial(make, job)
        except BaseException:
            with suppress(LedgerError):  # what was raised first is what has to be heard
                self.ledger.fail(begun, "broken off")
            raise
        return (yield from self._settle(begun, result, writes=job.writes))

    def _key_of(self, job: Job) -> Steps[str]:
        if job.writes:
            return (yield from self.key(job.tool, job.call))
        lost = self.lost.get(canonical(job.call.name, job.call.arguments))
        if lost is not None:
            return lost
        return call_key(self.turn, self.provenance.step, job.tool, job.call, self.context)

    def _before(
        self, job: Job, operation: Operation, found: Finished | Unknown | InProgress
    ) -> Steps[ToolResult]:
        """The key has been begun before: nothing runs, and what is known is said."""
        if isinstance(found, InProgress):
            return _not_run(job, _RUNNING, "outcome_unknown", f"{found.id} is in progress")
        if isinstance(found, Unknown):
            if not job.writes:
                self.lost[canonical(job.call.name, job.call.arguments)] = found.key
            detail = f"{found.id}: {found.detail}"
            return _not_run(job, _UNKNOWN, "outcome_unknown", detail)
        entry = Entry(event="replayed", operation=operation, operation_id=found.id, key=found.key)
        yield partial(self.ledger.record, entry)
        note = f"not run again: this is the result of the first time ({found.id})"
        return replace(
            found.result,
            call_id=job.call.id,
            name=job.call.name,
            warnings=(*found.result.warnings, note),
            untrusted=found.result.untrusted or job.tool.untrusted,
            approval=job.approval_id,
        )

    def _settle(self, begun: Begun, result: ToolResult, *, writes: bool) -> Steps[ToolResult]:
        if result.kind in NOTHING_HAPPENED:
            settle = partial(self.ledger.fail, begun, result.content, effect="none")
        elif writes and result.kind in UNCERTAIN:
            why = result.detail or result.content
            result = replace(
                result,
                content=f"{result.content}\n{_PERHAPS}",
                retryable=False,
                detail=f"{begun.id}: unknown whether it took effect; {why}",
            )
            settle = partial(self.ledger.fail, begun, why)
        else:
            settle = partial(self.ledger.finish, begun, result, resource=_resource(result.value))
        try:
            yield settle
        except LedgerError as error:
            return replace(result, detail=str(error))
        return result


def _resource(value: Any) -> str:
    """What was created or changed: the ``id`` of an object that the tool returned."""
    found = value.get("id") if isinstance(value, dict) else getattr(value, "id", None)
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else ""


def _not_run(job: Job, told: str, kind: FailureKind, detail: str) -> ToolResult:
    return ToolResult(
        call_id=job.call.id,
        name=job.call.name,
        status="paused" if kind == "approval_required" else "denied",
        content=told,
        kind=kind,
        detail=detail,
        approval=job.approval_id,
    )
