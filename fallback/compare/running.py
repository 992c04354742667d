"""Running all units that are missing, on one host or on several, and what can go wrong with them.

A few cases are asked in one way, then the same in the next: so a run that is broken off leaves
ways that can be compared on the same cases, and no way finds the prompt of the one before in the
server's cache, which made ``native+read`` ten times as fast as ``native`` when one followed the
other. A host does one unit at a time: a second one beside it would make the times of both
worthless.

A unit that fails for reasons that have nothing to do with it is tried once more when all others are
done, by another host than the one that it failed at, if there is one left.

What must stay true: a record is in the store before anything is said about it, and whatever ends
the run, an interrupt or a full disk, nothing that is in the store is lost.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fallback.backend import ModelInfo
from fallback.compare.cases import Case
from fallback.compare.hosts import Host
from fallback.compare.store import Store
from fallback.compare.units import Sampling, Unit, key_of, run_unit
from fallback.errors import (
    BackendConnectionError,
    BackendError,
    CapabilityError,
    FallbackError,
    ModelNotFoundError,
)
from fallback.hosts import without_login
from fallback.ways import Way

__all__ = [
    "MAX_TRIES",
    "MAX_TROUBLE",
    "Outcome",
    "Summary",
    "Watcher",
    "Work",
    "missing",
    "run_missing",
    "units_of",
]

BLOCK = 8
"""Cases, at least, that are asked one way before the next way's turn, if there are so many: more
than a server keeps prompts of."""

MAX_TROUBLE = 3
"""Units that fail in a row before a host is given up: by then it is not one odd case."""

MAX_TRIES = 2
"""Times that a unit is tried in one run; after that the same command can be given again."""


class Watcher(Protocol):
    """Who is told how it goes."""

    def done(self, unit: Unit, record: Mapping[str, Any]) -> None:
        """A unit is finished and kept."""
        ...

    def skipped(self, unit: Unit) -> None:
        """A unit will not be run."""
        ...

    def said(self, line: str) -> None:
        """Something a person should know."""
        ...


@dataclass(slots=True)
class Summary:
    """What became of a run.

    Attributes:
        done: units that were finished.
        skipped: units that cannot be run: the model or the way is not available.
        failed: units that failed for reasons that have nothing to do with them, and are left.
        error: what ended the run, or a part of it, before its time; the first such.
    """

    done: int = 0
    skipped: int = 0
    failed: int = 0
    error: FallbackError | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a unit at a host: its record, an error, or a note that it is done again.

    ``last`` says of an error that the unit has had all its tries already.
    """

    url: str
    unit: Unit
    record: Mapping[str, Any] | None = None
    error: BackendError | None = None
    note: str = ""
    last: bool = False

    @property
    def host_is_lost(self) -> bool:
        """Whether the host answers nothing any more."""
        return isinstance(self.error, BackendConnectionError)

    def troubles(self, before: int) -> int:
        """How many troubles in a row the host has had with this one, of which ``before`` before it.

        That it has no such model, or the model cannot do it, says nothing against the host.
        """
        if self.record is not None:
            return 0
        told = self.error is None or isinstance(self.error, CapabilityError | ModelNotFoundError)
        return before if told else before + 1


Outcomes = Callable[["Work", Mapping[str, ModelInfo]], Iterator[Outcome]]
"""Takes units from the work until there are none, and tells what became of each."""


