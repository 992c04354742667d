"""Where a ledger is kept: the little that SQLite and PostgreSQL have to do alike.

Statements are written once, in the SQL that both speak, with ``:name`` for values. Rows are
dictionaries. Every statement runs inside a transaction: :meth:`Database.writing` for changes, which
either all happen or not at all, and :meth:`Database.reading` for one unmoving picture.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

from fallback.errors import LedgerError

__all__ = ["BUSY_SECONDS", "Database", "Row", "Transaction", "default_path", "open_database"]

Row = dict[str, Any]

BUSY_SECONDS = 10.0
"""How long to wait for whoever else is writing: a write takes milliseconds, so somebody who needs
longer has stopped, and a user should be told."""

PAGE = 500
"""Rows that are fetched at a time where there may be many."""


class Transaction(ABC):
    """One transaction; ends with the ``with`` block that gave it."""

    @abstractmethod
    def run(self, statement: str, values: dict[str, Any]) -> list[Row]:
        """Run a statement on the database itself."""

    def all(self, statement: str, **values: Any) -> list[Row]:
        """The rows that a statement gives; none for one that gives no rows.

        Text may be anything: what a database cannot keep becomes U+FFFD.
        """
        return self.run(statement, {name: _storable(value) for name, value in values.items()})

    def one(self, statement: str, **values: Any) -> Row | None:
        """The first row, if there is one."""
        rows = self.all(statement, **values)
        return rows[0] if rows else None

    def pages(self, statement: str, after: Any, *, column: str, **values: Any) -> Iterator[Row]:
        """All rows of a statement that orders by ``column`` and takes ``:after`` and ``:page``."""
        while rows := self.all(statement, after=after, page=PAGE, **values):
            yield from rows
            after = rows[-1][column]


class Database(ABC):
    """A place that holds one ledger. Safe to use from several threads."""

    dialect: Literal["sqlite", "postgresql"]
    shown: str
    """Its address for messages, without a password."""

    tables: int | None = None
    """Version of the tables that are written to; ``None`` until they are there."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction for changes; rolled back when the block raises."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """One unmoving picture of everything, to read from."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it; using it afterwards opens it again."""

    def check(self, tx: Transaction) -> None:
        """Make sure, before anything is changed, that the tables are still those that were opened.

        Another process with newer code may have brought them up to date meanwhile: what this one
        does not know of it must not write around.

        Raises:
            LedgerError: they are newer.
        """
        if self.tables is not None:
            row = tx.one("SELECT version FROM fallback_schema")
            self.refuse_newer(int(row["version"]) if row else 0, self.tables)

    def refuse_newer(self, found: int, known: int) -> None:
        """Raise where the tables are newer than this code.

        Raises:
            LedgerError: they are.
        """
        if found > known:
            raise LedgerError(
                f"{self.shown}: written by a newer version of fallback (tables {found},"
                f" this one knows {known}); upgrade fallback"
            )


# PostgreSQL keeps no NUL in a text, and neither database keeps half of a surrogate pair.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def _storable(value: Any) -> Any:
    return _UNSTORABLE.sub("\ufffd", value) if isinstance(value, str) else value


def default_path() -> Path:
    """The ledger of this user: ``ledger.sqlite`` in the folder for user data."""
    import platformdirs

    return Path(platformdirs.user_data_dir("fallback", appauthor=False)) / "ledger.sqlite"


def open_database(url: str | Path | None, *, create: bool) -> Database:
    """The database at an address; see :meth:`fallback.ledger.Ledger.open`.

    Raises:
        LedgerError: the address is none, or nothing can be opened there.
    """
    from fallback.ledger.sqlite import SqliteDatabase

    if url is None:
        return SqliteDatabase(default_path(), create=create)
    if isinstance(url, Path):
        return SqliteDatabase(url, create=create)
    scheme, separator, rest = url.partition("://")
    if not separator:
        return SqliteDatabase(Path(url), create=create)
    if scheme == "sqlite":
        # As SQLAlchemy writes it: three slashes and a relative path, four and an absolute one.
        if not rest.startswith("/") or rest == "/":
            raise LedgerError(f"{url}: name the file, as in sqlite:///ledger.sqlite")
        return SqliteDatabase(Path(rest[1:]), create=create)
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        from fallback.ledger.postgres import PostgresDatabase

        return PostgresDatabase(f"postgresql+psycopg://{rest}")
    raise LedgerError(
        f"{scheme}://: a ledger is a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE"
    )
