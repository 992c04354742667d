"""The tables, and how older ones become today's.

Times are seconds since 1970 (UTC). What was said, done or decided is JSON in text columns, so that
a new detail needs no new column.
"""

from __future__ import annotations

from fallback.errors import LedgerError
from fallback.ledger.database import Database, Transaction

__all__ = ["VERSION", "migrate", "migrations"]

_FIRST = (
    """
    CREATE TABLE fallback_operations (
        key TEXT PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        tool TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        operation TEXT NOT NULL,
        state TEXT NOT NULL,
        attempt BIGINT NOT NULL,
        holder TEXT NOT NULL,
        lease_until DOUBLE PRECISION NOT NULL,
        started_at DOUBLE PRECISION NOT NULL,
        ended_at DOUBLE PRECISION,
        result TEXT,
        resource TEXT NOT NULL DEFAULT '',
        detail TEXT NOT NULL DEFAULT '',
        undoes TEXT UNIQUE
    )
    """,
    "CREATE INDEX fallback_operations_by_time ON fallback_operations (started_at)",
    "CREATE TABLE fallback_audit (seq BIGINT PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    """
    CREATE TABLE fallback_audit_head (
        id BIGINT PRIMARY KEY CHECK (id = 1), seq BIGINT NOT NULL, hash TEXT NOT NULL
    )
    """,
    "INSERT INTO fallback_audit_head (id, seq, hash) VALUES (1, 0, '')",
    """
    CREATE TABLE fallback_approvals (
        id TEXT PRIMARY KEY,
        hash TEXT NOT NULL,
        request TEXT NOT NULL,
        status TEXT NOT NULL,
        needed BIGINT NOT NULL,
        requested_at DOUBLE PRECISION NOT NULL,
        expires_at DOUBLE PRECISION NOT NULL
    )
    """,
    """
    CREATE TABLE fallback_votes (
        approval_id TEXT NOT NULL,
        voter TEXT NOT NULL,
        name TEXT NOT NULL,
        verdict TEXT NOT NULL,
        reason TEXT NOT NULL,
        at DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (approval_id, voter)
    )
    """,
    """
    CREATE TABLE fallback_paused (
        turn_id TEXT PRIMARY KEY, content TEXT NOT NULL, put_at DOUBLE PRECISION NOT NULL
    )
    """,
)

# A turn that waits is gone on with by one holder at a time.
_CLAIMS = tuple(
    f"ALTER TABLE fallback_paused ADD COLUMN {column}"
    for column in (
        "claim TEXT NOT NULL DEFAULT ''",
        "holder TEXT NOT NULL DEFAULT ''",
        "claimed_at DOUBLE PRECISION NOT NULL DEFAULT 0",
        "lease_until DOUBLE PRECISION NOT NULL DEFAULT 0",
    )
)

# Nothing of ours changes or removes an entry; these make the database say so too. Who owns the
# database can drop them: that is what the chain of hashes is for.
_APPEND_ONLY = {
    "sqlite": tuple(
        f"""
        CREATE TRIGGER fallback_audit_no_{change} BEFORE {change} ON fallback_audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
        """
        for change in ("update", "delete")
    ),
    "postgresql": (
        """
        CREATE FUNCTION fallback_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$
        """,
        """
        CREATE TRIGGER fallback_audit_append_only BEFORE UPDATE OR DELETE ON fallback_audit
        FOR EACH ROW EXECUTE FUNCTION fallback_audit_refuse()
        """,
    ),
}

_MIGRATIONS = {
    dialect: ((*_FIRST, *append_only), _CLAIMS) for dialect, append_only in _APPEND_ONLY.items()
}
"""For each database, the statements that lead from one version to the next."""


def migrations(database: Database) -> tuple[tuple[str, ...], ...]:
    """The statements that lead from each version of the tables to the next."""
    return _MIGRATIONS[database.dialect]


VERSION = len(_MIGRATIONS["sqlite"])
"""Version of the tables that this code writes."""


def migrate(database: Database, *, create: bool = True) -> None:
    """Make the tables, or bring older ones up to date; all of it or nothing.

    Raises:
        LedgerError: the tables are newer than this code, or there are none and none may be made.
    """
    with database.reading() as tx:
        if _version(tx, database) == VERSION:
            database.tables = VERSION
            return
    with database.writing() as tx:
        _lock(tx, database)
        found = _version(tx, database)
        if found == 0 and not create:
            raise LedgerError(f"{database.shown}: there is no ledger here")
        tx.all("CREATE TABLE IF NOT EXISTS fallback_schema (version BIGINT NOT NULL)")
        if database.dialect == "postgresql":
            # Waits for whoever has looked at the version and is writing still.
            tx.all("LOCK TABLE fallback_schema IN ACCESS EXCLUSIVE MODE")
        for statements in migrations(database)[found:]:
            for statement in statements:
                tx.all(statement)
        tx.all("DELETE FROM fallback_schema")
        tx.all("INSERT INTO fallback_schema (version) VALUES (:version)", version=VERSION)
    database.tables = VERSION


def _version(tx: Transaction, database: Database) -> int:
    """Version of the tables that are there; 0 for none."""
    if tx.one(_FIND[database.dialect]) is None:
        return 0
    row = tx.one("SELECT version FROM fallback_schema")
    found = int(row["version"]) if row else 0
    database.refuse_newer(found, VERSION)
    return found


_FIND = {
    "sqlite": "SELECT name FROM sqlite_master WHERE name = 'fallback_schema'",
    # Not ``to_regclass``: it may answer from before another process made the tables.
    "postgresql": (
        "SELECT oid FROM pg_class WHERE relname = 'fallback_schema' AND pg_table_is_visible(oid)"
    ),
}


def _lock(tx: Transaction, database: Database) -> None:
    """Two processes may find an empty database at once. SQLite's writers come one by one anyway."""
    if database.dialect == "postgresql":
        tx.all("SELECT pg_advisory_xact_lock(:number)", number=_LOCK_NUMBER)


_LOCK_NUMBER = 0x66616C6C  # "fall"; any number will do, if all who use the database know it
