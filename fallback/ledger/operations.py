"""Operations that must not happen twice: recorded as started before they run.

The states, and what leads from one to another::

    (none) ──begin──> started ──finish──> finished
                       │ │  ^                ^
                       │ │  └──begin────┐    │ finish (the holder was alive after all), resolve
                       │ └──fail──> failed   │
                       │                ^    │
                       │                └────┼── resolve
                       └──holder gone──> unknown

Every change compares the state it expects and sets the new one in a single statement, in the same
transaction as its entry in the audit log; of two that try, one succeeds.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from fallback.errors import ConfigurationError, LedgerError
from fallback.ledger import audit
from fallback.ledger.database import Database, Row, Transaction
from fallback.ledger.encoding import (
    Masker,
    canonical,
    load_result,
    operation_text,
    result_text,
    sha256,
)
from fallback.ledger.holders import Holder, lease_until, loss
from fallback.ledger.rows import begun_hash, ended_hash
from fallback.ledger.values import (
    Begun,
    Entry,
    Finished,
    InProgress,
    Operation,
    State,
    Stored,
    Unknown,
)
from fallback.messages import ToolResult

__all__ = ["LONGEST_KEY", "Operations"]

T = TypeVar("T")

LONGEST_KEY = 500
"""Characters of a key: it is indexed, and PostgreSQL's index takes some 2,700 bytes."""

_ALL = 2**62
"""More rows than there are: few operations are in progress, or wait for a person."""

