"""Shows how a model is being fetched: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from fallback.engine.pull import OnProgress, PullProgress, pull
from fallback.engine.store import Store, StoredModel

if TYPE_CHECKING:
    from rich.progress import Progress

_LINE_SECONDS = 5.0
_WAITING = "another process is fetching it; waiting"


def pull_with_progress(
    name: str,
    *,
    store: Store | None = None,
    stream: TextIO | None = None,
    pip_arguments: Sequence[str] = (),
) -> StoredModel:
    """Fetch ``name`` and show how far it is on ``stream`` (by default stderr); see :func:`pull`.

    Nothing is shown for a model that is here already.
    """
    store = Store() if store is None else store
    present = store.stored(store.record(name))
    if present is not None:
        return present
    with progress_shown(stream) as on_progress:
        return pull(name, store=store, on_progress=on_progress, pip_arguments=pip_arguments)


@contextlib.contextmanager
def progress_shown(
    stream: TextIO | None = None, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[OnProgress]:
    """A callback for :func:`pull` that draws a bar if ``stream`` is a terminal."""
    stream = sys.stderr if stream is None else stream
    if stream.isatty():
        with _bar(stream) as bar:
            yield _on_bar(bar)
    else:
        yield _Lines(stream, clock)


def _bar(stream: TextIO) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(file=stream),
    )


def _on_bar(bar: Progress) -> Callable[[PullProgress], None]:
    task = bar.add_task("", total=None)

    def show(event: PullProgress) -> None:
        note = {
            "waiting": _WAITING,
            "downloading": f"part {event.part}/{event.parts}" if event.parts > 1 else "",
            "verifying": "checking",
            "done": "done",
        }[event.status]
        description = f"{event.model} {note}".strip()
        bar.update(task, description=description, completed=event.completed, total=event.total)

    return show


class _Lines:
    """Plain lines, at most one every few seconds, for logs."""

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream, self._clock = stream, clock
        self._began: tuple[float, int] | None = None
        self._last = float("-inf")

    def __call__(self, event: PullProgress) -> None:
        now = self._clock()
        if event.status == "downloading":
            self._began = self._began or (now, event.completed)
            if now - self._last < _LINE_SECONDS:
                return
            self._last = now
        print(f"{event.model}: {self._text(event, now)}", file=self._stream, flush=True)

    def _text(self, event: PullProgress, now: float) -> str:
        if event.status == "waiting":
            return _WAITING
        if event.status == "verifying":
            return "checking the SHA-256"
        if event.status == "done":
            return f"ready, {event.total / 1e6:,.0f} MB"
        text = f"{event.completed / 1e6:,.0f} of {event.total / 1e6:,.0f} MB"
        start, base = self._began or (now, event.completed)
        if now > start and event.completed > base:
            rate = (event.completed - base) / (now - start)
            left = (event.total - event.completed) / rate
            text += f", {rate / 1e6:,.1f} MB/s, {left:,.0f} s left"
        return text
