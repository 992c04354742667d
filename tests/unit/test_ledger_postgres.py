from __future__ import annotations

import gc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from databases import Server, new_schema

from fallback.errors import LedgerError
from fallback.ledger import Entry, Ledger
from fallback.ledger.database import open_database

ROOT = Path(__file__).resolve().parent.parent.parent
REFUSED = "postgresql://ann:secret@127.0.0.1:1/books"


def test_a_server_that_is_not_there_is_one_line_without_the_password() -> None:
    with pytest.raises(LedgerError) as caught:
        Ledger.open(REFUSED)
    text = str(caught.value)
    assert text.startswith("postgresql://ann:***@127.0.0.1:1/books: the ledger cannot be used: ")
    assert "refused" in text
    assert "secret" not in text
    assert "\n" not in text


def test_without_the_extra_the_user_is_told_what_to_install() -> None:
    code = f"""
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
sys.modules["sqlalchemy"] = None
from fallback.ledger import Ledger
try:
    Ledger.open({REFUSED!r})
except Exception as error:
    print(type(error).__name__, error)
"""
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert shown.stdout == (
        "LedgerError a ledger in PostgreSQL needs the extra:"
        " pip install 'toolcall-fallback[postgres]'\n"
    )


@pytest.mark.postgres
def test_a_database_that_is_not_there_is_one_line(postgres_server: Server) -> None:
    url = new_schema(postgres_server).replace("/postgres?", "/nowhere?")
    with pytest.raises(LedgerError, match='database "nowhere" does not exist'):
        Ledger.open(url)


@pytest.mark.postgres
def test_a_row_that_stays_locked_is_one_line(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fallback.ledger.postgres.BUSY_SECONDS", 0.05)
    url = new_schema(postgres_server)
    with Ledger.open(url) as ledger, Ledger.open(url) as other:
        with other._database.writing() as tx:
            tx.all("UPDATE fallback_audit_head SET seq = seq")
            with pytest.raises(LedgerError, match="kept the ledger locked for"):
                ledger.record(Entry(event="proposed"))
        assert ledger.record(Entry(event="proposed")).seq == 1


@pytest.mark.postgres
def test_a_server_that_comes_back_is_used_again(postgres_server: Server) -> None:
    with Ledger.open(new_schema(postgres_server)) as ledger:
        ledger.record(Entry(event="proposed"))
        postgres_server.restart()
        assert ledger.record(Entry(event="proposed")).seq == 2
        assert ledger.verify() is None


@pytest.mark.postgres
def test_of_many_that_find_an_empty_database_one_makes_the_tables(postgres_server: Server) -> None:
    ready = threading.Barrier(6)

    def use(url: str) -> int:
        ready.wait()
        with Ledger.open(url) as ledger:
            return ledger.record(Entry(event="proposed")).seq

    with ThreadPoolExecutor(6) as pool:
        for _ in range(2):
            numbers = pool.map(use, [new_schema(postgres_server)] * 6)
            assert sorted(numbers) == list(range(1, 7))


@pytest.mark.postgres
def test_threads_that_use_a_ledger_first_at_the_same_time_leave_no_connection_behind(
    postgres_server: Server,
) -> None:
    url = new_schema(postgres_server)
    Ledger.open(url).close()
    ready = threading.Barrier(6)

    def use(ledger: Ledger) -> None:
        ready.wait()
        ledger.paused.list()

    with ThreadPoolExecutor(6) as pool:
        for _ in range(5):
            with Ledger(open_database(url, create=False)) as ledger:
                list(pool.map(use, [ledger] * 6))
            # A connection that nobody closed warns when it is collected; a warning fails a test.
            gc.collect()
