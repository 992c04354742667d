"""Paused turns in the ledger: claimed by one holder at a time, and never lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from databases import Clock

from fallback.errors import ConfigurationError, LedgerError
from fallback.ledger import Ledger
from fallback.ledger.database import open_database
from fallback.ledger.holders import LEASE_MARGIN, Holder, holder_of, this_process
from fallback.ledger.paused import Claimed
from fallback.ledger.tables import VERSION, migrations

TURN = {"form": 1, "what": "it was"}


@pytest.fixture
def ledger(ledger: Ledger) -> Ledger:
    """One that holds a paused turn."""
    ledger.paused.put("t", TURN)
    return ledger


def held_by(ledger: Ledger, holder: Callable[[], Holder]) -> Any:
    """The paused turns of the same ledger, as a process sees them."""
    return replace(ledger.paused, holder=holder)


def ended_process() -> Holder:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        return holder_of(child.pid)


def elsewhere() -> Holder:
    return replace(this_process(), host="other", boot="another")


def test_a_turn_is_claimed_by_one(ledger: Ledger) -> None:
    assert ledger.paused.claim("t", "a", seconds=60) == Claimed(content=TURN)
    for _ in range(2):
        with pytest.raises(LedgerError) as refused:
            ledger.paused.claim("t", "b", seconds=60)
    assert str(refused.value) == (
        f"turn t is being resumed by this process ({this_process().pid}) since"
        " 2027-01-15T08:00:00+00:00; wait for it, or end it and try again (its claim is given up"
        " at 2027-01-15T08:02:00+00:00 unless it is renewed)"
    )
    assert ledger.paused.get("t") == TURN
    assert ledger.paused.claim("other", "a", seconds=60) is None


def test_a_claim_that_was_given_back_is_anybodys(ledger: Ledger) -> None:
    paused = ledger.paused
    assert paused.claim("t", "a", seconds=60) is not None
    assert not paused.release("t", "b"), "only the holder gives it back"
    assert paused.release("t", "a")
    assert not paused.release("t", "a")
    assert paused.claim("t", "b", seconds=60) == Claimed(content=TURN)
    assert paused.release("t", "b", content={"it": "waits anew"})
    assert paused.claim("t", "c", seconds=60) == Claimed(content={"it": "waits anew"})


def test_what_a_holder_has_put_down_is_there_for_the_next(ledger: Ledger) -> None:
    paused = ledger.paused
    paused.claim("t", "a", seconds=60)
    paused.renew("t", "a", seconds=60, content={"came": "so far"})
    paused.renew("t", "a", seconds=60)
    assert paused.get("t") == {"came": "so far"}
    for content in (None, {"it": "is mine"}):
        with pytest.raises(LedgerError, match="turn t is not held any more"):
            paused.renew("t", "b", seconds=60, content=content)
    assert not paused.drop("t", "b")
    assert paused.drop("t", "a")
    assert paused.list() == ()
    with pytest.raises(LedgerError, match="turn t is not held any more"):
        paused.renew("t", "a", seconds=60)


def test_what_is_no_json_is_refused_and_changes_nothing(ledger: Ledger) -> None:
    ledger.paused.claim("t", "a", seconds=60)
    with pytest.raises(ConfigurationError, match="has to be JSON"):
        ledger.paused.renew("t", "a", seconds=60, content={"x": object()})
    with pytest.raises(ConfigurationError, match="has to be JSON"):
        ledger.paused.release("t", "a", content={"x": object()})
    assert ledger.paused.get("t") == TURN


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process can be seen for certain")
def test_a_holder_of_this_machine_that_has_gone_is_seen_at_once(ledger: Ledger) -> None:
    gone = ended_process()
    assert held_by(ledger, lambda: gone).claim("t", "a", seconds=60) is not None
    claimed = ledger.paused.claim("t", "b", seconds=60)
    assert claimed is not None
    assert claimed.after == (
        f"process {gone.pid} on {gone.host} ended before it said what came of it"
    )
    with pytest.raises(LedgerError, match="not held any more"):
        ledger.paused.renew("t", "a", seconds=60)


def test_a_holder_that_cannot_be_seen_has_until_its_lease(ledger: Ledger, clock: Clock) -> None:
    away = held_by(ledger, elsewhere)
    away.claim("t", "a", seconds=60)
    clock.now += 60 + LEASE_MARGIN
    with pytest.raises(LedgerError, match=r"is being resumed by process \d+ on other since"):
        ledger.paused.claim("t", "b", seconds=60)
    away.renew("t", "a", seconds=60)
    clock.now += 60 + LEASE_MARGIN
    with pytest.raises(LedgerError, match="is being resumed"):
        ledger.paused.claim("t", "b", seconds=60)
    clock.now += 1
    claimed = ledger.paused.claim("t", "b", seconds=60)
    assert claimed is not None
    assert "has not been heard of since its deadline" in claimed.after
    assert not away.release("t", "a")
    with pytest.raises(LedgerError, match="not held any more"):
        away.renew("t", "a", seconds=60)


def test_putting_a_turn_anew_ends_every_claim(ledger: Ledger) -> None:
    ledger.paused.claim("t", "a", seconds=60)
    ledger.paused.put("t", {"another": "time"})
    assert ledger.paused.claim("t", "b", seconds=60) == Claimed(content={"another": "time"})


def test_a_damaged_row_is_one_line(ledger: Ledger) -> None:
    ledger.paused.claim("t", "a", seconds=60)
    for change in ("holder = '7'", "holder = '{'"):
        with ledger._database.writing() as tx:
            tx.all(f"UPDATE fallback_paused SET {change}")  # noqa: S608 # written above
        with pytest.raises(LedgerError, match="the paused turn t is damaged"):
            ledger.paused.claim("t", "b", seconds=60)
    with ledger._database.writing() as tx:
        tx.all("UPDATE fallback_paused SET content = '[1'")
    with pytest.raises(LedgerError, match="the paused turn t is damaged"):
        ledger.paused.get("t")


def test_tables_of_the_first_version_are_brought_up_to_date(ledger_url: str) -> None:
    database = open_database(ledger_url, create=True)
    with database.writing() as tx:
        tx.all("CREATE TABLE fallback_schema (version BIGINT NOT NULL)")
        for statement in migrations(database)[0]:
            tx.all(statement)
        tx.all("INSERT INTO fallback_schema (version) VALUES (1)")
        tx.all(
            "INSERT INTO fallback_paused (turn_id, content, put_at)"
            """ VALUES ('old', '{"kept": true}', 7)"""
        )
    database.close()
    for _ in range(2):
        with Ledger.open(ledger_url) as ledger:
            assert ledger.paused.get("old") == {"kept": True}
            claimed = ledger.paused.claim("old", "a", seconds=60)
            assert claimed == Claimed(content={"kept": True})
            assert ledger.paused.release("old", "a")
            with ledger._database.reading() as tx:
                assert tx.one("SELECT version FROM fallback_schema") == {"version": VERSION}
            assert ledger.verify() is None
