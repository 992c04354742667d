from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fallback.cli import main
from fallback.ledger import Begun, Entry, Ledger, Operation, Origin
from fallback.messages import ToolResult

TOOLS = '''
from fallback import tool

def cancel(result, room):
    return f"cancelled booking {result['id']} of {room}"

@tool(compensate=cancel)
def book(room: str, note: str = "", password: str = "") -> dict:
    """Book a room."""
    return {"id": 7}
'''


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    monkeypatch.setenv("FALLBACK_LEDGER", url)
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    return url


@pytest.fixture
def booked(url: str) -> str:
    """The id of an operation that has finished; another one is unknown."""
    with Ledger.open(url) as ledger:
        operation = Operation(
            tool="book",
            arguments={"room": "blue", "note": "for \x1b[31mbob", "password": "hunter2"},
            origin=Origin(conversation="c1", turn="t1", step=2),
            user="bob",
        )
        begun = ledger.begin("k1", operation)
        assert isinstance(begun, Begun)
        result = ToolResult(call_id="c", name="book", content="booked", value={"id": 7})
        ledger.finish(begun, result, resource="7")
        lost = ledger.begin("k2", Operation(tool="mail"))
        assert isinstance(lost, Begun)
        ledger.fail(lost, "timed out")
    return begun.id


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "tools.py"
    path.write_text(TOOLS, encoding="utf-8")
    return str(path)


def test_the_operations_are_listed(booked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-2:] for line in lines] == [["unknown", "mail"], ["finished", "book"]]
    assert lines[1].startswith(booked)
    assert main(["ledger", "list", "--state", "unknown"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_list_as_json(booked: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["ledger", "list", "--json"]) == 0
    found = json.loads(capfdbinary.readouterr().out)["operations"]
    assert [(record["key"], record["state"]) for record in found] == [
        ("k2", "unknown"),
        ("k1", "finished"),
    ]


def test_one_operation_is_shown_with_its_log_and_without_its_secrets(
    booked: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ledger", "show", booked]) == 0
    shown = capsys.readouterr().out
    assert "result       ok: booked" in shown
    assert "conversation=c1  step=2  turn=t1" in shown
    assert "finished  outcome=ok  resource=7" in shown
    assert "hunter2" not in shown
    assert "\x1b" not in shown


def test_one_operation_as_json(booked: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["ledger", "show", "k1", "--json"]) == 0
    record = json.loads(capfdbinary.readouterr().out)
    assert (record["id"], record["resource"]) == (booked, "7")
    assert [entry["event"] for entry in record["log"]] == ["started", "finished"]


def test_an_unknown_name_is_one_line(booked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "show", "op_none"]) == 11
    assert capsys.readouterr().err == (
        "fallback: no operation 'op_none' in the ledger; see `fallback ledger list`\n"
    )


def test_a_ledger_that_is_not_there_is_not_made(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ledger", "list"]) == 11
    assert "there is no ledger here" in capsys.readouterr().err
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_whole_log_verifies_with_its_own_head(
    booked: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ledger", "head"]) == 0
    head = capsys.readouterr().out.strip()
    assert head.startswith("4:")
    assert main(["ledger", "verify", "--head", head]) == 0
    assert capsys.readouterr().out == "4 entries, all as they were written\n"


def test_a_log_that_was_changed_is_one_line_and_a_code(
    booked: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as connection, connection:
        connection.execute("DROP TRIGGER fallback_audit_no_delete")
        connection.execute("DELETE FROM fallback_audit WHERE seq = 2")
    assert main(["ledger", "verify", "--json"]) == 11
    shown = capfdbinary.readouterr()
    assert json.loads(shown.out)["fault"] == {"kind": "missing", "entry": 2}
    assert b"entry 2 is missing; the next one is 3" in shown.err
    assert main(["ledger", "verify"]) == 11
    assert capfdbinary.readouterr().out == b""


def test_a_head_that_is_none_is_refused(booked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "verify", "--head", "latest"]) == 2
    assert "is not what `fallback ledger head` printed" in capsys.readouterr().err


def test_a_person_settles_what_is_unknown(booked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "resolve", "k2", "not_done", "--detail", "the outbox is empty"]) == 0
    assert capsys.readouterr().out.endswith(" is failed; its key may be begun again\n")
    assert main(["ledger", "show", "k2"]) == 0
    assert "outcome=not_done  by=ann  detail=the outbox is empty" in capsys.readouterr().out
    assert main(["ledger", "resolve", "k2", "done"]) == 11
    assert "only an unknown one can be resolved" in capsys.readouterr().err


def test_who_settles_may_have_to_say_who_he_is(
    booked: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 1000")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert main(["ledger", "resolve", "k2", "done"]) == 2
    assert capsys.readouterr().err == "fallback: say who you are with --by NAME\n"
    assert main(["ledger", "resolve", "k2", "done", "--by", "eve"]) == 0


def test_an_operation_is_undone_once(
    booked: str, tools: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert main(["ledger", "undo", booked, "--tools", tools]) == 0
        assert capsys.readouterr().out == "undone: cancelled booking 7 of blue\n"
    assert main(["ledger", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.endswith("book  undone") for line in lines) == 1
    assert sum(line.endswith(f"book  undoes {booked}") for line in lines) == 1


def test_undoing_needs_the_tools(booked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "undo", booked]) == 2
    assert "give its file with --tools FILE" in capsys.readouterr().err


def test_an_undoing_that_fails_is_one_line(
    booked: str, tools: str, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = TOOLS.replace('return f"cancelled', 'raise OSError("the line broke") or f"cancelled')
    Path(tools).write_text(broken, encoding="utf-8")
    assert main(["ledger", "undo", booked, "--tools", tools]) == 11
    shown = capsys.readouterr().err
    assert shown.startswith("fallback: not undone: ")
    assert "the line broke" in shown


def test_the_log_shows_what_never_became_an_operation_too(
    url: str, booked: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Ledger.open(url) as ledger:
        told = Operation(tool="pay", arguments={"to": "\x1b[31mbob", "password": "hunter2"})
        ledger.record(Entry(event="refused", operation=told, detail="not on the allow list"))
    assert main(["ledger", "log"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4", "5"]
    assert booked in lines[1]
    assert "pay" in lines[4]
    assert "not on the allow list" in lines[4]
    assert "hunter2" not in lines[4]
    assert "\x1b" not in lines[4]
    assert main(["ledger", "log", "--event", "refused", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["entries"]
    assert (entry["seq"], entry["tool"]) == (5, "pay")
    assert main(["ledger", "log", "--limit", "1"]) == 0
    assert capsys.readouterr().out.startswith("5 ")
    assert main(["ledger", "log", "--event", "nonsense"]) == 2
    assert "is none of" in capsys.readouterr().err
