"""The ledger in PostgreSQL, for several machines (extra ``postgres``).

SQLAlchemy keeps the connections and reads the address; the statements are those of every ledger.
Transactions are ``READ COMMITTED``: each change names the state it expects, so it waits for a
concurrent one of the same row and then finds that the state is another.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from fallback.errors import LedgerError
from fallback.ledger.database import BUSY_SECONDS, Database, Row, Transaction

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["PostgresDatabase"]

_LOCK_NOT_AVAILABLE = "55P03"  # PostgreSQL's documentation, appendix A

CONNECT_SECONDS = 5
"""Time to reach the server; it is usually near."""


class PostgresDatabase(Database):
    """A ledger in a database of a PostgreSQL server."""

    dialect = "postgresql"

    def __init__(self, url: str) -> None:
        try:
            import psycopg  # noqa: F401  # asked for here, so that its absence is one clear line
            from sqlalchemy import make_url
            from sqlalchemy.exc import ArgumentError
        except ImportError:
            raise LedgerError(
                "a ledger in PostgreSQL needs the extra: pip install 'toolcall-fallback[postgres]'"
            ) from None
        try:
            self._url = make_url(url)
        except (ArgumentError, ValueError):
            # Not quoted: what cannot be read may have a password anywhere.
            raise LedgerError(
                "the address of the ledger cannot be read; it is postgresql://USER@HOST/DATABASE"
            ) from None
        self.shown = self._url.set(drivername="postgresql").render_as_string(hide_password=True)
        self._engine = self._new_engine()
        self._pid = os.getpid()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Transaction]:
        """See :meth:`Database.writing`."""
        with self._connection() as connection:
            tx = _PostgresTransaction(connection, self._errors)
            self.check(tx)
            yield tx
            with self._errors():
                connection.commit()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """See :meth:`Database.reading`."""
        with self._connection() as connection:
            with self._errors():
                connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            yield _PostgresTransaction(connection, self._errors)

    def close(self) -> None:
        """See :meth:`Database.close`."""
        self._engine_here().dispose()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Connection]:
        """One of the pool; what was not committed is rolled back when it goes back there."""
        with self._errors():
            connection = self._engine_here().connect()
        try:
            yield connection
        finally:
            with self._errors():
                connection.close()

    def _new_engine(self) -> Engine:
        """An engine connects when it is first used, and again after it was disposed of."""
        from sqlalchemy import create_engine, event

        engine = create_engine(
            self._url,
            pool_pre_ping=True,
            pool_timeout=BUSY_SECONDS,
            connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": "fallback"},
        )
        event.listen(engine, "connect", _limit_waits)
        return engine

    def _engine_here(self) -> Engine:
        """The engine, without the parent's connections after a fork.

        The lock is taken only then, so no thread of the parent can have held it at the fork.
        """
        if self._pid != os.getpid():
            with self._lock:
                if self._pid != os.getpid():
                    self._engine.dispose(close=False)
                    self._pid = os.getpid()
        return self._engine

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except SQLAlchemyError as error:
            raise LedgerError(f"{self.shown}: {_explained(error)}") from None


class _PostgresTransaction(Transaction):
    def __init__(
        self, connection: Connection, errors: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._connection, self._errors = connection, errors

    def run(self, statement: str, values: dict[str, Any]) -> list[Row]:
        from sqlalchemy import text

        with self._errors():
            result = self._connection.execute(text(statement), values)
            return [dict(row) for row in result.mappings()] if result.returns_rows else []


def _limit_waits(connection: Any, _record: object) -> None:
    """For a new connection: no wait for a lock may last for ever."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {int(BUSY_SECONDS * 1000)}")
    connection.commit()


def _explained(error: Exception) -> str:
    """The server's own words, in one line; the statement and its values stay out of it."""
    own = getattr(error, "orig", None) or error
    if getattr(own, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
        return f"somebody else has kept the ledger locked for {BUSY_SECONDS:g} seconds; try again"
    line = " ".join(str(own).split())
    return f"the ledger cannot be used: {line[:400]}"
