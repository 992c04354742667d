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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from benchmarks.clients.judges import Outcome, results_in_order
from benchmarks.clients.scenarios import SCENARIOS, Scenario
from benchmarks.clients.scripts import TEN
from benchmarks.clients.servers import Pair

__all__ = ["Program", "judge"]

CASE_SECONDS = 240  # Qwen Code and opencode wait up to 100 s in all between their tries
REQUEST_CAP = 12
RETRY_CAP = 40  # Claude Code alone sends eleven for one question that fails
LEAVING_SECONDS = 1.0
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


def judge(
    program: Program, pair: Pair, scenario: Scenario, other: Program | None = None
) -> str | None:
    """Run one case; what was wrong, or None.

    Args:
        program: of the client; one that goes through the tap where the scenario looks there.
        pair: the servers.
        scenario: the case.
        other: who is asked at the same time, where two are.
    """
    pair.forget(odd=scenario.how == "odd")
    if scenario.how == "left":
        return _left(program, pair, scenario)
    if scenario.how == "together" and other is not None:
        return _together(program, other, pair, scenario)
    return _one(program, pair, scenario)


def _one(program: Program, pair: Pair, scenario: Scenario) -> str | None:
    before = pair.asked()
    cap = RETRY_CAP if scenario.may_retry else REQUEST_CAP
    ends = monotonic() + CASE_SECONDS
    try:
        for told in program.ask(_case(scenario)):
            if (asked := pair.asked() - before) > cap + _rounds(scenario):
                program.end()
                return f"a loop: {asked} requests"
            if told is not None:
                return scenario.judge(_outcome(told, pair, scenario, asked))
            if monotonic() > ends:
                program.end()
                return f"no answer within {CASE_SECONDS} s"
    except (RuntimeError, BrokenPipeError) as failure:
        program.end()
        return str(failure)
    return "no outcome"


def _rounds(scenario: Scenario) -> int:
    return len(TEN) if scenario.model == "ten" else 0


def _case(scenario: Scenario) -> dict[str, str]:
    prompt = _LONG if scenario.long else _QUESTION
    return {"model": scenario.model, "prompt": prompt, "task": scenario.task}


def _outcome(told: Mapping[str, Any], pair: Pair, scenario: Scenario, asked: int = 0) -> Outcome:
    mine = [b for b in pair.generations() if _base(b["model"]) == scenario.model]
    return Outcome(**told, generations=mine, asked=asked, passed=pair.passed())


def _left(program: Program, pair: Pair, scenario: Scenario) -> str | None:
    """The client is ended as soon as the model has begun."""
    ends = monotonic() + CASE_SECONDS
    try:
        for told in program.ask(_case(scenario)):
            if pair.open() or told is not None or monotonic() > ends:
                break
    except (RuntimeError, BrokenPipeError) as failure:
        return str(failure)
    begun = pair.open()
    program.end()
    if not begun:
        return "the model was never asked"
    sleep(LEAVING_SECONDS)
    left = pair.open()
    return f"{left} of {begun} generations went on" if left else None


def _together(program: Program, other: Program, pair: Pair, scenario: Scenario) -> str | None:
    """Two clients at once, while somebody else is being answered slowly."""
    (second,) = [s for s in SCENARIOS if s.judge is results_in_order]
    second = replace(second, model="company")
    with pair.slow_answer(), ThreadPoolExecutor(2) as pool:
        wrongs = list(pool.map(_one, (program, other), (pair, pair), (scenario, second)))
        if not pair.open():
            wrongs.append("the slow answer had to end first")
    return next(filter(None, wrongs), None)


def _base(model: str) -> str:
    return model.removesuffix(":latest")
