"""One client's program in its own process, and one case after another put to it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.clients.scenarios import Outcome, Scenario
from benchmarks.clients.servers import Pair

__all__ = ["Program", "judge"]

CASE_SECONDS = 120
REQUEST_CAP = 12
RETRY_CAP = 40  # Claude Code alone sends eleven for one question that fails
_LOOK_SECONDS = 0.25
_QUESTION = "Add the numbers 1 and 2 with the tool that you have."
_LONG = _QUESTION + "\n\nNotes of no importance:\n" + "Nothing happened on that day. " * 2000


class Program:
    """The program, started again after a case that had to be ended."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], folder: Path) -> None:
        self._command, self._environ, self._folder = command, environ, folder
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def _started(self) -> subprocess.Popen[str]:
        if self._process and self._process.poll() is None:
            return self._process
        with (self._folder / "program.log").open("ab") as log:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self._environ,
                cwd=self._folder,
                start_new_session=True,  # so that everything it starts ends with it
            )
        self._process, self._lines = process, queue.Queue()
        threading.Thread(target=_read, args=(process, self._lines), daemon=True).start()
        return process

    def ask(self, case: Mapping[str, str]) -> Iterator[dict[str, Any] | None]:
        """Put a case; gives None while there is no outcome yet.

        Raises:
            RuntimeError: the program ended instead.
        """
        process = self._started()
        assert process.stdin is not None
        process.stdin.write(json.dumps(case) + "\n")
        process.stdin.flush()
        while True:
            try:
                line = self._lines.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                yield None
                continue
            if line is None:
                raise RuntimeError(self._last_words())
            if line.startswith("OUTCOME "):
                yield json.loads(line.removeprefix("OUTCOME "))
                return

    def _last_words(self) -> str:
        log = (self._folder / "program.log").read_text(encoding="utf-8", errors="replace")
        return "the program ended: " + (log.strip().splitlines() or ["without a word"])[-1]

    def end(self) -> None:
        """End it with everything that it has started."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                assert pipe is not None
                pipe.close()
        self._process = None


def _read(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    with contextlib.suppress(ValueError):  # closed while it was read
        for line in process.stdout:
            lines.put(line)
    lines.put(None)


def judge(program: Program, pair: Pair, scenario: Scenario) -> str | None:
    """Run one case; what was wrong, or None."""
    pair.forget()
    before = pair.asked()
    cap = RETRY_CAP if scenario.may_retry else REQUEST_CAP
    case = {"model": scenario.model, "prompt": _LONG if scenario.long else _QUESTION}
    ends = monotonic() + CASE_SECONDS
    try:
        for told in program.ask(case):
            if (asked := pair.asked() - before) > cap:
                program.end()
                return f"a loop: {asked} requests"
            if told is not None:
                mine = [b for b in pair.generations() if _base(b["model"]) == scenario.model]
                return scenario.judge(Outcome(**told, generations=mine))
            if monotonic() > ends:
                program.end()
                return f"no answer within {CASE_SECONDS} s"
    except (RuntimeError, BrokenPipeError) as failure:
        program.end()
        return str(failure)
    return "no outcome"


def _base(model: str) -> str:
    return model.removesuffix(":latest")
