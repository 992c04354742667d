"""The ledger of one session: opened when it is first needed, closed by whoever opened it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from fallback.ledger import Entry, Ledger
from fallback.session.claims import Claim

__all__ = ["Books"]


class Books:
    """Where a session keeps what must not be forgotten.

    Args:
        given: a ledger, the address of one, or ``None``: then it is kept in memory.
        clock: tells the time to a ledger that is opened here; ``None`` for the system's.
    """

    def __init__(
        self, given: Ledger | str | Path | None, clock: Callable[[], datetime] | None
    ) -> None:
        self._given, self._clock = given, clock
        self._lock = threading.Lock()
        self._ledger = given if isinstance(given, Ledger) else None

    @property
    def audited(self) -> bool:
        """Whether every proposed call goes on record: where somebody can read it later."""
        return self._given is not None

    def ledger(self) -> Ledger:
        """The ledger, opened if it is not yet.

        Raises:
            LedgerError: it cannot be opened.
        """
        with self._lock:
            if self._ledger is None:
                self._ledger = self._open()
            return self._ledger

    def _open(self) -> Ledger:
        told = self._clock
        clock = time.time if told is None else lambda: told().timestamp()
        if self._given is None or isinstance(self._given, Ledger):
            return Ledger.in_memory(clock=clock)
        return Ledger.open(self._given, clock=clock)

    def record(self, entries: Iterable[Entry]) -> None:
        """Add entries to the audit log, if there is one that lasts."""
        if self.audited:
            ledger = self.ledger()
            for entry in entries:
                ledger.record(entry)

    def paused(self, turn_id: str) -> dict[str, Any] | None:
        """The turn that waits under an id."""
        return self.ledger().paused.get(turn_id)

    def pause(self, turn_id: str, content: Mapping[str, Any]) -> None:
        """Keep a turn that waits."""
        paused = self.ledger().paused
        if not self.audited:
            # Nobody else sees this ledger, and the session goes back to its last turn only.
            for other in paused.list():
                paused.take(other)
        paused.put(turn_id, content)

    def claim(self, turn_id: str) -> Claim:
        """The claim to a turn that waits; not taken yet."""
        return Claim(self.ledger().paused, turn_id)

    def close(self) -> None:
        """Close what was opened here."""
        with self._lock:
            if self._ledger is not None and self._ledger is not self._given:
                self._ledger.close()
                self._ledger = None
