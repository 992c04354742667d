"""A process that runs operations, and can be killed at any moment of it.

``ledger_child.py URL EFFECTS`` reads lines from standard input and answers each with one.
``run KEY`` runs one operation in this process; the answer is what ``begin`` gave.
``inherit KEY`` does the same in a forked process, with this one's ledger, and
``once KEY MOMENT`` with one of its own; ``undo KEY MOMENT`` undoes one; the answer
is that process's exit code. An effect is a line in the file EFFECTS. A moment is counted behind
every statement and every step around the effect; at the one named the process kills itself, as
nothing can be caught or cleaned up then.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from fallback import Tool
from fallback.ledger import Begun, Ledger, Operation
from fallback.ledger.database import Row, Transaction
from fallback.messages import ToolResult


class Moments:
    """Counts moments; ``fatal`` is the one to die at, 0 for none."""

    def __init__(self, fatal: int) -> None:
        self.passed, self.fatal = 0, fatal

    def pass_one(self) -> None:
        self.passed += 1
        if self.passed == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch_statements(self) -> None:
        run = Transaction.all

        def counted(tx: Transaction, statement: str, **values: Any) -> list[Row]:
            rows = run(tx, statement, **values)
            self.pass_one()
            return rows

        Transaction.all = counted  # type: ignore[method-assign]  # to stop between statements


def happen(effects: Path, key: str) -> None:
    """The side effect: what must not be there twice."""
    with effects.open("a", encoding="utf-8") as file:
        file.write(f"{key}\n")


def run_once(ledger: Ledger, effects: Path, key: str, moments: Moments) -> object:
    """What an application does with one call."""
    moments.pass_one()
    found = ledger.begin(key, operation(key))
    moments.pass_one()
    if isinstance(found, Begun):
        happen(effects, key)
        moments.pass_one()
        ledger.finish(found, ToolResult(call_id="c", name="pay", content="paid"))
        moments.pass_one()
    return found


def undo_once(ledger: Ledger, effects: Path, key: str, moments: Moments) -> ToolResult:
    """What an operator does with a finished one."""

    def compensate(key: str) -> None:
        moments.pass_one()
        happen(effects, f"undo {key}")
        moments.pass_one()

    tool = Tool(
        name="pay",
        parameters={"type": "object", "properties": {"key": {"type": "string"}}},
        handler=lambda key: key,
        compensate=compensate,
    )
    return ledger.undo(key, [tool])


def operation(key: str) -> Operation:
    return Operation(tool="pay", arguments={"key": key})


def in_a_process_of_its_own(act: Callable[[], object]) -> int:
    """Gives its exit code, negative where a signal ended it."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 1
    try:
        act()
        code = 0
    finally:
        os._exit(code)


def killable(url: str, effects: Path, mode: str, key: str, moment: int) -> None:
    with Ledger.open(url) as ledger:
        moments = Moments(moment)
        moments.watch_statements()
        (run_once if mode == "once" else undo_once)(ledger, effects, key, moments)


def main() -> None:
    url, effects = sys.argv[1], Path(sys.argv[2])
    with Ledger.open(url) as ledger:
        for line in sys.stdin:
            mode, key, *rest = line.split()
            if mode == "run":
                answer = type(run_once(ledger, effects, key, Moments(0))).__name__
            elif mode == "inherit":
                run = partial(run_once, ledger, effects, key, Moments(0))
                answer = str(in_a_process_of_its_own(run))
            else:
                run = partial(killable, url, effects, mode, key, int(rest[0]))
                answer = str(in_a_process_of_its_own(run))
            sys.stdout.write(f"{answer}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
