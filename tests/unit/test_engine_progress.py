from __future__ import annotations

import io
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from fallback.engine.progress import progress_shown, pull_with_progress
from fallback.engine.pull import PullProgress
from fallback.engine.registry import Registry
from fallback.engine.store import Store

MB = 1_000_000


def event(status: Any, completed: int, part: int = 1) -> PullProgress:
    return PullProgress(status, "toy:1b", completed, 100 * MB, part, 4)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_a_line_now_and_then_with_rate_and_time_left() -> None:
    clock, stream = Clock(), io.StringIO()
    with progress_shown(stream, clock=clock) as show:
        for second in range(13):
            clock.now = 100.0 + second
            show(event("downloading", second * 2 * MB))
        show(event("verifying", 100 * MB))
        show(event("done", 100 * MB))

    assert stream.getvalue().splitlines() == [
        "toy:1b: 0 of 100 MB",
        "toy:1b: 10 of 100 MB, 2.0 MB/s, 45 s left",
        "toy:1b: 20 of 100 MB, 2.0 MB/s, 40 s left",
        "toy:1b: checking the SHA-256",
        "toy:1b: ready, 100 MB",
    ]


def test_waiting_for_another_process_is_said() -> None:
    stream = io.StringIO()
    with progress_shown(stream) as show:
        show(event("waiting", 0))

    assert "another process is fetching it" in stream.getvalue()


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")
def test_a_terminal_gets_a_bar() -> None:
    import pty

    ours, theirs = pty.openpty()
    drawn: list[bytes] = []

    def read() -> None:
        try:
            while data := os.read(ours, 1024):
                drawn.append(data)
        except OSError:  # the other end was closed
            return

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal, progress_shown(terminal) as show:
        show(event("downloading", 50 * MB, part=2))
        show(event("done", 100 * MB))
    reader.join()
    os.close(ours)

    text = re.sub(r"\x1b\[[0-9;?]*\w", "", b"".join(drawn).decode())
    assert "toy:1b" in text
    assert "100.0/100.0 MB" in text


def test_a_model_that_is_here_is_returned_without_a_word(tmp_path: Path, cut_model: Any) -> None:
    store = Store(tmp_path / "cache", registry=Registry([cut_model.record]))
    path = store.file(cut_model.record)
    path.parent.mkdir(parents=True)
    path.write_bytes(cut_model.data)
    stream = io.StringIO()

    assert pull_with_progress("toy", store=store, stream=stream).path == path
    assert stream.getvalue() == ""


def test_fetching_shows_its_steps(tmp_path: Path, cut_model: Any) -> None:
    cut_model.put(1, 2, 3)
    store = Store(tmp_path / "cache", registry=Registry([cut_model.record]))
    stream = io.StringIO()

    pull_with_progress("toy", store=store, stream=stream, pip_arguments=cut_model.pip)

    assert stream.getvalue().splitlines()[-2:] == [
        "toy:1b: checking the SHA-256",
        "toy:1b: ready, 0 MB",
    ]
