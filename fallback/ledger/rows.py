"""What of a row the audit log vouches for: hashes of columns, held by the entry that wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fallback.ledger.database import Row, Transaction
from fallback.ledger.encoding import canonical, sha256

__all__ = ["NOT_ENDED", "asked_hash", "begun_hash", "ended_hash", "votes_on"]

_BEGUN = (
    *("key", "id", "tool", "fingerprint", "operation", "attempt", "holder", "lease_until"),
    *("started_at", "undoes"),
)
_ENDED = ("state", "ended_at", "result", "resource", "detail")
_ASKED = ("id", "hash", "request", "needed", "requested_at", "expires_at", "votes")
_VOTE = ("voter", "name", "verdict", "reason", "at")

NOT_ENDED = {"state": "started", "ended_at": None, "result": None, "resource": "", "detail": ""}
"""What an operation that has begun holds in place of an end."""


def begun_hash(row: Row) -> str:
    """Of an operation, what is written when it begins, and stays until it begins again."""
    return _hash(row, _BEGUN)


def ended_hash(row: Mapping[str, Any]) -> str:
    """Of an operation, what is written when it ends."""
    return _hash(row, _ENDED)


def asked_hash(row: Row, votes: Iterable[Row]) -> str:
    """Of an approval, what was asked, until when, and everybody's word on it."""
    said = [[vote[column] for column in _VOTE] for vote in votes]
    return _hash({**row, "votes": said}, _ASKED)


def votes_on(tx: Transaction, approval_id: str) -> list[Row]:
    """Everybody's word on an approval, in the order in which it was given."""
    return tx.all(
        "SELECT * FROM fallback_votes WHERE approval_id = :id ORDER BY at, voter", id=approval_id
    )


def _hash(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """SHA-256 of columns as the database gives them back.

    A whole number in a column of fractions comes back from an insertion as what it was, and later
    as a fraction.
    """
    values = (row[column] for column in columns)
    return sha256(canonical([float(v) if isinstance(v, int) else v for v in values]))
