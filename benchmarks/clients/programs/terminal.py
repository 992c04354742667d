"""A command that wants a terminal, and what it writes down of its conversation."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from command import WORK

_LOOK_SECONDS = 0.2


def until(
    command: Sequence[str],
    environ: Mapping[str, str],
    transcripts: Callable[[], list[Path]],
    ended: Callable[[dict[str, Any]], bool],
) -> list[dict[str, Any]]:
    """Let it run in a terminal until one of the JSON lines that it writes down says it has ended.

    Raises:
        RuntimeError: it ended by itself.
    """
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(WORK)
        os.execve(command[0], list(command), dict(environ))  # noqa: S606 -- it is named by its path
    try:
        return _watched(terminal, transcripts, ended)
    finally:
        os.close(terminal)  # which hangs up on everything that it has started
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)


def _watched(
    terminal: int,
    transcripts: Callable[[], list[Path]],
    ended: Callable[[dict[str, Any]], bool],
) -> list[dict[str, Any]]:
    shown = b""
    looked = 0.0
    while True:
        if select.select([terminal], [], [], _LOOK_SECONDS)[0]:
            try:
                shown = (shown + os.read(terminal, 65536))[-2000:]
            except OSError:
                raise RuntimeError(f"it ended: {shown[-300:]!r}") from None
        if time.monotonic() - looked > _LOOK_SECONDS:
            looked = time.monotonic()
            lines = [line for file in transcripts() for line in _lines(file)]
            if any(map(ended, lines)):
                return lines


def _lines(file: Path) -> list[dict[str, Any]]:
    """The whole lines of a file that is still being written."""
    text = file.read_text(encoding="utf-8", errors="replace")
    return [json.loads(line) for line in text.split("\n")[:-1] if line.startswith("{")]
