from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from fallback.errors import LedgerError
from fallback.ledger import Begun, Entry, Finished, Ledger, Operation
from fallback.ledger.database import default_path
from fallback.ledger.encoding import canonical, load_result, result_text
from fallback.ledger.tables import VERSION
from fallback.messages import Source, ToolResult

ROOT = Path(__file__).resolve().parent.parent.parent
PAY = Operation(tool="pay")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "ledger.sqlite"


def test_a_ledger_is_for_its_owner_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        with Ledger.open(path) as ledger:
            ledger.record(Entry(event="proposed"))
            files = sorted(path.parent.iterdir())
            assert [file.name for file in files] == [
                "ledger.sqlite",
                "ledger.sqlite-shm",
                "ledger.sqlite-wal",
            ]
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
            assert path.parent.stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)


def test_the_users_own_ledger_lies_with_his_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path / "data"))
    assert default_path() == tmp_path / "data" / "ledger.sqlite"
    Ledger.open().close()
    assert default_path().is_file()


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_path_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.chdir(tmp_path)
    with Ledger.open(form.format("own/ledger.sqlite")) as ledger:
        monkeypatch.chdir("/")  # it stays where it was opened
        ledger.record(Entry(event="proposed"))
    assert (tmp_path / "own" / "ledger.sqlite").is_file()


def test_what_is_written_stays(path: Path) -> None:
    with Ledger.open(path) as ledger:
        begun = ledger.begin("k", PAY)
        assert isinstance(begun, Begun)
        ledger.finish(begun, ToolResult(call_id="c", name="pay"))
    with Ledger.open(path) as ledger:
        assert isinstance(ledger.begin("k", PAY), Finished)


def test_a_closed_ledger_opens_again_when_it_is_used(path: Path) -> None:
    ledger = Ledger.open(path)
    ledger.close()
    ledger.record(Entry(event="proposed"))
    assert ledger.head().seq == 1
    ledger.close()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://x/y", "mysql://: a ledger is a path, sqlite:///PATH or postgresql://"),
        ("sqlite://x", "name the file, as in sqlite:///ledger.sqlite"),
        ("sqlite:///", "name the file"),
        ("postgresql://ann:secret@:x:/y", "cannot be read; it is postgresql://USER@HOST/DATABASE"),
    ],
)
def test_an_address_that_is_none_is_one_line(url: str, words: str) -> None:
    with pytest.raises(LedgerError) as caught:
        Ledger.open(url)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("shopping list\n" * 100, encoding="utf-8")
    with pytest.raises(LedgerError, match="this is not a ledger, or it is damaged"):
        Ledger.open(path)
    assert path.read_text(encoding="utf-8") == "shopping list\n" * 100


def test_a_damaged_ledger_is_one_line(path: Path) -> None:
    with Ledger.open(path) as ledger:
        for number in range(50):
            ledger.record(Entry(event="proposed", detail="x" * 500 + str(number)))
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(byte ^ 0x5A for byte in data[4096:])
    path.write_bytes(data)
    with pytest.raises(LedgerError, match="restore a copy, or move it away"), Ledger.open(path):
        pass


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="the ledger cannot be opened"):
        Ledger.open(tmp_path)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match=r"the ledger cannot be opened: (Not a dir|File exists)"):
        Ledger.open(tmp_path / "file" / "ledger.sqlite")


def test_a_ledger_that_may_not_be_written_is_one_line(path: Path) -> None:
    Ledger.open(path).close()
    # As SQLite says it of a file without permission; to root every file is writable.
    code = f"""
import sqlite3
from fallback.ledger import Ledger, Entry
from fallback.ledger.sqlite import SqliteDatabase
connect = SqliteDatabase._connect
def read_only(self):
    connection = connect(self)
    connection.execute("PRAGMA query_only = ON")
    return connection
SqliteDatabase._connect = read_only
try:
    Ledger.open({str(path)!r}).record(Entry(event="proposed"))
except Exception as error:
    print(type(error).__name__, error)
"""
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert shown.stdout.startswith("LedgerError ")
    assert "the ledger cannot be written; check the permissions" in shown.stdout


def test_a_locked_ledger_is_one_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fallback.ledger.sqlite.BUSY_SECONDS", 0.01)
    with Ledger.open(path) as ledger, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"kept the ledger locked for 0\.01 seconds"):
            ledger.begin("k", PAY)
        other.rollback()
        assert isinstance(ledger.begin("k", PAY), Begun)


def test_a_full_disk_is_one_line(path: Path) -> None:
    with Ledger.open(path) as ledger:
        with ledger._database.writing() as tx:
            tx.all("PRAGMA max_page_count = 1")
        with pytest.raises(LedgerError, match="the disk is full"):
            ledger.record(Entry(event="proposed", detail="x" * 1_000_000))
        assert ledger.head().seq == 0


