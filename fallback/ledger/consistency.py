"""Whether operations and approvals are as the audit log says: it is sealed, the tables are not.

An operation that was removed, or set back, would run again; an approval that was set by hand would
let something run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fallback.ledger import audit
from fallback.ledger.audit import Fault
from fallback.ledger.database import Transaction
from fallback.ledger.encoding import sha256
from fallback.ledger.values import Anchor, Audited

__all__ = ["verify"]

_OPERATIONS = """
    SELECT id, state, result FROM fallback_operations
    WHERE id > :after ORDER BY id LIMIT :page
"""
_APPROVALS = "SELECT id, status FROM fallback_approvals WHERE id > :after ORDER BY id LIMIT :page"

_Told = tuple[int, tuple[str, str]]
"""The entry that last spoke of something, and what it said: the state and the result's hash."""


def verify(tx: Transaction, anchor: Anchor | None) -> Fault | None:
    """See :meth:`fallback.ledger.Ledger.verify`."""
    told: dict[str, _Told] = {}
    fault = audit.verify(tx, anchor, lambda entry: told.update(_told(entry)))
    if fault is not None:
        return fault
    for name, found in _tables(tx):
        seq, said = told.pop(name, (0, ("", "")))
        if found != said:
            what = f"is {found[0]}, the log says {said[0] or 'nothing of it'}"
            if found[0] == said[0]:
                what = "has another result than the log says"
            return Fault("tables", seq, f"{name} {what}")
    if told:
        name, (seq, _) = min(told.items(), key=lambda item: item[1][0])
        return Fault("tables", seq, f"{name} has been removed; entry {seq} speaks of it")
    return None


def _told(entry: Audited) -> Iterator[tuple[str, _Told]]:
    """What an entry says of the state of its operation or approval."""
    body = entry.body
    event, outcome = body.get("event"), body.get("outcome", "")
    if event in ("started", "finished", "failed", "unknown"):
        yield _name(body, "operation"), (entry.seq, (event, body.get("result_hash", "")))
    elif event == "resolved":
        state = "finished" if outcome == "done" else "failed"
        yield _name(body, "operation"), (entry.seq, (state, body.get("result_hash", "")))
    elif event in ("approval_requested", "approved", "denied", "approval_used"):
        yield _name(body, "approval"), (entry.seq, (outcome, ""))


def _name(body: Mapping[str, Any], what: str) -> str:
    return str(body.get(what, ""))


def _tables(tx: Transaction) -> Iterator[tuple[str, tuple[str, str]]]:
    for row in tx.pages(_OPERATIONS, "", column="id"):
        yield row["id"], (row["state"], _hash(row["result"]))
    for row in tx.pages(_APPROVALS, "", column="id"):
        yield row["id"], (row["status"], "")


def _hash(result: str | None) -> str:
    return sha256(str(result)) if result else ""
