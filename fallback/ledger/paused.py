"""Turns that wait for a person: stored whole, and gone on with by one holder at a time.

Whoever goes on with a turn claims it first, under a token of his own, and for as long as he holds
the claim everybody else is refused. It ends when the turn does, when it is given back, when the
process that holds it has gone, or with its lease, see :mod:`fallback.ledger.holders`. Every change
compares the token in the statement that makes it: whoever has lost the claim changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fallback.errors import ConfigurationError, LedgerError
from fallback.ledger.database import Database, Row
from fallback.ledger.holders import Holder, lease_until, loss

__all__ = ["Claimed", "Paused"]

_PUT = """
    INSERT INTO fallback_paused (turn_id, content, put_at) VALUES (:turn_id, :content, :now)
    ON CONFLICT (turn_id) DO UPDATE SET content = :content, put_at = :now,
        claim = '', holder = '', claimed_at = 0, lease_until = 0
"""
_CLAIM = """
    UPDATE fallback_paused
    SET claim = :token, holder = :holder, claimed_at = :now, lease_until = :lease
    WHERE turn_id = :turn_id AND claim = :seen RETURNING content
"""
_RENEW = """
    UPDATE fallback_paused
    SET lease_until = :lease, content = COALESCE(CAST(:content AS TEXT), content)
    WHERE turn_id = :turn_id AND claim = :token RETURNING turn_id
"""
_RELEASE = """
    UPDATE fallback_paused
    SET claim = '', holder = '', claimed_at = 0, lease_until = 0,
        put_at = CASE WHEN CAST(:content AS TEXT) IS NULL THEN put_at ELSE :now END,
        content = COALESCE(CAST(:content AS TEXT), content)
    WHERE turn_id = :turn_id AND claim = :token RETURNING turn_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A turn that is yours to go on with.

    Attributes:
        content: the turn as it stands.
        after: why whoever held it before is taken for lost; empty if nobody did.
    """

    content: dict[str, Any]
    after: str = ""


@dataclass(frozen=True, slots=True)
class Paused:
    """The paused turns of one ledger; ``Ledger.paused``."""

    database: Database
    clock: Callable[[], float]
    holder: Callable[[], Holder]

    def put(self, turn_id: str, content: Mapping[str, Any]) -> None:
        """Keep a turn, for anybody to claim; one that is kept under the same id is replaced.

        Raises:
            ConfigurationError: the content is no JSON.
        """
        text = _text(content)
        with self.database.writing() as tx:
            tx.all(_PUT, turn_id=turn_id, content=text, now=self.clock())

    def claim(self, turn_id: str, token: str, *, seconds: float | None) -> Claimed | None:
        """Claim a turn; ``None`` if there is none. Of several that try, one succeeds.

        Args:
            turn_id: names the turn.
            token: names this claim; nobody else may know it.
            seconds: how long it takes until :meth:`renew` is called, at most; ``None`` if that is
                not known.

        Raises:
            LedgerError: somebody else holds it; says who, and since when.
        """
        now = self.clock()
        values: dict[str, Any] = {
            "turn_id": turn_id,
            "token": token,
            "holder": self.holder().to_text(),
            "now": now,
            "lease": lease_until(now, seconds),
        }
        with self.database.writing() as tx:
            while True:  # once more whenever somebody else was quicker
                row = tx.one("SELECT * FROM fallback_paused WHERE turn_id = :id", id=turn_id)
                if row is None:
                    return None
                after = _vacancy(row, self.holder(), now)
                if (taken := tx.one(_CLAIM, **values, seen=row["claim"])) is not None:
                    return Claimed(content=_content(turn_id, taken), after=after)

    def renew(
        self,
        turn_id: str,
        token: str,
        *,
        seconds: float | None,
        content: Mapping[str, Any] | None = None,
    ) -> None:
        """Hold on to a claim; with ``content``, the turn has come so far.

        Raises:
            LedgerError: it has been lost.
            ConfigurationError: the content is no JSON.
        """
        text = None if content is None else _text(content)
        lease = lease_until(self.clock(), seconds)
        with self.database.writing() as tx:
            held = tx.one(_RENEW, turn_id=turn_id, token=token, lease=lease, content=text)
        if held is None:
            raise _lost(turn_id)

    def release(
        self, turn_id: str, token: str, *, content: Mapping[str, Any] | None = None
    ) -> bool:
        """Give a claim back; with ``content``, the turn waits anew, as it is there.

        Returns:
            Whether it was still held.

        Raises:
            ConfigurationError: the content is no JSON.
        """
        text = None if content is None else _text(content)
        values = {"turn_id": turn_id, "token": token, "content": text, "now": self.clock()}
        with self.database.writing() as tx:
            return tx.one(_RELEASE, **values) is not None

    def drop(self, turn_id: str, token: str) -> bool:
        """Let go of a claimed turn that has ended; gives whether the claim was still held."""
        with self.database.writing() as tx:
            gone = tx.one(
                "DELETE FROM fallback_paused WHERE turn_id = :turn_id AND claim = :token"
                " RETURNING turn_id",
                turn_id=turn_id,
                token=token,
            )
        return gone is not None

    def take(self, turn_id: str) -> dict[str, Any] | None:
        """Take a turn out, whoever holds it; of two that try, one gets it, the other ``None``."""
        with self.database.writing() as tx:
            row = tx.one(
                "DELETE FROM fallback_paused WHERE turn_id = :turn_id RETURNING content",
                turn_id=turn_id,
            )
        return None if row is None else _content(turn_id, row)

    def get(self, turn_id: str) -> dict[str, Any] | None:
        """Look at a turn and leave it where it is."""
        with self.database.reading() as tx:
            row = tx.one(
                "SELECT content FROM fallback_paused WHERE turn_id = :turn_id", turn_id=turn_id
            )
        return None if row is None else _content(turn_id, row)

    def list(self) -> tuple[str, ...]:
        """Ids of the turns that wait, the longest waiting first."""
        with self.database.reading() as tx:
            rows = tx.all("SELECT turn_id FROM fallback_paused ORDER BY put_at, turn_id")
        return tuple(row["turn_id"] for row in rows)


def _text(content: Mapping[str, Any]) -> str:
    try:
        return json.dumps(content)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"a paused turn has to be JSON: {error}") from None


def _content(turn_id: str, row: Row) -> dict[str, Any]:
    try:
        return dict(json.loads(row["content"]))
    except (TypeError, ValueError, RecursionError):
        raise _damaged(turn_id) from None


def _vacancy(row: Row, mine: Holder, now: float) -> str:
    """Why the holder of a turn is taken for lost; empty if nobody holds it.

    Raises:
        LedgerError: somebody does.
    """
    if not row["claim"]:
        return ""
    try:
        holder = Holder.from_text(row["holder"])
    except (AttributeError, TypeError, ValueError):
        raise _damaged(row["turn_id"]) from None
    if lost := loss(holder, row["lease_until"], now):
        return lost
    who = f"process {holder.pid} on {holder.host}"
    if holder == mine:
        who = f"this process ({holder.pid})"
    raise LedgerError(
        f"turn {row['turn_id']} is being resumed by {who} since {_moment(row['claimed_at'])};"
        f" wait for it, or end it and try again (its claim is given up at"
        f" {_moment(row['lease_until'])} unless it is renewed)"
    )


def _lost(turn_id: str) -> LedgerError:
    return LedgerError(
        f"turn {turn_id} is not held any more: somebody else has taken it over, or it has ended"
    )


def _damaged(turn_id: str) -> LedgerError:
    return LedgerError(f"the paused turn {turn_id} is damaged; restore a copy, or ask again")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
