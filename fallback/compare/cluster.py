"""Units on a Ray cluster: workers beside the hosts, one driver that keeps what comes back.

A worker is a Ray actor that is bound to one host and does one unit at a time; a host has as many as
it may do units side by side. Units and records travel, and nothing else: the driver alone writes to
the store, so a run is resumed in the same way wherever it goes on, and
:func:`~fallback.compare.units.run_unit` is the same function here and there. A worker that is lost
with its process or its machine is replaced, and its unit is done again; a unit that has cost three
workers is put off.

Workers import this package from their own installation. What they send back carries the key of its
unit, so one that has another version of it is found out with its first record.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from fallback import errors
from fallback.backend import ModelInfo
from fallback.compare.hosts import Host, hosts_of, same_everywhere
from fallback.compare.running import MAX_TROUBLE, Outcome, Work
from fallback.compare.units import Unit, key_of, run_unit
from fallback.errors import (
    BackendConnectionError,
    BackendError,
    BackendStatusError,
    CapabilityError,
    ConfigurationError,
    ModelNotFoundError,
)
from fallback.hosts import EMBEDDED, resolve_host, without_login

__all__ = ["Cluster", "Worker", "cluster_of"]

_TRIES = 3
"""Workers that one unit may cost."""

_WAIT_SECONDS = 1.0
"""How long to wait for a record before an interrupt is listened for."""

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Nothing is reported to anybody, and the graphics cards of a machine are left as they are."""