_INSERT = """
    INSERT INTO fallback_operations
        (key, id, tool, fingerprint, operation, state, attempt, holder, lease_until, started_at,
         undoes)
    VALUES (:key, :id, :tool, :fingerprint, :operation, 'started', 1, :holder, :lease, :now,
         :undoes)
    ON CONFLICT (key) DO NOTHING RETURNING *
"""
_AGAIN = """
    UPDATE fallback_operations
    SET state = 'started', attempt = attempt + 1, holder = :holder, lease_until = :lease,
        started_at = :now, ended_at = NULL, result = NULL, detail = '', operation = :operation
    WHERE key = :key AND state = 'failed' AND attempt = :attempt RETURNING *
"""
_END = """
    UPDATE fallback_operations
    SET state = :state, ended_at = :now, result = :result, resource = :resource, detail = :detail
    WHERE key = :key AND attempt = :attempt AND state IN ('started', 'unknown') RETURNING *
"""
_LOSE = """
    UPDATE fallback_operations SET state = 'unknown', detail = :detail
    WHERE key = :key AND attempt = :attempt AND state = 'started' RETURNING *
"""
_SELECT = """
    SELECT o.*, u.id AS undo, u.result AS undo_result FROM fallback_operations o
    LEFT JOIN fallback_operations u ON u.undoes = o.id
"""
# A key may look like the id of another operation; then the id counts.
_NAMED = f"""
    {_SELECT} WHERE o.id = :name OR o.key = :name
    ORDER BY CASE WHEN o.id = :name THEN 0 ELSE 1 END LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of one ledger."""

    database: Database
    mask: Masker
    clock: Callable[[], float]
    holder: Callable[[], Holder]

    def begin(
        self, key: str, operation: Operation, *, undoes: str | None = None, by: str = ""
    ) -> Begun | Finished | Unknown | InProgress:
        """See :meth:`fallback.ledger.Ledger.begin`."""
        _check_key(key)
        text = operation_text(operation)
        now = self.clock()
        values: dict[str, Any] = {
            "key": key,
            "now": now,
            "holder": self.holder().to_text(),
            "lease": lease_until(now, operation.seconds),
            "operation": text,
        }
        fingerprint = sha256(canonical([operation.tool, dict(operation.arguments)]))
        with self.database.writing() as tx:
            id_ = f"op_{secrets.token_hex(8)}"
            new = tx.one(
                _INSERT,
                **values,
                id=id_,
                tool=operation.tool,
                fingerprint=fingerprint,
                undoes=undoes,
            )
            if new is not None:
                return self._begun(tx, new, operation, by)
            while True:  # once more whenever somebody else was quicker
                row = _row_of(tx, key)
                if row["fingerprint"] != fingerprint:
                    raise ConfigurationError(
                        f"the key {key!r} was used for another call, of {row['tool']!r}; a key"
                        " names one call with its arguments"
                    )
                if row["state"] != "failed":
                    if (found := self._found(tx, row, now)) is not None:
                        return found
                elif again := tx.one(_AGAIN, **values, attempt=row["attempt"]):
                    return self._begun(tx, again, operation, by)

    def _begun(self, tx: Transaction, row: Row, operation: Operation, by: str) -> Begun:
        entry = Entry(
            event="started",
            operation=operation,
            operation_id=row["id"],
            key=row["key"],
            row_hash=begun_hash(row),
            by=by,
        )
        self._record(tx, entry)
        return Begun(key=row["key"], id=row["id"], attempt=row["attempt"], tool=operation.tool)

    def _found(
        self, tx: Transaction, row: Row, now: float
    ) -> Finished | Unknown | InProgress | None:
        """What a key stands for that cannot be begun; ``None`` if that has just changed."""
        if row["state"] == "finished":
            result = _readable(row, lambda: load_result(row["result"]))
            return Finished(key=row["key"], id=row["id"], result=result)
        who = {key: row[key] for key in ("key", "id", "tool", "started_at")}
        detail = row["detail"]
        if row["state"] == "started":
            detail = _loss(row, now)
            if not detail:
                return InProgress(**who)
            if not self._lose(tx, row["key"], row["attempt"], detail):
                return None
        return Unknown(**who, detail=detail)

    def finish(self, begun: Begun, result: ToolResult, *, resource: str = "") -> None:
        """See :meth:`fallback.ledger.Ledger.finish`."""
        self._end(begun, "finished", result, resource, "")

    def fail(self, begun: Begun, detail: str, *, effect: Literal["none", "unknown"]) -> None:
        """See :meth:`fallback.ledger.Ledger.fail`."""
        detail = self.mask(detail)
        if effect == "none":
            self._end(begun, "failed", None, "", detail)
            return
        with self.database.writing() as tx:
            lost = self._lose(tx, begun.key, begun.attempt, detail)
            row = None if lost else _row_of(tx, begun.key)
        if row is not None and (row["state"], row["attempt"]) != ("unknown", begun.attempt):
            self._late(begun, "unknown", detail)

    def _lose(self, tx: Transaction, key: str, attempt: int, detail: str) -> bool:
        row = tx.one(_LOSE, key=key, attempt=attempt, detail=detail)
        if row is not None:
            entry = Entry(
                event="unknown",
                operation_id=row["id"],
                key=key,
                row_hash=ended_hash(row),
                detail=detail,
            )
            self._record(tx, entry)
        return row is not None

    def _end(
        self,
        begun: Begun,
        state: Literal["finished", "failed"],
        result: ToolResult | None,
        resource: str,
        detail: str,
    ) -> None:
        outcome = result.status if result else ""
        with self.database.writing() as tx:
            ended = self._settle(
                tx,
                begun.key,
                begun.attempt,
                Entry(event=state, outcome=outcome, resource=resource, detail=detail),
                result,
            )
        if not ended:
            self._late(begun, outcome or state, detail)

    def _settle(
        self, tx: Transaction, key: str, attempt: int, entry: Entry, result: ToolResult | None
    ) -> bool:
        """Give an operation its end, if it has none yet."""
        text = None if result is None else result_text(result)
        row = tx.one(
            _END,
            key=key,
            attempt=attempt,
            state="failed" if text is None else "finished",
            now=self.clock(),
            result=text,
            resource=entry.resource,
            detail=entry.detail,
        )
        if row is None:
            return False
        self._record(
            tx,
            Entry(
                event=entry.event,
                operation_id=row["id"],
                key=key,
                outcome=entry.outcome,
                resource=entry.resource,
                result_hash=sha256(text) if text else "",
                row_hash=ended_hash(row),
                by=entry.by,
                detail=entry.detail,
            ),
        )
        return True

    def _late(self, begun: Begun, outcome: str, detail: str) -> None:
        """The holder reports, and the matter is settled: keep what it says, and tell it."""
        with self.database.writing() as tx:
            row = _row_of(tx, begun.key)
            self._record(
                tx,
                Entry(
                    event="late",
                    operation_id=begun.id,
                    key=begun.key,
                    outcome=outcome,
                    detail=detail,
                ),
            )
        raise LedgerError(
            f"operation {begun.id} ({begun.tool}) is already {row['state']}, so its outcome"
            f" {outcome!r} was only added to the log; see `fallback ledger show {begun.id}`"
        )

    def resolve(
        self,
        name: str,
        outcome: Literal["done", "not_done"],
        *,
        by: str,
        result: ToolResult | None,
        detail: str,
    ) -> Stored:
        """See :meth:`fallback.ledger.Ledger.resolve`."""
        if outcome not in ("done", "not_done"):
            raise ConfigurationError(f"no outcome {outcome!r}; use 'done' or 'not_done'")
        now, detail = self.clock(), self.mask(detail)
        with self.database.writing() as tx:
            row = _find(tx, name)
            if row["state"] == "started" and (lost := _loss(row, now)):
                self._lose(tx, row["key"], row["attempt"], lost)
            elif row["state"] != "unknown":
                raise LedgerError(
                    f"operation {row['id']} is {row['state']}; only an unknown one can be resolved"
                )
            told = result
            if outcome == "done" and told is None:
                content = f"Done, as {by} says." + (f" {detail}" if detail else "")
                told = ToolResult(call_id="", name=row["tool"], content=content)
            entry = Entry(event="resolved", outcome=outcome, by=by, detail=detail)
            final = told if outcome == "done" else None
            if not self._settle(tx, row["key"], row["attempt"], entry, final):
                raise LedgerError(f"operation {row['id']} was settled by somebody else just now")
            return _stored(_find(tx, name))

    def get(self, name: str) -> Stored | None:
        """The operation with this id or key."""
        with self.database.reading() as tx:
            row = tx.one(_NAMED, name=name)
        return None if row is None else self._seen(row)

    def listed(self, state: State | None, limit: int) -> tuple[Stored, ...]:
        """The newest operations first; those whose holder has gone are shown as unknown."""
        with self.database.reading() as tx:
            rows = tx.all(
                f"{_SELECT} WHERE :state = '' OR o.state IN (:state, :before)"
                " ORDER BY o.started_at DESC, o.id LIMIT :limit",
                state=state or "",
                # Which of these are unknown by now is seen only when they are looked at.
                before="started" if state == "unknown" else "",
                limit=_ALL if state in ("started", "unknown") else limit,
            )
        found = (self._seen(row) for row in rows)
        return tuple(stored for stored in found if state in (None, stored.state))[:limit]

    def _seen(self, row: Row) -> Stored:
        """A row as it is to be understood now; looking changes nothing."""
        if row["state"] == "started" and (lost := _loss(row, self.clock())):
            row = {**row, "state": "unknown", "detail": lost}
        return _stored(row)

    def _record(self, tx: Transaction, entry: Entry) -> None:
        audit.append(tx, entry, at=self.clock(), mask=self.mask)


