"""Approvals: what a person was asked, who said what, and that it is used once.

An approval is bound to a hash of what will run. It says nothing about anything else: a call whose
arguments have changed since has another hash, and is refused.
"""

from __future__ import annotations

import json
import secrets
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from fallback.errors import ConfigurationError, LedgerError
from fallback.ledger import audit
from fallback.ledger.database import Database, Row, Transaction
from fallback.ledger.encoding import Masker, canonical
from fallback.ledger.rows import asked_hash, votes_on
from fallback.ledger.values import Entry, Event, Operation, Origin

__all__ = ["APPROVAL_SECONDS", "Approval", "ApprovalStatus", "Approvals", "Refusal", "Vote"]

APPROVAL_SECONDS = 24 * 3600.0
"""How long an approval is good for unless it says otherwise: what a person was shown of the world
yesterday may be shown today, and not next week."""

ApprovalStatus = Literal["pending", "approved", "denied", "expired", "used"]

RefusalReason = Literal["unknown", "pending", "denied", "expired", "used", "changed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one person said, and when (seconds since 1970)."""

    by: str
    verdict: Literal["approve", "deny"]
    reason: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A question to people, and what they have said so far.

    The ledger fills in ``id``, ``status``, ``votes`` and the times; they are left out in a request.

    Attributes:
        hash: of exactly what may run; compared, never interpreted.
        tool, arguments: what the model asked for, for the person who decides.
        preview: what will really happen, in the tool's own words.
        risk: the tool's, for display.
        origin, user, tenant: who wants it, on whose authority.
        needed: how many different people have to agree.
        seconds: how long it is good for.
        status: ``expired`` as soon as the time is over, unless it was used or denied before.
        requested_at, expires_at: seconds since 1970.
    """

    hash: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    preview: str = ""
    risk: str = ""
    origin: Origin = field(default_factory=Origin)
    user: str = ""
    tenant: str = ""
    needed: int = 1
    seconds: float = APPROVAL_SECONDS
    id: str = ""
    status: ApprovalStatus = "pending"
    votes: tuple[Vote, ...] = ()
    requested_at: float = 0.0
    expires_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why an approval does not let a call run; ``message`` is a sentence for a person."""

    reason: RefusalReason
    message: str


@dataclass(frozen=True, slots=True)
class Approvals:
    """The approvals of one ledger; ``Ledger.approvals``."""

    database: Database
    mask: Masker
    clock: Callable[[], float]

    def request(self, approval: Approval) -> Approval:
        """Ask; gives the approval with its id (``ap_`` and 16 hex digits) and its times.

        Raises:
            ConfigurationError: nobody is needed, it is good for no time, or it has no hash.
        """
        if approval.needed < 1 or not approval.seconds > 0 or not approval.hash:
            raise ConfigurationError(
                "an approval needs a hash, at least one person, and some time to be given in"
            )
        id_, now = f"ap_{secrets.token_hex(8)}", self.clock()
        with self.database.writing() as tx:
            tx.all(
                "INSERT INTO fallback_approvals"
                " (id, hash, request, status, needed, requested_at, expires_at)"
                " VALUES (:id, :hash, :request, 'pending', :needed, :now, :expires)",
                id=id_,
                hash=approval.hash,
                request=_request_text(approval),
                needed=approval.needed,
                now=now,
                expires=now + approval.seconds,
            )
            asked = f"{approval.needed} needed for call {approval.hash}"
            self._record(tx, "approval_requested", approval, id_, outcome="pending", detail=asked)
            return _load(tx, id_, now)

    def get(self, approval_id: str) -> Approval | None:
        """The approval with this id."""
        with self.database.reading() as tx:
            return _found(tx, approval_id, self.clock())

    def list(self, status: ApprovalStatus | None = None) -> tuple[Approval, ...]:
        """All of them, or those with a status; the oldest first."""
        now = self.clock()
        with self.database.reading() as tx:
            ids = tx.all("SELECT id FROM fallback_approvals ORDER BY requested_at, id")
            found = [_load(tx, row["id"], now) for row in ids]
        return tuple(approval for approval in found if status in (None, approval.status))

    def approve(self, approval_id: str, by: str) -> Approval:
        """Count one person's yes; the approval is given when enough different people said it.

        Raises:
            LedgerError: there is no such approval, it is not pending, or this person has said it
                before. Names are compared without regard to case and surrounding spaces.
        """
        return self._vote(approval_id, by, "approve", "")

    def deny(self, approval_id: str, by: str, reason: str = "") -> Approval:
        """One person's no ends it, also after others said yes, as long as it was not used.

        Raises:
            LedgerError: there is no such approval, or it is too late.
        """
        return self._vote(approval_id, by, "deny", reason)

    def consume(self, approval_id: str, call_hash: str) -> Approval | Refusal:
        """Use an approval for the one call with this hash; succeeds once, whoever else tries.

        A call with another hash is refused, and the approval stays good for the one it was given
        for.
        """
        now = self.clock()
        with self.database.writing() as tx:
            used = tx.one(
                "UPDATE fallback_approvals SET status = 'used' WHERE id = :id AND hash = :hash"
                " AND status = 'approved' AND expires_at > :now RETURNING id",
                id=approval_id,
                hash=call_hash,
                now=now,
            )
            approval = _found(tx, approval_id, now)
            if approval is None:
                return Refusal(reason="unknown", message=f"there is no approval {approval_id!r}")
            if used is not None:
                self._record(tx, "approval_used", approval, approval_id, outcome="used")
                return approval
            refusal = _refusal(approval, call_hash)
            self._record(tx, "approval_refused", approval, approval_id, detail=refusal.message)
            return refusal

    def _vote(
        self, approval_id: str, by: str, verdict: Literal["approve", "deny"], reason: str
    ) -> Approval:
        voter = unicodedata.normalize("NFKC", by).strip().casefold()
        if not voter or not voter.isprintable():
            raise ConfigurationError(f"whoever decides has to have a name, got {by!r:.100}")
        now = self.clock()
        with self.database.writing() as tx:
            # Locks the row: two people who decide at the same time decide one after the other.
            tx.all("UPDATE fallback_approvals SET needed = needed WHERE id = :id", id=approval_id)
            approval = _load(tx, approval_id, now)
            if approval.status not in _OPEN[verdict]:
                raise LedgerError(
                    f"approval {approval_id} is {approval.status}; it cannot be changed now"
                )
            if verdict == "approve":
                _insert_vote(tx, approval, voter, by, verdict, reason, now)
                agreed = len(approval.votes) + 1 >= approval.needed
                status: ApprovalStatus = "approved" if agreed else "pending"
            else:
                tx.all(
                    "DELETE FROM fallback_votes WHERE approval_id = :id AND voter = :voter",
                    id=approval_id,
                    voter=voter,
                )
                _insert_vote(tx, approval, voter, by, verdict, reason, now)
                status = "denied"
            tx.all(
                "UPDATE fallback_approvals SET status = :status WHERE id = :id",
                id=approval_id,
                status=status,
            )
            event: Event = "approved" if verdict == "approve" else "denied"
            self._record(tx, event, approval, approval_id, outcome=status, by=by, detail=reason)
            return _load(tx, approval_id, now)

    def _record(
        self,
        tx: Transaction,
        event: Event,
        approval: Approval,
        approval_id: str,
        *,
        outcome: str = "",
        by: str = "",
        detail: str = "",
    ) -> None:
        row = _row_of(tx, approval_id) if outcome else None
        seal = asked_hash(row, votes_on(tx, approval_id)) if row else ""
        operation = Operation(
            tool=approval.tool,
            arguments=approval.arguments,
            origin=approval.origin,
            user=approval.user,
            tenant=approval.tenant,
            approval_id=approval_id,
        )
        entry = Entry(
            event=event,
            operation=operation,
            outcome=outcome,
            row_hash=seal,
            by=by,
            detail=detail,
        )
        audit.append(tx, entry, at=self.clock(), mask=self.mask)


_OPEN: dict[str, tuple[ApprovalStatus, ...]] = {
    "approve": ("pending",),
    "deny": ("pending", "approved"),
}


def _insert_vote(
    tx: Transaction,
    approval: Approval,
    voter: str,
    by: str,
    verdict: str,
    reason: str,
    now: float,
) -> None:
    new = tx.one(
        "INSERT INTO fallback_votes (approval_id, voter, name, verdict, reason, at)"
        " VALUES (:id, :voter, :name, :verdict, :reason, :now)"
        " ON CONFLICT (approval_id, voter) DO NOTHING RETURNING voter",
        id=approval.id,
        voter=voter,
        name=by.strip(),
        verdict=verdict,
        reason=reason,
        now=now,
    )
    if new is None:
        raise LedgerError(
            f"{by.strip()} has approved {approval.id} already; {approval.needed} different people"
            " are needed"
        )


def _refusal(approval: Approval, call_hash: str) -> Refusal:
    if approval.hash != call_hash:
        return Refusal(
            reason="changed", message=f"approval {approval.id} was given for another call"
        )
    words = {
        "pending": f"approval {approval.id} has not been given yet",
        "denied": f"approval {approval.id} was denied",
        "expired": f"approval {approval.id} has expired",
        "used": f"approval {approval.id} has been used",
    }
    reason: Any = approval.status
    return Refusal(reason=reason, message=words[approval.status])


def _request_text(approval: Approval) -> str:
    return canonical(
        {
            "tool": approval.tool,
            "arguments": dict(approval.arguments),
            "preview": approval.preview,
            "risk": approval.risk,
            "origin": asdict(approval.origin),
            "user": approval.user,
            "tenant": approval.tenant,
            "seconds": approval.seconds,
        }
    )


def _row_of(tx: Transaction, approval_id: str) -> Row | None:
    return tx.one("SELECT * FROM fallback_approvals WHERE id = :id", id=approval_id)


def _found(tx: Transaction, approval_id: str, now: float) -> Approval | None:
    row = _row_of(tx, approval_id)
    if row is None:
        return None
    return _approval(row, votes_on(tx, approval_id), now)


def _load(tx: Transaction, approval_id: str, now: float) -> Approval:
    approval = _found(tx, approval_id, now)
    if approval is None:
        raise LedgerError(
            f"no approval {approval_id!r} in the ledger; see `fallback approvals list`"
        )
    return approval


def _approval(row: Row, votes: list[Row], now: float) -> Approval:
    request = json.loads(row["request"])
    over = row["status"] in ("pending", "approved") and now >= row["expires_at"]
    return Approval(
        **{**request, "origin": Origin(**request["origin"])},
        hash=row["hash"],
        needed=row["needed"],
        id=row["id"],
        status="expired" if over else row["status"],
        votes=tuple(
            Vote(by=vote["name"], verdict=vote["verdict"], reason=vote["reason"], at=vote["at"])
            for vote in votes
        ),
        requested_at=row["requested_at"],
        expires_at=row["expires_at"],
    )