class Worker:
    """What runs in a worker's process. It connects to its host when it is first asked."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened = ExitStack()
        self._host: Host | None = None

    def pid(self) -> int:
        """Its process."""
        return os.getpid()

    def describe(self, model: str) -> tuple[ModelInfo | None, dict[str, Any] | None]:
        """What the host says of a model, or what went wrong."""
        try:
            info = self._connected().backends["generate"].describe(model)
        except BackendError as error:
            return None, _told(error)
        return replace(info, details=dict(info.details)), None

    def run(
        self, unit: Unit, info: ModelInfo
    ) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """The record of a unit, or what went wrong; errors of ours do not travel well."""
        try:
            return run_unit(unit, self._connected().backend(unit), info), None
        except BackendError as error:
            return None, _told(error)

    def _connected(self) -> Host:
        if self._host is None:
            (self._host,) = self._opened.enter_context(hosts_of([self._url]))
        return self._host


def _told(error: BackendError) -> dict[str, Any]:
    told = {"kind": type(error).__name__, "message": str(error)}
    more = {name: getattr(error, name, None) for name in ("status", "missing")}
    return told | {name: value for name, value in more.items() if value is not None}


def _error(told: Mapping[str, Any]) -> BackendError:
    """The error that a worker told of."""
    message, status = str(told["message"]), int(told.get("status", 500))
    kind = getattr(errors, str(told["kind"]), BackendError)
    if issubclass(kind, CapabilityError):
        return CapabilityError(message, status=status, missing=str(told.get("missing", "")))
    if issubclass(kind, ModelNotFoundError):
        return ModelNotFoundError(message, status=status)
    if issubclass(kind, BackendStatusError):
        return BackendStatusError(message, status=status)
    return kind(message) if issubclass(kind, BackendError) else BackendError(message)


@dataclass(slots=True, eq=False)
class _Seat:
    """The place of one worker; who sits there may change."""

    url: str
    actor: Any
    troubles: int = 0

    @property
    def where(self) -> str:
        return without_login(self.url)


class Cluster:
    """The workers of a run; see :func:`cluster_of`."""

    def __init__(self, ray: Any, urls: Sequence[str], concurrency: int) -> None:
        self._ray, self.urls = ray, tuple(urls)
        self._seats = [
            _Seat(url, self._hired(url)) for url in self.urls for _ in range(concurrency)
        ]

    def pids(self) -> list[int]:
        """The processes of the workers, in the order of their hosts; starts those that have not."""
        found: list[int] = self._ray.get([seat.actor.pid.remote() for seat in self._seats])
        return found

    def describe(self, models: Iterable[str]) -> dict[str, ModelInfo]:
        """What the hosts say about the models; asked by the workers, which can reach them.

        Raises:
            ConfigurationError: a model is not the same everywhere.
            BackendError: a host is not there, does not have a model, or no worker starts.
        """
        by_host = {seat.url: seat for seat in reversed(self._seats)}

        def ask(url: str, model: str) -> ModelInfo:
            try:
                info, told = self._ray.get(by_host[url].actor.describe.remote(model))
            except self._ray.exceptions.RayActorError as error:
                where = without_login(url)
                raise BackendConnectionError(f"no worker starts for {where}: {error}") from error
            if info is None:
                raise _error(told)
            found: ModelInfo = info
            return found

        return same_everywhere(self.urls, models, ask)

    def outcomes(self, work: Work, infos: Mapping[str, ModelInfo]) -> Iterator[Outcome]:
        """What the workers make of the units, until none are left or all hosts are lost."""
        idle = list(self._seats)
        pending: dict[Any, tuple[_Seat, Unit]] = {}
        tries: dict[Unit, int] = {}
        work.serving |= set(self.urls)
        while True:
            for seat in tuple(idle):
                if (unit := work.take(seat.url)) is None:
                    continue
                idle.remove(seat)
                ref = seat.actor.run.remote(unit, infos[unit.model])
                pending[ref] = (seat, unit)
            if not pending:
                return
            done, _ = self._ray.wait(list(pending), num_returns=1, timeout=_WAIT_SECONDS)
            for ref in done:
                seat, unit = pending.pop(ref)
                outcome = self._outcome(ref, seat, unit, infos[unit.model])
                if outcome is None:
                    tries[unit] = tries.get(unit, 0) + 1
                    outcome = self._again(seat, unit, work, tries[unit])
                yield outcome
                if self._goes_on(seat, outcome):
                    idle.append(seat)
                else:  # a lost host takes all its workers along
                    idle = [other for other in idle if other.url != seat.url]
                    self._seats = [other for other in self._seats if other.url != seat.url]
                    work.leave(seat.url)

    def _outcome(self, ref: Any, seat: _Seat, unit: Unit, info: ModelInfo) -> Outcome | None:
        """What came back; ``None`` if the worker is lost."""
        try:
            record, told = self._ray.get(ref)
        except self._ray.exceptions.RayActorError:
            return None
        if record is None:
            return Outcome(seat.url, unit, error=_error(told))
        if record["key"] != key_of(unit, info):
            raise ConfigurationError(
                f"the worker for {seat.where} has another version of this package or of its"
                " templates: install the same everywhere"
            )
        return Outcome(seat.url, unit, record=record)

    def _again(self, seat: _Seat, unit: Unit, work: Work, tries: int) -> Outcome:
        seat.actor = self._hired(seat.url)
        if tries >= _TRIES:
            error = BackendError(f"{tries} workers were lost over it")
            return Outcome(seat.url, unit, error=error, last=True)
        work.give_back(unit)
        note = f"a worker for {seat.where} was lost; {unit.case.id} is done again"
        return Outcome(seat.url, unit, note=note)

    def _goes_on(self, seat: _Seat, outcome: Outcome) -> bool:
        """Whether the seat may have another unit."""
        if seat not in self._seats or outcome.host_is_lost:
            return False
        seat.troubles = outcome.troubles(seat.troubles)
        return seat.troubles < MAX_TROUBLE

    def _hired(self, url: str) -> Any:
        """A new worker. One that only waits for a server needs no processor for itself."""
        cpus = 1 if url == EMBEDDED else 0
        made = self._ray.remote(num_cpus=cpus, max_restarts=0, scheduling_strategy="SPREAD")
        return made(Worker).remote(url)

    def close(self) -> None:
        """Let the workers go."""
        for seat in self._seats:
            self._ray.kill(seat.actor)


@contextmanager
def cluster_of(
    urls: Sequence[str], *, address: str | None = None, concurrency: int = 1
) -> Iterator[Cluster]:
    """Connect to a cluster and hire its workers.

    Args:
        urls: hosts, as the machines of the cluster reach them; ``embedded`` is an engine in the
            worker itself.
        address: of the cluster, as Ray has it; ``None`` for one on this machine, which ends with
            the run.
        concurrency: units that a host does side by side.

    Raises:
        ConfigurationError: Ray is not installed, no host is named, or one is no address.
        BackendConnectionError: the cluster is not there.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise ConfigurationError(
            "Ray is not installed: pip install 'toolcall-fallback[ray]'"
        ) from error
    if not urls:
        raise ConfigurationError("name the hosts as the cluster reaches them with --host")
    resolved = list(dict.fromkeys(resolve_host(url).url for url in urls))
    ours = not ray.is_initialized()
    if ours:
        _join(ray, address, workers=len(resolved) * concurrency)
    try:
        cluster = Cluster(ray, resolved, concurrency)
        try:
            yield cluster
        finally:
            cluster.close()
    finally:
        if ours:
            ray.shutdown()


def _join(ray: Any, address: str | None, *, workers: int) -> None:
    """Connect, or start a cluster on this machine."""
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        settings |= {"address": "local", "num_cpus": workers, "include_dashboard": False}
    else:
        settings["address"] = address
    try:
        ray.init(**settings)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        where = "this machine" if address is None else address
        raise BackendConnectionError(f"no Ray cluster at {where}: {error}") from error
