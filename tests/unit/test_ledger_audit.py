from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from fallback import __version__
from fallback.errors import ConfigurationError, LedgerError
from fallback.execution.masking import mask_credentials
from fallback.ledger import Approval, Begun, Entry, Ledger, Operation, Origin, Versions
from fallback.ledger.encoding import masked
from fallback.messages import ToolResult


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    with Ledger.open(ledger_url, clock=lambda: 1_700_000_000.25) as ledger:
        yield ledger


def bodies(ledger: Ledger) -> list[dict[str, Any]]:
    return [dict(entry.body) for entry in ledger.entries()]


FULL = Operation(
    tool="pay",
    arguments={"to": "bob", "password": "hunter2", "note": "use api_key=sk-12345678901"},
    origin=Origin(conversation="c1", turn="t1", step=0, call_id="call_1", reply_hash="ab" * 32),
    user="ann",
    tenant="acme",
    approval_id="ap_1",
    versions=Versions(
        model="qwen", model_digest="sha256:1", template_hash="2" * 64, schema_hash="3" * 64
    ),
)


def test_an_entry_says_who_what_why_and_by_which_versions(ledger: Ledger) -> None:
    begun = ledger.begin("k", FULL)
    assert isinstance(begun, Begun)
    ledger.finish(begun, ToolResult(call_id="call_1", name="pay"), resource="invoice 7")
    started, finished = bodies(ledger)
    assert len(started["row_hash"]) == len(finished["row_hash"]) == 64
    assert started == {
        "row_hash": started["row_hash"],
        "at": "2023-11-14T22:13:20.250000+00:00",
        "event": "started",
        "key": "k",
        "operation": begun.id,
        "tool": "pay",
        "arguments": {"to": "bob", "password": "***", "note": "use api_key=***"},
        "origin": {
            "conversation": "c1",
            "turn": "t1",
            "step": 0,
            "call_id": "call_1",
            "reply_hash": "ab" * 32,
        },
        "user": "ann",
        "tenant": "acme",
        "approval": "ap_1",
        "versions": {
            "model": "qwen",
            "model_digest": "sha256:1",
            "template_hash": "2" * 64,
            "schema_hash": "3" * 64,
            "dispatcher": f"toolcall-fallback {__version__}",
        },
    }
    assert (finished["outcome"], finished["resource"]) == ("ok", "invoice 7")
    assert len(finished["result_hash"]) == 64


def test_the_log_has_no_secret_in_it(ledger: Ledger) -> None:
    begun = ledger.begin("k", FULL)
    assert isinstance(begun, Begun)
    ledger.fail(begun, "refused: Bearer abcdefghijkl")
    ledger.resolve("k", "not_done", by="ann", detail="token=abcdefgh")
    ledger.record(Entry(event="refused", operation=FULL, detail="secret: hunter2"))
    asked = ledger.approvals.request(
        Approval(hash="h", tool="pay", arguments={"secret": "hunter2"})
    )
    ledger.approvals.deny(asked.id, "ann", "password=hunter2")
    text = json.dumps(bodies(ledger))
    for secret in ("hunter2", "12345678901", "abcdefgh"):
        assert secret not in text


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("password", "x", "***"),
        ("user_password", "x", "***"),
        ("apiKey", "x", "***"),
        ("api_key", "x", "***"),
        ("access-token", ["x"], "***"),
        ("pin", 1234, "***"),
        ("token", "", ""),
        ("max_tokens", 5, 5),
        ("spinner", "x", "x"),
        ("inner", {"secret": "x", "a": [{"pwd": "y"}]}, {"secret": "***", "a": [{"pwd": "***"}]}),
    ],
)
def test_what_has_the_name_of_a_secret_is_masked(name: str, value: Any, shown: Any) -> None:
    assert masked({name: value}, mask_credentials) == {name: shown}


def test_a_masker_of_ones_own_is_used(ledger_url: str) -> None:
    with Ledger.open(ledger_url, masker=lambda text: text.replace("bob", "(name)")) as ledger:
        ledger.record(Entry(event="proposed", operation=FULL, detail="for bob"))
        (entry,) = bodies(ledger)
    assert (entry["detail"], entry["arguments"]["to"]) == ("for (name)", "(name)")


def test_what_the_ledger_writes_itself_is_not_recorded_by_hand(ledger: Ledger) -> None:
    with pytest.raises(ConfigurationError, match="use one of paused, proposed, refused"):
        ledger.record(Entry(event="finished", operation_id="op_1"))
    assert bodies(ledger) == []


def test_entries_are_read_in_order_from_where_one_was(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("audit", "database"):
        monkeypatch.setattr(f"fallback.ledger.{module}.PAGE", 10)
    anchors = [ledger.record(Entry(event="proposed", detail=str(n))) for n in range(43)]
    found = [(entry.seq, entry.hash, entry.body["detail"]) for entry in ledger.entries(after=12)]
    assert found == [(seq, sealed, str(seq - 1)) for seq, sealed in anchors[12:]]
    assert ledger.head() == anchors[-1]
    assert str(ledger.head()) == f"43:{anchors[-1].hash}"
    assert ledger.verify() is None


@pytest.mark.parametrize(
    "change", ["UPDATE fallback_audit SET body = 'x'", "DELETE FROM fallback_audit"]
)
def test_the_database_itself_refuses_to_change_the_log(ledger: Ledger, change: str) -> None:
    ledger.record(Entry(event="proposed"))
    refused = pytest.raises(LedgerError, match="the audit log is append-only")
    with refused, ledger._database.writing() as tx:
        tx.all(change)
    assert ledger.verify() is None


def test_a_ledger_whose_head_is_gone_records_nothing_more(ledger: Ledger) -> None:
    with ledger._database.writing() as tx:
        tx.all("DELETE FROM fallback_audit_head")
    with pytest.raises(LedgerError, match="the head of the audit log is gone"):
        ledger.begin("k", FULL)
    assert ledger.list() == ()
