"""Whether operations and approvals are as the audit log says: it is sealed, the tables are not.

An operation that was removed, set back, or given another key would run again; an approval that was
set by hand, or made to last, would let something run. So an entry of the log holds, besides what is
to be read in it, a hash of what the tables hold from then on: an operation's columns as it begins
and as it ends, an approval's question and votes. Entries of earlier versions have none, and there
the state and the result alone are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fallback.ledger import audit
from fallback.ledger.audit import Fault
from fallback.ledger.database import Row, Transaction
from fallback.ledger.encoding import sha256
from fallback.ledger.rows import NOT_ENDED, asked_hash, begun_hash, ended_hash, votes_on
from fallback.ledger.values import Anchor, Audited

__all__ = ["verify"]

_OPERATIONS = "SELECT * FROM fallback_operations WHERE id > :after ORDER BY id LIMIT :page"
_APPROVALS = "SELECT * FROM fallback_approvals WHERE id > :after ORDER BY id LIMIT :page"
_STRAY = """
    SELECT approval_id FROM fallback_votes
    WHERE approval_id NOT IN (SELECT id FROM fallback_approvals) LIMIT 1
"""


@dataclass(slots=True)
class _Said:
    """What there is of an operation or an approval: as the log says, or as the tables have it.

    Attributes:
        seq: the entry that last spoke of it; 0 if none did.
        state: an operation's state, or an approval's status.
        result: the hash of an operation's result.
        begun, ended: hashes of the columns; ``None`` where the log does not say.
    """

    seq: int = 0
    state: str = ""
    result: str = ""
    begun: str | None = None
    ended: str | None = None


def verify(tx: Transaction, anchor: Anchor | None) -> Fault | None:
    """See :meth:`fallback.ledger.Ledger.verify`."""
    told: dict[str, _Said] = {}
    fault = audit.verify(tx, anchor, lambda entry: _hear(told, entry))
    if fault is not None:
        return fault
    for name, found in _tables(tx):
        said = told.pop(name, _Said())
        if what := _difference(found, said):
            return Fault("tables", said.seq, f"{name} {what}")
    if told:
        name, said = min(told.items(), key=lambda item: item[1].seq)
        return Fault("tables", said.seq, f"{name} has been removed; entry {said.seq} speaks of it")
    if (vote := tx.one(_STRAY)) is not None:
        return Fault("tables", 0, f"{vote['approval_id']} is voted on, and there is none")
    return None


def _difference(found: _Said, said: _Said) -> str:
    """What is not as the log says; empty if all is."""
    if found.state != said.state:
        return f"is {found.state}, the log says {said.state or 'nothing of it'}"
    if found.result != said.result:
        return "has another result than the log says"
    if said.begun is not None and found.begun != said.begun:
        return "is not what was put on record when it began"
    if said.ended is not None and found.ended != said.ended:
        return "is not what was put on record when it ended"
    return ""


def _hear(told: dict[str, _Said], entry: Audited) -> None:
    """Take what an entry says of its operation or approval."""
    body = entry.body
    event, outcome = body.get("event"), str(body.get("outcome", ""))
    seal = _text(body, "row_hash")
    if event in ("approval_requested", "approved", "denied", "approval_used"):
        told[_name(body, "approval")] = _Said(entry.seq, outcome, begun=seal)
        return
    if event not in ("started", "finished", "failed", "unknown", "resolved"):
        return
    name = _name(body, "operation")
    said = told.setdefault(name, _Said())
    said.seq = entry.seq
    said.result = str(body.get("result_hash", ""))
    if event == "started":
        said.state, said.begun = "started", seal
        said.ended = None if seal is None else ended_hash(NOT_ENDED)
        return
    said.ended = seal
    said.state = event
    if event == "resolved":
        said.state = "finished" if outcome == "done" else "failed"


def _name(body: Mapping[str, Any], what: str) -> str:
    return str(body.get(what, ""))


def _text(body: Mapping[str, Any], what: str) -> str | None:
    value = body.get(what)
    return None if value is None else str(value)


def _tables(tx: Transaction) -> Iterator[tuple[str, _Said]]:
    for row in tx.pages(_OPERATIONS, "", column="id"):
        yield row["id"], _operation(row)
    for row in tx.pages(_APPROVALS, "", column="id"):
        seal = asked_hash(row, votes_on(tx, row["id"]))
        yield row["id"], _Said(state=row["status"], begun=seal)


def _operation(row: Row) -> _Said:
    return _Said(
        state=row["state"],
        result=sha256(str(row["result"])) if row["result"] else "",
        begun=begun_hash(row),
        ended=ended_hash(row),
    )
