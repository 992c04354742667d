"""Turns that wait for a person: stored whole, and taken out once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fallback.errors import ConfigurationError
from fallback.ledger.database import Database

__all__ = ["Paused"]


@dataclass(frozen=True, slots=True)
class Paused:
    """The paused turns of one ledger; ``Ledger.paused``."""

    database: Database
    clock: Callable[[], float]

    def put(self, turn_id: str, content: Mapping[str, Any]) -> None:
        """Keep a turn; one that is kept under the same id is replaced.

        Raises:
            ConfigurationError: the content is no JSON.
        """
        try:
            text = json.dumps(content)
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigurationError(f"a paused turn has to be JSON: {error}") from None
        with self.database.writing() as tx:
            tx.all(
                "INSERT INTO fallback_paused (turn_id, content, put_at)"
                " VALUES (:turn_id, :content, :now) ON CONFLICT (turn_id)"
                " DO UPDATE SET content = :content, put_at = :now",
                turn_id=turn_id,
                content=text,
                now=self.clock(),
            )

    def take(self, turn_id: str) -> dict[str, Any] | None:
        """Take a turn out; of two that try, one gets it and the other gets ``None``."""
        with self.database.writing() as tx:
            row = tx.one(
                "DELETE FROM fallback_paused WHERE turn_id = :turn_id RETURNING content",
                turn_id=turn_id,
            )
        return None if row is None else dict(json.loads(row["content"]))

    def get(self, turn_id: str) -> dict[str, Any] | None:
        """Look at a turn and leave it where it is."""
        with self.database.reading() as tx:
            row = tx.one(
                "SELECT content FROM fallback_paused WHERE turn_id = :turn_id", turn_id=turn_id
            )
        return None if row is None else dict(json.loads(row["content"]))

    def list(self) -> tuple[str, ...]:
        """Ids of the turns that wait, the longest waiting first."""
        with self.database.reading() as tx:
            rows = tx.all("SELECT turn_id FROM fallback_paused ORDER BY put_at, turn_id")
        return tuple(row["turn_id"] for row in rows)
