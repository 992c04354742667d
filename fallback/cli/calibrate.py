"""``fallback calibrate``: find the best way for a model, and write its profile."""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fallback.cli.command_line import repeated, sampling_options, started_with
from fallback.cli.exits import ExitCode
from fallback.cli.output import console, visible
from fallback.cli.progress import say, watching

if TYPE_CHECKING:
    from fallback.backend import ModelInfo
    from fallback.compare.calibrating import Calibration, Probing
    from fallback.compare.hosts import Host
    from fallback.compare.store import Store
    from fallback.compare.units import Sampling
    from fallback.profiles import Profile

__all__ = ["CalibrateOptions", "calibrate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateOptions:
    """The command line, read."""

    model: str
    hosts: tuple[str, ...]
    budget: str
    suites: tuple[str, ...]
    ways: tuple[str, ...]
    limit: int
    sampling: Sampling
    out: Path | None
    results: Path | None


def calibrate(options: CalibrateOptions) -> int:
    """Ask, and write the profile; whatever ends it before its time, results are kept."""
    from fallback.compare.calibrating import Probing, budget_of, probes, way_set
    from fallback.compare.hosts import hosts_of
    from fallback.compare.store import open_store
    from fallback.compare.suites import cases_of

    budget, ways = budget_of(options.budget), way_set(options.ways)
    cases = probes(cases_of(options.suites, limit=options.limit, seed=options.sampling.seed))
    with hosts_of(options.hosts) as hosts:
        probing = Probing(
            model=options.model,
            info=_info(options.model, hosts),
            ways=ways,
            cases=cases,
            hosts=hosts,
            sampling=options.sampling,
            budget=budget,
        )
        folder = options.results or _results(probing)
        with open_store(folder) as store:
            store.add_cases(cases)
            store.add_run(_run_of(options, hosts))
            say(f"up to {len(ways)} ways on {len(cases)} cases; results in {folder}")
            calibration = _asked(probing, store)
        profile = _profile(calibration, probing, hosts)
    _write(profile, options)
    return ExitCode.OK


def _info(model: str, hosts: Sequence[Host]) -> ModelInfo:
    from fallback.compare.hosts import describe
    from fallback.errors import ConfigurationError

    info = describe(hosts, [model])[model]
    if not info.digest:
        raise ConfigurationError(
            f"{hosts[0].where} tells no digest of {model!r}: nobody could say later whether a"
            " profile is still about this model"
        )
    return info


def _results(probing: Probing) -> Path:
    """A folder of the user's own for each model and digest."""
    import platformdirs

    from fallback.profiles.places import file_name

    name = file_name(probing.model, probing.info.digest).removesuffix(".toml")
    return Path(platformdirs.user_data_dir("fallback", appauthor=False)) / "calibrations" / name


def _asked(probing: Probing, store: Store) -> Calibration:
    from fallback.compare.calibrating import calibrate as ask
    from fallback.compare.faults import StoreError
    from fallback.compare.halving import most_turns
    from fallback.errors import BackendError
    from fallback.ways import DECIDE

    before = len(store)
    turns = most_turns(len(probing.ways), len(probing.cases))
    turns += len(probing.cases) if DECIDE in probing.ways else 0  # to judge a margin
    turns = min(turns, probing.budget.turns or turns)
    try:
        with watching(turns, 0) as watch:
            return ask(probing, store, watch, clock=time.monotonic)
    except (KeyboardInterrupt, BackendError, StoreError):
        say(
            f"stopped; {len(store)} results are kept, {len(store) - before} of them new, and no"
            " profile is written. The same command goes on from here."
        )
        raise


def _profile(calibration: Calibration, probing: Probing, hosts: Sequence[Host]) -> Profile:
    from fallback import __version__
    from fallback.compare.hosts import server_version
    from fallback.compare.profiling import profile_of

    return profile_of(
        calibration,
        probing,
        server=server_version(hosts[0]),
        measured=datetime.datetime.now(datetime.UTC).replace(microsecond=0),
        version=str(__version__),
    )


def _write(profile: Profile, options: CalibrateOptions) -> None:
    from fallback.profiles import profile_dir, save
    from fallback.profiles.places import file_name

    path = options.out or profile_dir() / file_name(profile.model, profile.digest)
    save(profile, path)
    out = console()
    for way in profile.evidence.ways:
        interval = f"{way.low:4.0%} to {way.high:4.0%}"
        out.print(visible(f"{way.name:<36} {way.rate:4.0%} of {way.n:>3} ({interval})"))
    out.print(visible(f"{profile.evidence.sentence}."))
    say(f"wrote {path}")
    if options.out is not None:
        say(f"it is used where it is named, such as: fallback run --profile {path}")


def _run_of(options: CalibrateOptions, hosts: Sequence[Host]) -> dict[str, str]:
    words = [
        *("calibrate", options.model, "--budget", options.budget),
        *repeated("--suite", options.suites),
        *repeated("--way", options.ways),
        *repeated("--limit", [options.limit]),
        *sampling_options(options.sampling),
    ]
    return started_with(words, [host.url for host in hosts])