def _check_key(key: str) -> None:
    if not key or len(key) > LONGEST_KEY or not key.isprintable():
        raise ConfigurationError(
            f"a key is 1 to {LONGEST_KEY} printable characters, got {key!r:.100}"
        )


def _row_of(tx: Transaction, key: str) -> Row:
    row = tx.one("SELECT * FROM fallback_operations WHERE key = :key", key=key)
    if row is None:
        raise LedgerError(f"the operation with the key {key!r} has been removed from the ledger")
    return row


def _find(tx: Transaction, name: str) -> Row:
    row = tx.one(_NAMED, name=name)
    if row is None:
        raise LedgerError(f"no operation {name!r} in the ledger; see `fallback ledger list`")
    return row


def _loss(row: Row, now: float) -> str:
    """Why the holder of a started operation is taken for lost; empty while it is not."""
    holder = _readable(row, lambda: Holder.from_text(row["holder"]))
    return loss(holder, row["lease_until"], now)


def _stored(row: Row) -> Stored:
    return _readable(row, lambda: _read_stored(row))


def _readable(row: Row, read: Callable[[], T]) -> T:
    """What was stored with an operation, as far as nobody has written something else there."""
    try:
        return read()
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        raise LedgerError(
            f"operation {row['id']} is damaged; see `fallback ledger verify`"
        ) from None


def _read_stored(row: Row) -> Stored:
    operation = json.loads(row["operation"])
    undo = load_result(row["undo_result"]) if row["undo_result"] else None
    return Stored(
        key=row["key"],
        id=row["id"],
        tool=row["tool"],
        arguments=operation["arguments"],
        state=row["state"],
        attempt=row["attempt"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        user=operation["user"],
        tenant=operation["tenant"],
        approval_id=operation["approval_id"],
        resource=row["resource"],
        detail=row["detail"],
        result=load_result(row["result"]) if row["result"] else None,
        undoes=row["undoes"],
        undone_by=row["undo"] if undo is not None and undo.ok else None,
    )
