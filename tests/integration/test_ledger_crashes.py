"""Processes that are killed around a side effect, and processes that race for one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import ledger_child
import pytest
from ledger_child import Moments, operation, run_once, undo_once

from fallback.errors import LedgerError
from fallback.ledger import Begun, Finished, Ledger, Unknown
from fallback.messages import ToolResult

ROOT = Path(__file__).resolve().parent.parent.parent
FEWEST_MOMENTS = 10  # around a side effect: begin and finish alone are eight statements


class Child:
    """A process that is asked line by line; see :mod:`ledger_child`."""

    def __init__(self, url: str, effects: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, ledger_child.__file__, url, effects],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def ask(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def killed(self, mode: str, key: str, moment: int) -> bool:
        """Whether the run was killed; it ends by itself once there is no such moment."""
        self.ask(f"{mode} {key} {moment}")
        code = int(self.answer())
        assert code in (0, -signal.SIGKILL)
        return code != 0

    def end(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects"


@pytest.fixture
def children(ledger_url: str, effects: Path) -> Iterator[list[Child]]:
    found = [Child(ledger_url, effects) for _ in range(2)]
    yield found
    for child in found:
        child.end()


def effects_of(effects: Path) -> Counter[str]:
    return Counter(effects.read_text(encoding="utf-8").splitlines() if effects.exists() else [])


def test_an_effect_never_happens_twice_whenever_its_process_is_killed(
    ledger_url: str, effects: Path, children: list[Child]
) -> None:
    with Ledger.open(ledger_url) as ledger:
        ends = []
        moment = 1
        while children[0].killed("once", key := f"k{moment}", moment):
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
    ledger_url: str, effects: Path, children: list[Child]
) -> None:
    with Ledger.open(ledger_url) as ledger:
        outcomes = set()
        moment, killed = 1, True
        while killed:
            key = f"k{moment}"
            begun = ledger.begin(key, operation(key))
            assert isinstance(begun, Begun)
            ledger.finish(begun, ToolResult(call_id="c", name="pay"))
            killed = children[0].killed("undo", key, moment)
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
    ledger_url: str, effects: Path, children: list[Child]
) -> None:
    begun = Counter[str]()
    keys = [f"k{number}" for number in range(100)]
    for key in keys:
        for child in children:
            child.ask(f"run {key}")
        begun[key] = [child.answer() for child in children].count("Begun")
    assert begun == Counter(keys)
    assert effects_of(effects) == Counter(keys)
    with Ledger.open(ledger_url) as ledger:
        assert ledger.verify() is None


def test_processes_that_make_the_ledger_at_once_agree_on_it(
    ledger_url: str, children: list[Child]
) -> None:
    for number, child in enumerate(children):
        child.ask(f"run k{number}")
    assert [child.answer() for child in children] == ["Begun"] * 2
    with Ledger.open(ledger_url) as ledger:
        assert len(ledger.list("finished")) == 2
        assert ledger.verify() is None


def test_a_forked_process_may_use_the_ledger_of_its_parent(
    ledger_url: str, effects: Path, children: list[Child]
) -> None:
    child = children[0]
    for command, answer in (("run k1", "Begun"), ("inherit k2", "0"), ("run k3", "Begun")):
        child.ask(command)
        assert child.answer() == answer
    assert effects_of(effects) == Counter(["k1", "k2", "k3"])
    with Ledger.open(ledger_url) as ledger:
        assert ledger.verify() is None
