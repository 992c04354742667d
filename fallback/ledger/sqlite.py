"""The ledger in a file of SQLite's, in WAL mode.

One connection writes, behind a lock, because SQLite has one writer at a time anyway; each reading
transaction has a connection of its own, so that a long look does not hold up a write.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from fallback.errors import LedgerError
from fallback.ledger.database import BUSY_SECONDS, Database, Row, Transaction

__all__ = ["SqliteDatabase", "SqliteTransaction", "transaction"]

_OLDEST = (3, 35, 0)  # RETURNING

Errors = Callable[[], AbstractContextManager[None]]


class SqliteDatabase(Database):
    """A ledger in a file, readable and writable by its owner alone when it is made here."""

    dialect = "sqlite"

    def __init__(self, path: Path, *, create: bool) -> None:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise LedgerError(
                f"Python was built with SQLite {sqlite3.sqlite_version}; the ledger needs 3.35"
            )
        self.path = path.expanduser().absolute()
        self.shown = str(path)
        self._lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._kept: list[sqlite3.Connection | None] = []
        self._pid = os.getpid()
        with self._errors():
            if create:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _make_private(self.path)
            elif not self.path.is_file():
                raise LedgerError(f"{self.shown}: there is no ledger here")

    @contextlib.contextmanager
    def writing(self) -> Iterator[Transaction]:
        """See :meth:`Database.writing`."""
        self._part_from_parent()
        with self._lock:
            if self._writer is None:
                self._writer = self._connect()
            yield from transaction(self._writer, "BEGIN IMMEDIATE", self._errors, self.check)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """See :meth:`Database.reading`."""
        with contextlib.closing(self._connect()) as connection:
            yield from transaction(connection, "BEGIN", self._errors)

    def close(self) -> None:
        """See :meth:`Database.close`."""
        self._part_from_parent()
        with self._lock:
            if self._writer is not None:
                self._writer.close()
            self._writer = None

    def _part_from_parent(self) -> None:
        """After a fork: begin anew.

        A child must neither use its parent's connection nor close it, which would drop the parent's
        locks on the file; so it is kept, unused. The parent's lock may be held for ever here.
        """
        if self._pid != os.getpid():
            self._kept.append(self._writer)
            self._writer, self._lock, self._pid = None, threading.Lock(), os.getpid()

    def _connect(self) -> sqlite3.Connection:
        with self._errors():
            connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode=rw",  # a file that has gone is not made anew
                uri=True,
                timeout=BUSY_SECONDS,
                isolation_level=None,  # transactions are begun by hand
                check_same_thread=False,  # the lock sees to that
            )
            try:
                connection.row_factory = sqlite3.Row
                # What somebody has made unreadable is for ``verify`` to find.
                connection.text_factory = _decoded
                _use_wal(connection)
                # "Started" has to be on the disk before the effect is in the world.
                connection.execute("PRAGMA synchronous = FULL")
            except BaseException:
                connection.close()
                raise
        return connection

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Whatever is wrong with the file, as one line that says what to do."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(f"{self.shown}: {_explained(error)}") from error


class SqliteTransaction(Transaction):
    """A transaction that has begun on a connection whose rows are ``sqlite3.Row``.

    ``errors`` makes a context that maps what the database raises.
    """

    def __init__(self, connection: sqlite3.Connection, errors: Errors = nullcontext) -> None:
        self._connection, self._errors = connection, errors

    def run(self, statement: str, values: dict[str, Any]) -> list[Row]:
        """See :meth:`Transaction.run`."""
        with self._errors():
            return [dict(row) for row in self._connection.execute(statement, values)]


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _make_private(path: Path) -> None:
    """An empty file for its owner alone; SQLite gives its side files the same permissions.

    One that is there is not even opened: closing it would drop the locks that other connections of
    this process hold on it ("How To Corrupt An SQLite Database File", section 2.2).
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL; a file is switched once, and then stays so.

    The switch needs the file for itself and does not wait for it, so the wait is written out.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def transaction(
    connection: sqlite3.Connection,
    begin: str,
    errors: Errors = nullcontext,
    check: Callable[[Transaction], None] | None = None,
) -> Iterator[Transaction]:
    """One transaction of a connection, for a context manager; rolled back when its block raises.

    Only what the database itself raises is mapped by ``errors``, never what the block does.
    ``check`` is asked first, and may raise.
    """
    with errors():
        connection.execute(begin)
    try:
        tx = SqliteTransaction(connection, errors)
        if check is not None:
            check(tx)
        yield tx
        with errors():
            connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _explained(error: sqlite3.Error | OSError) -> str:
    if isinstance(error, OSError):
        return f"the ledger cannot be opened: {error.strerror or error}"
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF  # without the extended part
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"somebody else has kept the ledger locked for {BUSY_SECONDS:g} seconds; try again"
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return "this is not a ledger, or it is damaged; restore a copy, or move it away"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return "the ledger cannot be written; check the permissions of the file and its folder"
    if code == sqlite3.SQLITE_CANTOPEN:
        return "the ledger cannot be opened; check that it is a file, in a folder you may write to"
    if code == sqlite3.SQLITE_FULL:
        return "the disk is full, so nothing can be recorded"
    return f"the ledger cannot be used: {error}"
