"""The audit log: whatever is done to it behind the ledger's back is found."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fallback.ledger import Anchor, Approval, Begun, Entry, Fault, Ledger, Operation
from fallback.ledger.audit import head, seal
from fallback.ledger.consistency import verify
from fallback.ledger.database import Transaction
from fallback.ledger.sqlite import SqliteTransaction
from fallback.messages import ToolResult

OPERATIONS = 4
LENGTH = 12
"""Entries: two for each operation, one for the one that is cut short, and three of an approval."""


def write(path: Path) -> None:
    with Ledger.open(path) as ledger:
        for number in range(OPERATIONS):
            begun = ledger.begin(f"k{number}", Operation(tool="pay", arguments={"n": number}))
            assert isinstance(begun, Begun)
            ledger.finish(begun, ToolResult(call_id="c", name="pay", content=f"paid {number}"))
        ledger.begin("last", Operation(tool="pay"))
        asked = ledger.approvals.request(Approval(hash="h", tool="pay"))
        ledger.approvals.approve(asked.id, "ann")
        ledger.approvals.consume(asked.id, "h")
        assert ledger.head().seq == LENGTH
        assert ledger.verify() is None


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """The database of a ledger, for somebody who may write to it and has dropped its triggers."""
    path = tmp_path_factory.mktemp("audit") / "ledger.sqlite"
    write(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("DROP TRIGGER fallback_audit_no_update")
        connection.execute("DROP TRIGGER fallback_audit_no_delete")
        yield connection


@contextmanager
def tampering(written: sqlite3.Connection) -> Iterator[Transaction]:
    """Whatever is changed inside is taken back afterwards."""
    written.execute("BEGIN")
    try:
        yield SqliteTransaction(written)
    finally:
        written.execute("ROLLBACK")


SEQS = st.integers(1, LENGTH)


@given(seq=SEQS, place=st.integers(0, 10_000), char=st.characters(max_codepoint=0x250))
def test_any_edit_of_an_entry_is_found(
    written: sqlite3.Connection, seq: int, place: int, char: str
) -> None:
    with tampering(written) as tx:
        ((body,),) = written.execute("SELECT body FROM fallback_audit WHERE seq = ?", (seq,))
        at = place % len(body)
        edited = body[:at] + char + body[at + 1 :]
        assume(edited != body)
        written.execute("UPDATE fallback_audit SET body = ? WHERE seq = ?", (edited, seq))
        fault = verify(tx, None)
    assert fault is not None
    assert (fault.kind, fault.seq) == ("edited", seq)


@given(gone=st.sets(SEQS, min_size=1))
def test_any_deletion_is_found(written: sqlite3.Connection, gone: set[int]) -> None:
    with tampering(written) as tx:
        written.executemany("DELETE FROM fallback_audit WHERE seq = ?", [(s,) for s in gone])
        fault = verify(tx, None)
    assert fault is not None
    first = min(gone)
    assert fault.seq == first
    assert fault.kind == ("head" if gone == set(range(first, LENGTH + 1)) else "missing")


@given(order=st.permutations(range(1, LENGTH + 1)))
def test_any_other_order_is_found(written: sqlite3.Connection, order: list[int]) -> None:
    assume(order != sorted(order))
    with tampering(written) as tx:
        written.executemany(
            "UPDATE fallback_audit SET seq = -? WHERE seq = ?",
            [(new, old) for old, new in enumerate(order, 1)],
        )
        written.execute("UPDATE fallback_audit SET seq = -seq")
        fault = verify(tx, None)
    assert fault is not None
    assert fault.kind == "edited"


@given(seq=SEQS, copied=SEQS)
def test_an_entry_that_was_added_is_found(
    written: sqlite3.Connection, seq: int, copied: int
) -> None:
    with tampering(written) as tx:
        written.execute("UPDATE fallback_audit SET seq = -(seq + 1) WHERE seq >= ?", (seq,))
        written.execute("UPDATE fallback_audit SET seq = -seq WHERE seq < 0")
        source = copied if copied < seq else copied + 1
        written.execute(
            "INSERT INTO fallback_audit SELECT ?, body, hash FROM fallback_audit WHERE seq = ?",
            (seq, source),
        )
        fault = verify(tx, None)
    assert fault is not None
    # A copy of the entry itself fits where it was; what stands behind it does not.
    assert fault.seq in (seq, seq + 1)


def forge(connection: sqlite3.Connection, length: int) -> None:
    """Write the whole log anew, up to ``length``, with every hash as it should be."""
    previous = ""
    rows = connection.execute("SELECT seq, body FROM fallback_audit ORDER BY seq").fetchall()
    connection.execute("DELETE FROM fallback_audit")
    for seq, body in rows[:length]:
        told = json.dumps({**json.loads(body), "at": "2001-01-01"})
        previous = seal(seq, previous, told)
        connection.execute("INSERT INTO fallback_audit VALUES (?, ?, ?)", (seq, told, previous))
    connection.execute("UPDATE fallback_audit_head SET seq = ?, hash = ?", (length, previous))


@pytest.mark.parametrize("length", [LENGTH, 3])
def test_a_log_that_was_computed_anew_does_not_fit_an_anchor_kept_elsewhere(
    written: sqlite3.Connection, length: int
) -> None:
    with tampering(written) as tx:
        anchor = head(tx)
        assert verify(tx, anchor) is None
        forge(written, length)
        fault = verify(tx, anchor)
    assert fault is not None
    assert fault.kind == "anchor"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("DELETE FROM fallback_operations WHERE key = 'k2'", "has been removed; entry 6 speaks"),
        ("UPDATE fallback_operations SET state = 'failed' WHERE key = 'k1'", "is failed, the log"),
        (
            "UPDATE fallback_operations SET result = replace(result, 'paid', 'owed')",
            "has another result than the log says",
        ),
        ("UPDATE fallback_approvals SET status = 'approved'", "is approved, the log says used"),
        ("DELETE FROM fallback_approvals", "has been removed; entry 12 speaks"),
        ("DELETE FROM fallback_audit_head", "its head names nothing"),
        ("UPDATE fallback_audit_head SET seq = 11", "its head names entry 11"),
    ],
)
def test_a_table_that_contradicts_the_log_is_found(
    written: sqlite3.Connection, change: str, words: str
) -> None:
    with tampering(written) as tx:
        written.execute(change)
        fault = verify(tx, None)
    assert fault is not None
    assert words in fault.message


TABLES = ("fallback_operations", "fallback_approvals", "fallback_votes")


@given(data=st.data(), table=st.sampled_from(TABLES))
def test_any_change_of_an_operation_an_approval_or_a_vote_is_found(
    written: sqlite3.Connection, data: st.DataObject, table: str
) -> None:
    with tampering(written) as tx:
        rows = written.execute(f"SELECT rowid, * FROM {table}").fetchall()  # noqa: S608 # above
        row = data.draw(st.sampled_from(rows))
        column = data.draw(st.sampled_from([name for name in row.keys() if name != "rowid"]))  # noqa: SIM118 # not a dict
        value = row[column]
        other = value + 1 if isinstance(value, int | float) else f"{value or ''}x"
        written.execute(
            f"UPDATE {table} SET {column} = ? WHERE rowid = ?",  # noqa: S608 # names of our own
            (other, row["rowid"]),
        )
        fault = verify(tx, None)
    assert fault is not None
    assert fault.kind == "tables"


@pytest.mark.parametrize("table", TABLES)
def test_any_row_that_was_removed_or_added_is_found(
    written: sqlite3.Connection, table: str
) -> None:
    key = "approval_id" if table == "fallback_votes" else "id"
    with tampering(written) as tx:
        written.execute(f"DELETE FROM {table}")  # noqa: S608 # above
        assert verify(tx, None) is not None
    with tampering(written) as tx:
        written.execute(f"CREATE TEMP TABLE one AS SELECT * FROM {table} LIMIT 1")  # noqa: S608 # names of our own
        unique = "key = 'added'," if table == "fallback_operations" else ""
        written.execute(f"UPDATE one SET {unique} {key} = 'zz'")  # noqa: S608 # above
        written.execute(f"INSERT INTO {table} SELECT * FROM one")  # noqa: S608 # above
        fault = verify(tx, None)
        written.execute("DROP TABLE one")
    assert fault is not None
    assert fault.message.startswith("zz is ")


def test_of_a_log_that_was_written_before_rows_were_sealed_the_state_still_counts(
    written: sqlite3.Connection,
) -> None:
    with tampering(written) as tx:
        previous = ""
        for seq, body in written.execute(
            "SELECT seq, body FROM fallback_audit ORDER BY seq"
        ).fetchall():
            told = {name: value for name, value in json.loads(body).items() if name != "row_hash"}
            text = json.dumps(told)
            previous = seal(seq, previous, text)
            change = "UPDATE fallback_audit SET body = ?, hash = ? WHERE seq = ?"
            written.execute(change, (text, previous, seq))
        written.execute("UPDATE fallback_audit_head SET hash = ?", (previous,))
        assert verify(tx, None) is None
        written.execute("UPDATE fallback_operations SET state = 'failed' WHERE key = 'k1'")
        fault = verify(tx, None)
    assert fault is not None
    assert "is failed, the log says finished" in fault.message


@pytest.mark.parametrize(
    "change",
    [
        "body = CAST(X'FF' || body AS TEXT)",
        "body = X'00FF'",
        "body = 5",
        "body = '[1'",
        "hash = 'é'",
        "hash = X'FF'",
        "seq = 'four'",
    ],
)
def test_an_entry_that_was_made_unreadable_is_found(
    written: sqlite3.Connection, change: str
) -> None:
    with tampering(written) as tx:
        written.execute(f"UPDATE fallback_audit SET {change} WHERE seq = 4")  # noqa: S608 # above
        fault = verify(tx, None)
    assert fault is not None
    assert fault.seq == 4


def test_a_ledger_says_what_was_found_and_where(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    write(path)
    with Ledger.open(path) as ledger:
        anchor = ledger.head()
        ledger.record(Entry(event="refused", detail="no such tool"))
        assert ledger.verify(anchor) is None
        assert ledger.verify(Anchor(0, "")) is None
        assert ledger.verify(Anchor(99, "aa")) == Fault(
            "anchor", 14, "the log ends with entry 13, before the anchor"
        )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER fallback_audit_no_delete")
        connection.execute("DELETE FROM fallback_audit WHERE seq = 13")
    with Ledger.open(path) as ledger:
        assert ledger.verify() == Fault(
            "head", 13, "the log ends with entry 12, its head names entry 13"
        )
