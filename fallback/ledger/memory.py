"""A ledger that lives as long as its object: for sessions that were given none, and for tests."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator

from fallback.ledger.database import Database, Transaction
from fallback.ledger.sqlite import transaction

__all__ = ["MemoryDatabase"]


class MemoryDatabase(Database):
    """One connection to a database that has no file; its transactions come one after the other."""

    dialect = "sqlite"
    shown = "memory"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            ":memory:",
            isolation_level=None,  # transactions are begun by hand
            check_same_thread=False,  # the lock sees to that
        )
        self._connection.row_factory = sqlite3.Row

    @contextlib.contextmanager
    def writing(self) -> Iterator[Transaction]:
        """See :meth:`Database.writing`."""
        with self._lock:
            yield from transaction(self._connection, "BEGIN IMMEDIATE")

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """See :meth:`Database.reading`."""
        with self._lock:
            yield from transaction(self._connection, "BEGIN")

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._connection.close()