def test_a_ledger_whose_file_has_gone_is_not_made_anew(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.close()
        path.unlink()
        with pytest.raises(LedgerError, match="check that it is a file"):
            ledger.begin("k", PAY)
        with pytest.raises(LedgerError, match="check that it is a file"):
            ledger.head()
        assert not path.exists()


def test_odd_characters_in_a_path_are_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a b#c?d%20é.sqlite"
    with Ledger.open(path) as ledger:
        ledger.record(Entry(event="proposed"))
    assert path.is_file()


def test_a_ledger_that_has_to_be_there_is_not_made(path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger here"):
        Ledger.open(path, create=False)
    assert not path.parent.exists()


def test_tables_of_a_newer_version_are_left_alone(ledger_url: str) -> None:
    with Ledger.open(ledger_url) as ledger, ledger._database.writing() as tx:
        tx.all("UPDATE fallback_schema SET version = :version", version=VERSION + 1)
    with pytest.raises(LedgerError, match=f"tables {VERSION + 1}, this one knows {VERSION}"):
        Ledger.open(ledger_url)


def test_a_ledger_that_newer_code_has_brought_up_to_date_is_written_no_more(
    ledger_url: str,
) -> None:
    with Ledger.open(ledger_url) as older, Ledger.open(ledger_url) as newer:
        begun = older.begin("k", PAY)
        assert isinstance(begun, Begun)
        with newer._database.writing() as tx:
            tx.all("UPDATE fallback_schema SET version = :version", version=VERSION + 1)
        newer._database.tables = VERSION + 1
        refused = f"tables {VERSION + 1}, this one knows {VERSION}.; upgrade fallback"
        with pytest.raises(LedgerError, match=refused):
            older.begin("k2", PAY)
        with pytest.raises(LedgerError, match=refused):
            older.paused.claim("turn", "token", seconds=1)
        with pytest.raises(LedgerError, match=refused):
            older.finish(begun, ToolResult(call_id="c", name="pay"))
        newer.finish(begun, ToolResult(call_id="c", name="pay"))
        assert [stored.state for stored in newer.list()] == ["finished"]


def test_a_mistake_in_the_middle_leaves_nothing_behind(ledger_url: str) -> None:
    with Ledger.open(ledger_url) as ledger:
        refused = pytest.raises(LedgerError, match="nonsense")
        with refused, ledger._database.writing() as tx:
            tx.all("INSERT INTO fallback_paused (turn_id, content, put_at) VALUES ('t', '{}', 0)")
            tx.all("SELECT nonsense")
        assert ledger.paused.list() == ()
        ledger.record(Entry(event="proposed"))


def test_every_part_of_a_result_is_kept() -> None:
    every: dict[str, Any] = {
        "call_id": "c",
        "name": "pay",
        "status": "error",
        "content": "no",
        "value": {"id": [1, 2.5, None, True, "é"]},
        "seconds": 1.25,
        "warnings": ("slow",),
        "copy_of": "d",
        "kind": "failed",
        "retryable": True,
        "untrusted": True,
        "approval": "ap_1",
        "detail": "why",
        "fields": ("$.day",),
        "provenance": (Source("https://a", "2026-11-30"), Source("b")),
    }
    result = ToolResult(**every)
    assert every.keys() == {f.name for f in fields(result)}, "a new part has to be kept too"
    assert load_result(result_text(result)) == result


class Odd:
    def __str__(self) -> str:
        return "odd"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ((1, 2), [1, 2]),
        (Path("/x"), "/x"),
        (Odd(), "odd"),
        ({1: "a"}, {"1": "a"}),
        ({(1, 2): "a"}, "{(1, 2): 'a'}"),
        (b"x", "x"),
    ],
)
def test_a_value_is_kept_in_its_json_form(value: Any, kept: Any) -> None:
    result = ToolResult(call_id="c", name="pay", value=value)
    assert load_result(result_text(result)).value == kept


def test_a_result_of_a_newer_version_can_be_read() -> None:
    text = result_text(ToolResult(call_id="c", name="pay"))
    assert load_result(text[:-1] + ',"new":1}') == load_result(text)


def test_one_value_has_one_text() -> None:
    assert canonical({"b": 1, "a": "é"}) == canonical({"a": "é", "b": 1}) == '{"a":"\\u00e9","b":1}'


def test_looking_holds_up_no_write(ledger_url: str) -> None:
    for ledger in (Ledger.open(ledger_url), Ledger.in_memory()):
        with ledger:
            ledger.record(Entry(event="proposed"))
            for entry in ledger.entries():
                ledger.record(Entry(event="proposed", detail=f"seen {entry.seq}"))
            assert ledger.head().seq == 2


def test_what_a_block_raises_is_not_taken_for_the_ledgers(ledger_url: str) -> None:
    with Ledger.open(ledger_url) as ledger:
        for error in (OSError("of the block"), sqlite3.OperationalError("of the block")):
            with pytest.raises(type(error), match="of the block"), ledger._database.writing():
                raise error
        ledger.record(Entry(event="proposed"))


def test_a_database_of_somebody_else_is_not_made_a_ledger(ledger_url: str) -> None:
    if ledger_url.startswith("sqlite"):
        with closing(sqlite3.connect(ledger_url.removeprefix("sqlite:///"))) as connection:
            connection.execute("CREATE TABLE notes (text TEXT)")
    for _ in range(2):
        with pytest.raises(LedgerError, match="there is no ledger here"):
            Ledger.open(ledger_url, create=False)
    Ledger.open(ledger_url).close()
    Ledger.open(ledger_url, create=False).close()


def test_an_operation_that_was_tampered_with_is_one_line(ledger_url: str) -> None:
    with Ledger.open(ledger_url) as ledger:
        begun = ledger.begin("k", PAY)
        assert isinstance(begun, Begun)
        for change in ("holder = '{}'", "operation = '[1'", "holder = '7'"):
            with ledger._database.writing() as tx:
                tx.all(f"UPDATE fallback_operations SET {change}")  # noqa: S608 # written above
            with pytest.raises(LedgerError, match=f"operation {begun.id} is damaged"):
                ledger.list()
        ledger.finish(begun, ToolResult(call_id="c", name="pay"))
        with ledger._database.writing() as tx:
            tx.all("UPDATE fallback_operations SET result = '{}'")
        with pytest.raises(LedgerError, match="is damaged; see `fallback ledger verify`"):
            ledger.begin("k", PAY)
        fault = ledger.verify()
        assert fault is not None
        assert "another result" in fault.message
