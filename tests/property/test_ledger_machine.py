"""Any order of beginning, finishing, crashing, retrying, racing, settling and undoing."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from databases import Server, new_schema
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fallback import Tool
from fallback.errors import LedgerError
from fallback.ledger import Begun, Finished, InProgress, Ledger, Operation, Unknown
from fallback.ledger.database import open_database
from fallback.ledger.holders import holder_of
from fallback.messages import ToolResult

KEYS = st.sampled_from(["k0", "k1", "k2"])
PLACES = st.integers(0, 1)


class Process:
    """A real process that stands for the holder of what is begun here, and can really die."""

    def __init__(self, url: str) -> None:
        # Two, as two threads with connections of their own would have.
        self.ledgers = [
            Ledger(open_database(url, create=False), holder=lambda: self.holder) for _ in range(2)
        ]
        self.ledger = self.ledgers[0]
        self.start()

    def start(self) -> None:
        # Until it is ``cat`` it is still a copy of this process; its start does not change by that.
        self._child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.holder = holder_of(self._child.pid)

    def kill(self) -> None:
        self._child.kill()
        self._child.communicate()

    def close(self) -> None:
        self.kill()
        for ledger in self.ledgers:
            ledger.close()


@dataclass
class Run:
    """An operation under way."""

    process: Process
    begun: Begun
    acted: bool = False


class LedgerMachine(RuleBasedStateMachine):
    """What the ledger says is compared with a model of it after every step."""

    def __init__(self, new_url: Callable[[], str]) -> None:
        super().__init__()
        self.url = new_url()
        Ledger.open(self.url).close()
        self.processes = [Process(self.url), Process(self.url)]
        self.states: dict[str, str] = {}
        self.results: dict[str, str] = {}
        self.runs: dict[str, Run] = {}
        self.effects: Counter[str] = Counter()
        self.undone: Counter[str] = Counter()
        self.undo_states: dict[str, str] = {}

    def teardown(self) -> None:
        for process in self.processes:
            process.close()

    def _operation(self, key: str) -> Operation:
        return Operation(tool="pay", arguments={"key": key})

    def _started(self, key: str, process: Process, begun: Begun) -> None:
        self.runs[key] = Run(process, begun)
        self.states[key] = "started"

    def _is_lost(self, key: str) -> bool:
        return self.states.get(key) == "started" and key not in self.runs

    @rule(key=KEYS, place=PLACES)
    def begin(self, key: str, place: int) -> None:
        process = self.processes[place]
        found = process.ledger.begin(key, self._operation(key))
        state = "unknown" if self._is_lost(key) else self.states.get(key, "failed")
        if state == "failed":
            assert isinstance(found, Begun)
            self._started(key, process, found)
        elif state == "started":
            assert isinstance(found, InProgress)
        elif state == "unknown":
            assert isinstance(found, Unknown)
            self.states[key] = "unknown"
        else:
            assert isinstance(found, Finished)
            assert found.result.content.startswith(self.results[key])

    @rule(key=KEYS, place=PLACES)
    def race(self, key: str, place: int) -> None:
        """Begun four times at the same time.

        In one process: which of two would win is not Hypothesis' to choose, so the rest of the run
        could not be repeated. Processes race in the tests of crashes.
        """
        process = self.processes[place]
        ready = threading.Barrier(4)

        def one(ledger: Ledger) -> object:
            ready.wait()
            return ledger.begin(key, self._operation(key))

        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(one, process.ledgers * 2))
        begun = [it for it in found if isinstance(it, Begun)]
        if self.states.get(key, "failed") == "failed":
            (it,) = begun
            self._started(key, process, it)
        else:
            assert not begun
            if self._is_lost(key):
                self.states[key] = "unknown"

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        run = self.runs[self._running(data)]
        if not run.acted:
            run.acted = True
            self.effects[run.begun.key] += 1

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        key = self._running(data)
        run = self.runs.pop(key)
        self.effects[key] += not run.acted
        self.results[key] = f"paid by attempt {run.begun.attempt}"
        result = ToolResult(call_id="c", name="pay", content=self.results[key])
        run.process.ledger.finish(run.begun, result)
        self.states[key] = "finished"

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        key = self._running(data)
        run = self.runs.pop(key)
        run.process.ledger.fail(run.begun, "no", effect="unknown" if run.acted else "none")
        self.states[key] = "unknown" if run.acted else "failed"

    @rule(place=PLACES)
    def crash(self, place: int) -> None:
        process = self.processes[place]
        process.kill()
        process.start()
        self.runs = {key: run for key, run in self.runs.items() if run.process is not process}

    @rule(key=KEYS, place=PLACES)
    def resolve(self, key: str, place: int) -> None:
        """A person looks at what really happened, and says so."""
        ledger = self.processes[place].ledger
        outcome = "done" if self.effects[key] else "not_done"
        if self.states.get(key) == "unknown" or self._is_lost(key):
            ledger.resolve(key, outcome, by="ann")
            self.states[key] = "finished" if outcome == "done" else "failed"
            self.results[key] = "Done, as ann says."
        else:
            with pytest.raises(LedgerError):
                ledger.resolve(key, outcome, by="ann")

    @rule(key=KEYS, place=PLACES, works=st.booleans())
    def undo(self, key: str, place: int, works: bool) -> None:
        def compensate(key: str) -> str:
            if not works:
                raise OSError("the line broke")
            self.undone[key] += 1
            return "paid back"

        tool = Tool(
            name="pay",
            parameters={"type": "object", "properties": {"key": {"type": "string"}}},
            handler=lambda key: key,
            compensate=compensate,
        )
        ledger = self.processes[place].ledger
        before = self.undo_states.get(key)
        if self.states.get(key) != "finished" or before == "unknown":
            with pytest.raises(LedgerError):
                ledger.undo(key, [tool])
            return
        result = ledger.undo(key, [tool])
        assert result.ok is (works or before == "finished")
        self.undo_states[key] = "finished" if result.ok else "unknown"

    def _running(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.runs)))

    @invariant()
    def nothing_happens_twice(self) -> None:
        assert max(self.effects.values(), default=0) <= 1
        assert max(self.undone.values(), default=0) <= 1

    @invariant()
    def the_ledger_agrees_with_the_model_and_with_its_log(self) -> None:
        ledger = self.processes[0].ledger
        assert ledger.verify() is None
        for key, state in self.states.items():
            stored = ledger.get(key)
            assert stored is not None
            assert stored.state == ("unknown" if self._is_lost(key) else state)


def test_nothing_happens_twice_in_any_order_in_sqlite(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def new_url() -> str:
        folder: Path = tmp_path_factory.mktemp("machine")
        return f"sqlite:///{folder}/ledger.sqlite"

    run_state_machine_as_test(
        lambda: LedgerMachine(new_url), settings=settings(max_examples=40, stateful_step_count=25)
    )


@pytest.mark.postgres
def test_nothing_happens_twice_in_any_order_in_postgresql(postgres_server: Server) -> None:
    run_state_machine_as_test(
        lambda: LedgerMachine(lambda: new_schema(postgres_server)),
        settings=settings(max_examples=15, stateful_step_count=25),
    )