@dataclass(slots=True)
class Work:
    """The units that are left, and what is known not to work; shared by all hosts.

    Attributes:
        left: units that nobody has tried, or that a lost host gave back.
        again: units that failed once, each with the host that it failed at.
        serving: the hosts that still take units.
    """

    left: deque[Unit]
    again: deque[tuple[Unit, str]] = field(default_factory=deque)
    serving: set[str] = field(default_factory=set)
    left_out: list[Unit] = field(default_factory=list)
    closed: set[tuple[str, str]] = field(default_factory=set)
    errors: list[BackendError] = field(default_factory=list)
    _tries: Counter[Unit] = field(default_factory=Counter)
    _out: int = 0
    _stopped: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, url: str, *, wait: bool = False) -> Unit | None:
        """The next unit for a host; ``None`` if there is none.

        With ``wait`` that is said only when no other host can give one back any more.
        """
        with self._changed:
            while (unit := self._next(url)) is None:
                others = self.again and self.serving > {url}
                if not wait or self._stopped or not (self._out or others):
                    return None
                self._changed.wait()
            self._out += 1
            return unit

    def _next(self, url: str) -> Unit | None:
        while not self._stopped:
            if self.left:
                unit = self.left.popleft()
            elif (found := self._another_try(url)) is not None:
                unit = found
            else:
                break
            if not self.closes(unit):
                return unit
            self.left_out.append(unit)
        return None

    def _another_try(self, url: str) -> Unit | None:
        """A unit that failed, but not at this host if there are others."""
        for place, (unit, failed_at) in enumerate(self.again):
            if failed_at != url or not self.serving > {url}:
                del self.again[place]
                return unit
        return None

    def closes(self, unit: Unit) -> bool:
        """Whether it is known that the unit cannot be run."""
        return (unit.model, "") in self.closed or (unit.model, unit.way.name) in self.closed

    def give_back(self, unit: Unit) -> None:
        """Have a unit taken again."""
        with self._changed:
            self.left.appendleft(unit)

    def put_off(self, unit: Unit, url: str) -> bool:
        """Have a unit that failed at a host taken again at the end, unless it has had its tries."""
        with self._changed:
            self._tries[unit] += 1
            if self._tries[unit] >= MAX_TRIES:
                return False
            self.again.append((unit, url))
            return True

    def settled(self) -> None:
        """What became of a unit that was taken has been dealt with."""
        with self._changed:
            self._out -= 1
            self._changed.notify_all()

    def leave(self, url: str) -> None:
        """A host of ``serving`` takes no more units."""
        with self._changed:
            self.serving.discard(url)
            self._changed.notify_all()

    def stop(self) -> None:
        """Let nobody have another unit."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


def units_of(
    models: Iterable[str],
    ways: Sequence[Way],
    cases: Sequence[Case],
    *,
    repeats: int = 1,
    sampling: Sampling,
) -> Iterator[Unit]:
    """All units, the cases in blocks and the ways in turn within a block.

    Cases that need another window stand together: a server reloads a model for it.
    """
    blocks = list(_blocks(cases))
    for model in models:
        for repeat in range(repeats):
            for block in blocks:
                for way in ways:
                    for case in block:
                        yield Unit(
                            model=model, way=way, case=case, repeat=repeat, sampling=sampling
                        )


def _blocks(cases: Sequence[Case]) -> Iterator[list[Case]]:
    for window in sorted({case.num_ctx or 0 for case in cases}):
        same = [case for case in cases if (case.num_ctx or 0) == window]
        number = max(1, len(same) // BLOCK)
        for index in range(number):  # of nearly equal size, none smaller than it has to be
            yield same[index * len(same) // number : (index + 1) * len(same) // number]


def missing(units: Iterable[Unit], infos: Mapping[str, ModelInfo], store: Store) -> list[Unit]:
    """The units that the store has no record of."""
    return [unit for unit in units if key_of(unit, infos[unit.model]) not in store.keys]


def run_missing(
    units: Iterable[Unit],
    infos: Mapping[str, ModelInfo],
    hosts: Sequence[Host],
    store: Store,
    watch: Watcher,
    *,
    outcomes: Outcomes | None = None,
) -> Summary:
    """Run units and keep their records.

    Args:
        units: without those that the store has.
        infos: what the hosts say about each model.
        hosts: where to run; one that is lost leaves its units to the others.
        store: where the records go.
        watch: who is told.
        outcomes: who runs the units in place of the hosts.

    Raises:
        StoreError: a record could not be kept.
        KeyboardInterrupt: the user has had enough; whatever is finished is kept.
    """
    work = Work(deque(units))
    summary = Summary()
    try:
        ran = _outcomes(work, infos, hosts) if outcomes is None else outcomes(work, infos)
        for outcome in ran:
            if outcome.note:
                watch.said(outcome.note)
            if outcome.record is not None:
                store.add(outcome.record)
                summary.done += 1
                watch.done(outcome.unit, outcome.record)
            elif outcome.error is not None:
                summary.failed += _trouble(outcome, outcome.error, work, watch)
            work.settled()
    finally:
        work.stop()
    summary.skipped = len(work.left_out)
    for unit in work.left_out:
        watch.skipped(unit)
    summary.failed += len(work.left) + len(work.again)
    for error in work.errors:  # what did no harm in the end is no error
        if summary.failed or isinstance(error, ModelNotFoundError | CapabilityError):
            summary.error = error
            break
    return summary


def _trouble(outcome: Outcome, error: BackendError, work: Work, watch: Watcher) -> bool:
    """Decide what else a failure rules out; whether the unit has failed for good."""
    unit = outcome.unit
    if isinstance(error, CapabilityError) and error.missing != "completion":
        work.closed.add((unit.model, unit.way.name))
        work.left_out.append(unit)
        watch.said(f"{unit.model} cannot be asked by way of {unit.way.name}: {error}")
        return False
    work.errors.append(error)
    if isinstance(error, ModelNotFoundError | CapabilityError):
        work.closed.add((unit.model, ""))
        work.left_out.append(unit)
        watch.said(f"{unit.model} is left out from here on: {error}")
        return False
    if outcome.host_is_lost:
        work.give_back(unit)
        watch.said(f"{without_login(outcome.url)} is lost: {error}")
        return False
    again = not outcome.last and work.put_off(unit, outcome.url)
    what = "failed and is put off" if again else "failed"
    watch.said(f"{unit.case.id} by way of {unit.way.name} {what}: {error}")
    return not again


def _outcomes(
    work: Work, infos: Mapping[str, ModelInfo], hosts: Sequence[Host]
) -> Iterator[Outcome]:
    work.serving |= {host.url for host in hosts}
    if len(hosts) == 1:  # in this thread, where an interrupt ends a reply at once
        yield from _served(hosts[0], work, infos)
        return
    heard: queue.SimpleQueue[Outcome | BaseException | None] = queue.SimpleQueue()

    def serve(host: Host) -> None:
        try:
            for outcome in _served(host, work, infos):
                heard.put(outcome)
        except BaseException as error:  # noqa: BLE001  # raised again in the thread that waits
            heard.put(error)
        work.leave(host.url)
        heard.put(None)

    for host in hosts:
        threading.Thread(target=serve, args=(host,), daemon=True).start()
    serving = len(hosts)
    while serving:
        said = heard.get()
        if isinstance(said, BaseException):
            raise said
        if said is None:
            serving -= 1
        else:
            yield said


def _served(host: Host, work: Work, infos: Mapping[str, ModelInfo]) -> Iterator[Outcome]:
    """What one host makes of the units, until none are left or the host is lost."""
    troubles = 0
    while troubles < MAX_TROUBLE and (unit := work.take(host.url, wait=True)) is not None:
        try:
            record = run_unit(unit, host.backend(unit), infos[unit.model])
        except BackendError as error:
            outcome = Outcome(host.url, unit, error=error)
        else:
            outcome = Outcome(host.url, unit, record=record)
        yield outcome
        if outcome.host_is_lost:
            return
        troubles = outcome.troubles(troubles)
