"""How long work goes on: a bar with the time that is left, or a line now and then."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fallback.cli.output import console, error_line, visible

if TYPE_CHECKING:
    from fallback.compare.units import Unit

__all__ = ["say", "watching"]


def say(line: str) -> None:
    """Tell a person how it goes, on standard error."""
    console(stderr=True).print(visible(line))


@contextmanager
def watching(total: int, known: int) -> Iterator[_Bar | _Lines]:
    """A bar with the time that is left on a terminal; elsewhere a line now and then."""
    if not sys.stderr.isatty():
        yield _Lines(total, known)
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    # Units differ widely in length: the speed of the last few would make the estimate jump.
    with Progress(*columns, console=console(stderr=True), speed_estimate_period=3600) as progress:
        yield _Bar(progress, progress.add_task("starting", total=total, completed=known))


class _Bar:
    def __init__(self, progress: Any, task: Any) -> None:
        self._progress, self._task = progress, task

    def done(self, unit: Unit, record: Mapping[str, Any]) -> None:
        self._advance(unit)

    def skipped(self, unit: Unit) -> None:
        self._advance(unit)

    def _advance(self, unit: Unit) -> None:
        self.one(f"{unit.model} {unit.way.name}")

    def one(self, name: str) -> None:
        """One more is done."""
        self._progress.update(self._task, advance=1, description=visible(name)[:40])

    def said(self, line: str) -> None:
        self._progress.console.print(error_line(line))


class _Lines:
    """A line for every twentieth part of the work."""

    def __init__(self, total: int, known: int) -> None:
        self._total, self._count = total, known

    def done(self, unit: Unit, record: Mapping[str, Any]) -> None:
        self.one("")

    def skipped(self, unit: Unit) -> None:
        self.one("")

    def one(self, name: str) -> None:
        """One more is done."""
        before, self._count = self._count, self._count + 1
        if self._count * 20 // self._total > before * 20 // self._total:
            say(f"{self._count} of {self._total}")

    def said(self, line: str) -> None:
        say(error_line(line))
