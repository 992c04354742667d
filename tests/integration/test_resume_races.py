"""Processes that go on with the same paused turn: one of them does, and no call runs twice.

The tool of these turns does not say what it does. See :mod:`resume_child`.
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import resume_child
from asked_child import AskedChild, effects_of, two_children
from ledger_child import happen
from resume_child import go_on, paused_turn

from fallback.errors import LedgerError
from fallback.ledger import Ledger

RACES = 6
STRIDE = 3
FEWEST_MOMENTS = 25  # two effects, and the statements around them


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects"


@pytest.fixture
def children(ledger_url: str, effects: Path) -> Iterator[list[AskedChild]]:
    with two_children(resume_child.__file__, ledger_url, effects) as made:
        yield made


@pytest.mark.parametrize("mode", ["resume", "aresume"])
def test_of_two_processes_that_go_on_with_a_turn_at_once_one_does(
    mode: str, ledger_url: str, effects: Path, children: list[AskedChild]
) -> None:
    expected = Counter[str]()
    with Ledger.open(ledger_url) as ledger:
        for number in range(RACES):
            name = f"race{number}"
            turn_id = paused_turn(ledger, name)
            for child in children:
                child.tell(f"{mode} {turn_id} {name}")
            said = [child.answer() for child in children]
            assert said.count("running") == 1, said
            winner, loser = children if said[0] == "running" else reversed(children)
            refusal = next(line for line in said if line != "running")
            assert refusal.startswith(f"LedgerError: turn {turn_id} is being resumed by process")
            assert f"process {winner.process.pid} on " in refusal
            # The winner stands in the middle of its first call, and then of its second.
            for _ in range(2):
                loser.tell(f"{mode} {turn_id} {name}")
                assert "is being resumed by" in loser.answer()
                winner.tell("go")
                last = winner.answer()
            assert last == "answered: Both are noted."
            loser.tell(f"{mode} {turn_id} {name}")
            assert loser.answer().startswith(f"UsageError: no turn '{turn_id}' is waiting")
            expected += Counter([f"{name} first", f"{name} second"])
        assert effects_of(effects) == expected
        assert ledger.paused.list() == ()
        assert ledger.verify() is None


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_nothing_runs_twice_whenever_the_process_that_goes_on_is_killed(
    ledger_url: str, effects: Path, children: list[AskedChild]
) -> None:
    """Whoever takes over sees that at once, keeps what is known, and leaves the unknown alone."""
    kinds = Counter[str]()
    with Ledger.open(ledger_url) as ledger:
        moment, killed = 1, True
        while killed:
            name = f"turn{moment}"
            turn_id = paused_turn(ledger, name)
            children[0].tell(f"die {turn_id} {name} {moment}")
            code = int(children[0].answer())
            assert code in (0, -signal.SIGKILL)
            if ledger.paused.get(turn_id) is not None:
                turn = go_on(ledger, turn_id, name, lambda text: happen(effects, text))
                assert turn.stop_reason == "answered"
                results = [result for step in turn.steps for result in step.results]
                kinds.update(result.kind or "ok" for result in results)
                unknown = [r for r in results if r.kind == "outcome_unknown"]
                assert len(unknown) <= 1
                assert all("A person has to look" in r.content for r in unknown)
                done = sum(effects_of(effects)[f"{name} {which}"] for which in ("first", "second"))
                assert 2 - len(unknown) <= done <= 2
            killed = code != 0
            moment += STRIDE
        assert moment > FEWEST_MOMENTS
        assert kinds.keys() == {"ok", "outcome_unknown"}
        assert max(effects_of(effects).values()) == 1
        assert ledger.verify() is None


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_holder_that_was_killed_is_taken_over_and_the_log_says_so(
    ledger_url: str, effects: Path, children: list[AskedChild]
) -> None:
    with Ledger.open(ledger_url) as ledger:
        turn_id = paused_turn(ledger, "t")
        children[0].tell(f"resume {turn_id} t")
        assert children[0].answer() == "running"
        with pytest.raises(LedgerError, match="is being resumed by process"):
            go_on(ledger, turn_id, "t", lambda text: happen(effects, text))
        children[0].process.kill()
        children[0].process.wait()
        turn = go_on(ledger, turn_id, "t", lambda text: happen(effects, text))
        assert [r.kind for step in turn.steps for r in step.results] == ["outcome_unknown", None]
        assert effects_of(effects) == Counter(["t second"])
        (unknown,) = ledger.list("unknown")
        assert (unknown.tool, unknown.arguments) == ("note", {"text": "t first"})
        resumed = [e.body for e in ledger.entries() if e.body["event"] == "resumed"]
        assert "ended before it said what came of it" in resumed[-1]["detail"]
