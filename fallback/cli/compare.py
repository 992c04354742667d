"""``fallback compare`` and ``fallback report``: run what is missing, keep it, and show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fallback.cli.command_line import repeated, sampling_options, started_with
from fallback.cli.exits import ExitCode, exit_code_of
from fallback.cli.output import complain
from fallback.cli.progress import say, watching

if TYPE_CHECKING:
    from fallback.backend import ModelInfo
    from fallback.compare.hosts import Host
    from fallback.compare.running import Outcomes, Summary
    from fallback.compare.units import Sampling

__all__ = ["CompareOptions", "compare", "report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Where the Ray cluster is (``None``: on this machine), and what a host does at a time."""

    address: str | None = None
    concurrency: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """The command line, read."""

    models: tuple[str, ...]
    hosts: tuple[str, ...]
    ways: tuple[str, ...]
    suites: tuple[str, ...]
    limit: int | None
    repeats: int
    sampling: Sampling
    out: Path
    with_report: bool
    cluster: ClusterOptions | None = None


def compare(options: CompareOptions) -> int:
    """Run all units that ``options.out`` does not hold yet.

    Returns:
        The exit code: 0 if everything that can be run has been.
    """
    from fallback.compare.carrying import carry_over
    from fallback.compare.running import missing, run_missing, units_of
    from fallback.compare.store import open_store
    from fallback.compare.suites import cases_of
    from fallback.ways import ways_of

    ways = ways_of(options.ways)
    cases = cases_of(options.suites, limit=options.limit, seed=options.sampling.seed)
    with open_store(options.out) as store, _where(options) as where:
        models = _each_once(options.models) or (_default_model(where.urls[0]),)
        infos = where.describe(models)
        sampling = options.sampling
        units = list(units_of(models, ways, cases, repeats=options.repeats, sampling=sampling))
        store.add_cases(cases)
        carry_over(units, infos, store)
        left = missing(units, infos, store)
        store.add_run(_run_of(options, models, where.urls))
        known = len(units) - len(left)
        say(f"{len(units)} units, {known} of them finished before; results in {options.out}")
        try:
            with watching(len(units), known) as watch:
                summary = run_missing(
                    left, infos, where.hosts, store, watch, outcomes=where.outcomes
                )
        except KeyboardInterrupt:
            say(f"stopped; {len(store)} results are kept. The same command goes on from here.")
            raise
        kept = len(store)
    return _end(summary, len(left), options, kept=kept)


@dataclass(frozen=True, slots=True)
class _Where:
    """Who runs the units: hosts that this process asks, or a cluster that asks its own."""

    urls: Sequence[str]
    describe: Callable[[Iterable[str]], dict[str, ModelInfo]]
    hosts: Sequence[Host] = ()
    outcomes: Outcomes | None = None


@contextmanager
def _where(options: CompareOptions) -> Iterator[_Where]:
    if options.cluster is not None:
        from fallback.compare.cluster import cluster_of

        given = options.cluster
        with cluster_of(
            options.hosts, address=given.address, concurrency=given.concurrency
        ) as cluster:
            yield _Where(cluster.urls, cluster.describe, outcomes=cluster.outcomes)
        return
    from fallback.compare.hosts import describe, hosts_of

    with hosts_of(options.hosts) as hosts:
        urls = [host.url for host in hosts]
        yield _Where(urls, partial(describe, hosts), hosts)


def _each_once(models: Iterable[str]) -> tuple[str, ...]:
    """The models in their order, none twice; ``m:latest`` is another name of ``m``."""
    found: dict[str, str] = {}
    for model in models:
        found.setdefault(model.removesuffix(":latest"), model)
    return tuple(found.values())


def _default_model(url: str) -> str:
    from fallback.errors import ConfigurationError
    from fallback.hosts import EMBEDDED, without_login

    if url != EMBEDDED:
        raise ConfigurationError(f"name a model of {without_login(url)} with --model")
    from fallback.engine.models import DEFAULT_MODEL

    return DEFAULT_MODEL


def _run_of(options: CompareOptions, models: Sequence[str], urls: Sequence[str]) -> dict[str, str]:
    words = [
        "compare",
        *repeated("--model", models),
        *repeated("--way", options.ways),
        *repeated("--suite", options.suites),
        *repeated("--limit", [options.limit]),
        *repeated("--executor", ["ray" if options.cluster else None]),
        *repeated("--repeat", [options.repeats if options.repeats > 1 else None]),
        *sampling_options(options.sampling),
    ]
    return started_with(words, urls)


def _end(summary: Summary, wanted: int, options: CompareOptions, *, kept: int) -> int:
    """Say how the run ended; the first error decides the exit code, whatever the report does."""
    from fallback.errors import FallbackError

    skipped = f", {summary.skipped} not possible" if summary.skipped else ""
    say(f"{summary.done} of {wanted} finished now{skipped}")
    code: int = ExitCode.OK
    if summary.failed:
        say(f"{summary.failed} are left; the same command goes on from here")
    if summary.error is not None:
        complain(summary.error)
        code = exit_code_of(summary.error)
    if options.with_report and kept:
        try:
            report(options.out)
        except FallbackError as error:
            if code == ExitCode.OK:
                raise
            complain(error)
    return code


def report(folder: Path) -> int:
    """Write the report of a folder of results; returns the exit code."""
    from fallback.compare.report import write_report

    written = write_report(folder)
    for path in written.paths:
        say(f"wrote {path}")
    for note in written.notes:
        say(note)
    return ExitCode.OK
