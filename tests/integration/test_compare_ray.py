"""A comparison on a Ray cluster of this machine: real workers, one of which is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from compare_kit import Watch, case_of, plain_cases, written
from compare_server import Server

from fallback.compare.hosts import describe, hosts_of
from fallback.compare.running import Outcomes, missing, run_missing, units_of
from fallback.compare.store import open_store, read_records, read_runs
from fallback.compare.units import Sampling, Unit
from fallback.errors import BackendConnectionError, ConfigurationError, ModelNotFoundError
from fallback.ways import ways_of

# Ray's own code warns on import and leaves sockets to the garbage collector.
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

CASES = [case_of(id=f"c{number}", question=f"Question {number}?") for number in range(12)]
WAYS = ways_of(["prompt:fenced", "prompt:pythonic"])


def of_the_question(prompt: str) -> str:
    """A model whose answer depends on what it is asked, and on nothing else."""
    return f'get_weather(city="{"Oslo" if len(prompt) % 2 else "Rome"}")'


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray = pytest.importorskip("ray")
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        ray.init(
            address="local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
        )
        yield ray
        ray.shutdown()


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    made = [Server(of_the_question), Server(of_the_question)]
    yield made
    for server in made:
        server.close()


class Killing(Watch):
    """Kills a worker once some results are in."""

    def __init__(self, pid: int, after: int) -> None:
        super().__init__()
        self._pid, self._after = pid, after

    def done(self, unit: Unit, record: Mapping[str, Any]) -> None:
        super().done(unit, record)
        if len(self.finished) == self._after:
            os.kill(self._pid, signal.SIGKILL)


def compared(
    folder: Path, infos: Any, watch: Watch, *, hosts: Any = (), outcomes: Outcomes | None = None
) -> Any:
    with open_store(folder) as store:
        units = units_of(["m"], WAYS, CASES, sampling=Sampling())
        left = missing(units, infos, store)
        store.add_cases(CASES)
        return run_missing(left, infos, hosts, store, watch, outcomes=outcomes)


def timeless(folder: Path) -> list[dict[str, Any]]:
    """The records without what a clock decides, in the order of their keys."""
    found = []
    for record in read_records(folder):
        steps = [step | {"usage": None} for step in record["steps"]]
        found.append(record | {"steps": steps, "at": ""})
    return sorted(found, key=lambda record: str(record["key"]))


def test_a_killed_worker_costs_nothing_and_the_results_are_those_of_this_process(
    tmp_path: Path, cluster: Any, servers: list[Server]
) -> None:
    from fallback.compare.cluster import cluster_of

    urls = [server.url for server in servers]
    with cluster_of(urls) as workers:
        first, second = workers.pids()
        assert first != second
        watch = Killing(first, after=5)
        infos = workers.describe(["m"])
        summary = compared(tmp_path / "ray", infos, watch, outcomes=workers.outcomes)
        assert first not in workers.pids()
    assert (summary.done, summary.failed, summary.skipped, summary.error) == (24, 0, 0, None)
    assert [line for line in watch.lines if "was lost" in line] == watch.lines != []
    assert all(server.generations for server in servers)
    with hosts_of(urls[:1]) as hosts:
        compared(tmp_path / "local", describe(hosts, ["m"]), Watch(), hosts=hosts)
    assert timeless(tmp_path / "ray") == timeless(tmp_path / "local")


def test_a_host_that_is_lost_leaves_its_units_to_the_other_and_a_run_goes_on_anywhere(
    tmp_path: Path, cluster: Any, servers: list[Server]
) -> None:
    from fallback.compare.cluster import cluster_of

    with cluster_of([server.url for server in servers], concurrency=2) as workers:
        infos = workers.describe(["m"])
        with pytest.raises(ModelNotFoundError):
            workers.describe(["other"])
        servers[0].dies_after = 2
        watch = Watch()
        summary = compared(tmp_path, infos, watch, outcomes=workers.outcomes)
    assert summary.done + summary.failed == 24
    assert watch.lines
    with hosts_of([servers[1].url]) as hosts:
        rest = compared(tmp_path, infos, Watch(), hosts=hosts)
    assert rest.done == summary.failed
    assert len(list(read_records(tmp_path))) == 24


def test_what_cannot_be_done_is_said(cluster: Any, servers: list[Server]) -> None:
    from fallback.compare.cluster import cluster_of

    with pytest.raises(ConfigurationError, match="with --host"), cluster_of([]):
        pass
    with (
        cluster_of(["http://127.0.0.1:9"]) as workers,
        pytest.raises(BackendConnectionError, match=r"127\.0\.0\.1:9"),
    ):
        workers.describe(["m"])
    servers[1].digest = "d2"
    with (
        cluster_of([server.url for server in servers]) as workers,
        pytest.raises(ConfigurationError, match="not the same model"),
    ):
        workers.describe(["m"])


def command(folder: Path, executor: str, servers: list[Server]) -> None:
    """Run two cases of ``folder`` in two ways by the command itself, into a folder beside them."""
    hosts = [word for server in servers for word in ("--host", server.url)]
    ways = ["--way", "prompt:fenced", "--way", "prompt:pythonic"]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "fallback", "compare", "--executor", executor, "--model", "m"),
            *(*hosts, *ways, "--suite", str(folder / "two.jsonl"), "--no-report"),
            *("--out", str(folder / executor)),
        ],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "4 of 4 finished now" in done.stderr


def test_the_command_has_the_same_results_from_a_cluster_as_by_itself(
    tmp_path: Path, servers: list[Server]
) -> None:
    pytest.importorskip("ray")
    written(tmp_path / "two.jsonl", *plain_cases(2))
    for executor in ("ray", "local"):
        command(tmp_path, executor, servers)
    assert sum(server.generations for server in servers) == 8
    assert timeless(tmp_path / "ray") == timeless(tmp_path / "local") != []
    (run,) = read_runs(tmp_path / "ray")
    assert " --executor ray " in run["command"]
