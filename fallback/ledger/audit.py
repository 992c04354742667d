"""The audit log: entries that are only ever added, each sealed with the hash of the one before.

An entry is ``(seq, body, hash)`` where ``hash = SHA-256(seq "\\n" previous hash "\\n" body)`` and
``body`` is JSON text, hashed exactly as it is stored. A head record holds the last ``seq`` and
``hash``. So an entry that is changed, removed, added or moved breaks the chain at its place, and
one that is cut off at the end no longer fits the head.

What this cannot show by itself: somebody who may write to the database can compute every hash anew.
An :class:`~fallback.ledger.values.Anchor` that is kept elsewhere shows that too, for everything up
to the anchor.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from fallback.errors import LedgerError
from fallback.ledger.database import PAGE, Row, Transaction
from fallback.ledger.encoding import Masker, canonical, masked, sha256
from fallback.ledger.values import Anchor, Audited, Entry, Operation

__all__ = ["Fault", "append", "entries", "head", "last_number", "seal", "verify"]

FaultKind = Literal["edited", "missing", "head", "anchor", "tables"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Where the ledger is not what was written.

    Attributes:
        kind: ``tables`` where an operation or an approval is not as the log has it.
        seq: the first entry that does not fit, or the one that speaks of what does not.
        message: a sentence for a person.
    """

    kind: FaultKind
    seq: int
    message: str


def append(tx: Transaction, entry: Entry, *, at: float, mask: Masker) -> Anchor:
    """Add an entry, inside the transaction that does what the entry says."""
    # The update makes every other writer wait, so that two entries cannot follow the same one.
    row = tx.one("UPDATE fallback_audit_head SET seq = seq + 1 WHERE id = 1 RETURNING seq, hash")
    if row is None:
        raise LedgerError("the head of the audit log is gone; see `fallback ledger verify`")
    seq = int(row["seq"])
    body = canonical(_body(entry, at, mask))
    sealed = seal(seq, row["hash"], body)
    tx.all(
        "INSERT INTO fallback_audit (seq, body, hash) VALUES (:seq, :body, :hash)",
        seq=seq,
        body=body,
        hash=sealed,
    )
    tx.all("UPDATE fallback_audit_head SET hash = :hash WHERE id = 1", hash=sealed)
    return Anchor(seq, sealed)


def seal(seq: int, previous: str, body: str) -> str:
    """The hash of an entry that follows the one with the hash ``previous``."""
    return sha256(f"{seq}\n{previous}\n{body}")


_ALL = """
    SELECT seq, body, hash FROM fallback_audit WHERE seq > :after ORDER BY seq LIMIT :page
"""


def head(tx: Transaction) -> Anchor:
    """The last entry, as the head record has it; ``0:`` of an empty log."""
    row = tx.one("SELECT seq, hash FROM fallback_audit_head WHERE id = 1")
    return Anchor(int(row["seq"]), row["hash"]) if row else Anchor(0, "")


def last_number(tx: Transaction) -> int:
    """Number of the last entry that is there, whatever the head says."""
    row = tx.one(
        "SELECT seq FROM fallback_audit WHERE seq < :most ORDER BY seq DESC LIMIT 1", most=2**62
    )
    return row["seq"] if row else 0


def entries(tx: Transaction, *, after: int, until: int) -> list[Audited]:
    """A page of the entries behind ``after``, in order."""
    rows = tx.all(
        "SELECT seq, body, hash FROM fallback_audit"
        " WHERE seq > :after AND seq <= :until ORDER BY seq LIMIT :page",
        after=after,
        until=until,
        page=PAGE,
    )
    return [Audited(seq=row["seq"], hash=row["hash"], body=_read(row["body"])) for row in rows]


def verify(
    tx: Transaction, anchor: Anchor | None, visit: Callable[[Audited], object]
) -> Fault | None:
    """The first place where the log is not what was written; ``None`` if it is.

    Args:
        tx: a reading transaction.
        anchor: what :func:`head` gave at some earlier time.
        visit: is shown every entry that fits, in order.
    """
    seq, previous = 0, ""
    anchored = anchor is None or anchor == (0, "")
    for row in tx.pages(_ALL, 0, column="seq"):
        seq += 1
        if fault := _fault(row, seq, previous):
            return fault
        previous = row["hash"]
        visit(Audited(seq=seq, hash=previous, body=_read(row["body"])))
        if anchor is not None and anchor.seq == seq:
            if anchor.hash != previous:
                return Fault("anchor", seq, f"entry {seq} is not the one that the anchor names")
            anchored = True
    last = tx.one("SELECT seq, hash FROM fallback_audit_head WHERE id = 1")
    if last is None or (last["seq"], last["hash"]) != (seq, previous):
        told = f"entry {last['seq']}" if last else "nothing"
        return Fault("head", seq + 1, f"the log ends with entry {seq}, its head names {told}")
    if not anchored:
        return Fault("anchor", seq + 1, f"the log ends with entry {seq}, before the anchor")
    return None


def _fault(row: Row, seq: int, previous: str) -> Fault | None:
    if row["seq"] != seq:
        return Fault("missing", seq, f"entry {seq} is missing; the next one is {row['seq']}")
    if seal(seq, previous, row["body"]) != row["hash"]:
        return Fault("edited", seq, f"entry {seq} is not what was written, or not in its place")
    return None


def _read(body: str) -> dict[str, Any]:
    """What is recorded; empty where somebody has made it unreadable."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _body(entry: Entry, at: float, mask: Masker) -> dict[str, Any]:
    """What is written of an entry; what is empty is left out."""
    body: dict[str, Any] = {"at": datetime.fromtimestamp(at, UTC).isoformat(), "event": entry.event}
    if entry.operation is not None:
        body |= _operation(entry.operation, mask)
    body |= {
        "operation": entry.operation_id,
        "key": entry.key,
        "outcome": entry.outcome,
        "resource": mask(entry.resource),
        "result_hash": entry.result_hash,
        "row_hash": entry.row_hash,
        "by": entry.by,
        "detail": mask(entry.detail),
    }
    return {name: value for name, value in body.items() if value not in ("", {})}


def _operation(operation: Operation, mask: Masker) -> dict[str, Any]:
    origin, versions = asdict(operation.origin), asdict(operation.versions)
    versions["dispatcher"] = versions["dispatcher"] or _dispatcher()
    return {
        "tool": operation.tool,
        "arguments": masked(operation.arguments, mask),
        "origin": {name: value for name, value in origin.items() if value not in ("", None)},
        "user": operation.user,
        "tenant": operation.tenant,
        "approval": operation.approval_id,
        "versions": {name: value for name, value in versions.items() if value},
    }


@cache
def _dispatcher() -> str:
    name = "toolcall-fallback"
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:  # a copy of the source, without what an installer knows
        return name
