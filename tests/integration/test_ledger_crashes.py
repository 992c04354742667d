"""Processes that are killed around a side effect, and processes that race for one."""

from __future__ import annotations

import contextlib
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import ledger_child
import pytest
from asked_child import AskedChild, effects_of, two_children
from ledger_child import Moments, operation, run_once, undo_once

from fallback.errors import LedgerError
from fallback.ledger import Begun, Finished, Ledger, Unknown
from fallback.messages import ToolResult

FEWEST_MOMENTS = 10  # around a side effect: begin and finish alone are eight statements


def killed(child: AskedChild, mode: str, key: str, moment: int) -> bool:
    """Whether the run was killed; it ends by itself once there is no such moment."""
    child.tell(f"{mode} {key} {moment}")
    code = int(child.answer())
    assert code in (0, -signal.SIGKILL)
    return code != 0


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects"


@pytest.fixture
def children(ledger_url: str, effects: Path) -> Iterator[list[AskedChild]]:
    with two_children(ledger_child.__file__, ledger_url, effects) as made:
        yield made


def test_an_effect_never_happens_twice_whenever_its_process_is_killed(
    ledger_url: str, effects: Path, children: list[AskedChild]
) -> None:
    with Ledger.open(ledger_url) as ledger:
        ends = []
        moment = 1
        while killed(children[0], "once", key := f"k{moment}", moment):
            before = effects_of(effects)[key]
            found = run_once(ledger, effects, key, Moments(0))
            again = run_once(ledger, effects, key, Moments(0))
            after = effects_of(effects)[key]
            if isinstance(found, Begun):
                assert (before, after) == (0, 1)
                assert isinstance(again, Finished)
            elif isinstance(found, Finished):
                assert (before, after) == (1, 1)
            else:
                assert isinstance(found, Unknown)
                assert isinstance(again, Unknown)
                assert after == before
                assert "ended before it said what came of it" in found.detail
            ends.append(type(found))
            moment += 1
        assert len(ends) >= FEWEST_MOMENTS
        # First nothing is recorded, then it is started, and at last it is finished; no way back.
        assert ends == sorted(ends, key=[Begun, Unknown, Finished].index)
        assert set(ends) == {Begun, Unknown, Finished}
        assert ledger.verify() is None


def test_nothing_is_undone_twice_whenever_its_process_is_killed(
    ledger_url: str, effects: Path, children: list[AskedChild]
) -> None:
    with Ledger.open(ledger_url) as ledger:
        outcomes = set()
        moment, dies = 1, True
        while dies:
            key = f"k{moment}"
            begun = ledger.begin(key, operation(key))
            assert isinstance(begun, Begun)
            ledger.finish(begun, ToolResult(call_id="c", name="pay"))
            dies = killed(children[0], "undo", key, moment)
            outcome = "unknown"
            with contextlib.suppress(LedgerError):
                outcome = undo_once(ledger, effects, key, Moments(0)).status
            assert effects_of(effects)[f"undo {key}"] == 1 or outcome == "unknown"
            assert effects_of(effects)[f"undo {key}"] <= 1
            outcomes.add(outcome)
            moment += 1
        assert moment > FEWEST_MOMENTS
        assert outcomes == {"ok", "unknown"}
        assert ledger.verify() is None


def test_of_two_processes_that_race_for_a_key_one_runs_it(
    ledger_url: str, effects: Path, children: list[AskedChild]
) -> None:
    begun = Counter[str]()
    keys = [f"k{number}" for number in range(100)]
    for key in keys:
        for child in children:
            child.tell(f"run {key}")
        begun[key] = [child.answer() for child in children].count("Begun")
    assert begun == Counter(keys)
    assert effects_of(effects) == Counter(keys)
    with Ledger.open(ledger_url) as ledger:
        assert ledger.verify() is None


def test_processes_that_make_the_ledger_at_once_agree_on_it(
    ledger_url: str, children: list[AskedChild]
) -> None:
    for number, child in enumerate(children):
        child.tell(f"run k{number}")
    assert [child.answer() for child in children] == ["Begun"] * 2
    with Ledger.open(ledger_url) as ledger:
        assert len(ledger.list("finished")) == 2
        assert ledger.verify() is None


def test_a_forked_process_may_use_the_ledger_of_its_parent(
    ledger_url: str, effects: Path, children: list[AskedChild]
) -> None:
    child = children[0]
    for command, answer in (("run k1", "Begun"), ("inherit k2", "0"), ("run k3", "Begun")):
        child.tell(command)
        assert child.answer() == answer
    assert effects_of(effects) == Counter(["k1", "k2", "k3"])
    with Ledger.open(ledger_url) as ledger:
        assert ledger.verify() is None
