"""Ledgers for tests, in SQLite and in PostgreSQL, and the clock that they go by.

The PostgreSQL server is the tests' own: in a temporary folder, behind a socket, without a port.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from fallback.ledger import Ledger

SWITCH = "FALLBACK_NO_POSTGRES"
"""Set to 1 where there is no server and none can be installed; its tests are then skipped."""

_OPTIONS = (
    "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    " -c shared_buffers=16MB -c max_connections=60"
)


def programs() -> Path | None:
    """The folder with ``initdb`` and ``pg_ctl``; Debian keeps them off the PATH."""
    found = shutil.which("initdb")
    # A name on the PATH may be a shim without a program behind it.
    if found and subprocess.run([found, "--version"], capture_output=True).returncode == 0:
        return Path(found).parent
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in versions), default=None, key=lambda p: int(p.parent.name))


class Server:
    """A cluster, from ``initdb`` to its end."""

    def __init__(self, bin_folder: Path) -> None:
        self._bin = bin_folder
        # A socket's path has at most 107 bytes, so not in pytest's own, long-named folder.
        self.folder = Path(tempfile.mkdtemp(prefix="fb-pg-", dir="/tmp"))
        self._user: str | None = None
        self._group: int | None = None
        if os.geteuid() == 0:  # the server refuses to run as root
            import pwd  # only where there is a root

            known = {entry.pw_name for entry in pwd.getpwall()}
            self._user = "postgres" if "postgres" in known else "nobody"
            self._group = pwd.getpwnam(self._user).pw_gid
            shutil.chown(self.folder, self._user)
        self._data = self.folder / "data"

    def start(self) -> None:
        self._run("initdb", "--no-sync", "--no-locale", "-E", "UTF8", "-A", "trust", "-U", "test")
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", self._options(), "start")

    def _options(self) -> str:
        return f"{_OPTIONS} -c unix_socket_directories='{self.folder}'"

    def restart(self) -> None:
        """End every connection, and come back."""
        self._run("pg_ctl", "-w", "-m", "fast", "stop")
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", self._options(), "start")

    def url(self, schema: str) -> str:
        options = quote(f"-csearch_path={schema}")
        return f"postgresql://test@/postgres?host={self.folder}&options={options}"

    def stop(self) -> None:
        self._run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        report = self.folder / "report"
        with report.open("ab") as out:  # the server keeps it open: a pipe would never end
            done = subprocess.run(
                [str(self._bin / program), "-D", str(self._data), *arguments],
                cwd=self.folder,
                user=self._user,
                group=self._group,
                extra_groups=None if self._user is None else [],
                env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        assert done.returncode == 0, report.read_text(encoding="utf-8", errors="replace")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    if os.environ.get(SWITCH) == "1":
        pytest.skip(f"{SWITCH} is set")
    found = programs()
    if found is None:
        pytest.fail(f"no PostgreSQL server: run scripts/postgres, or set {SWITCH}=1 to skip")
    server = Server(found)
    try:
        server.start()
        yield server
    finally:
        server.stop()


_numbers = itertools.count()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty ledger, once in each kind of database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.sqlite"
    return new_schema(request.getfixturevalue("postgres_server"))


def new_schema(server: Server) -> str:
    import psycopg

    name = f"t{next(_numbers)}"
    with psycopg.connect(host=str(server.folder), user="test", dbname="postgres") as connection:
        connection.execute(f"CREATE SCHEMA {name}")  # type: ignore[arg-type]  # a name of ours
    return server.url(name)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(ledger_url: str, clock: Clock) -> Iterator[Ledger]:
    """A ledger that goes by the test's clock, once in each kind of database."""
    with Ledger.open(ledger_url, clock=clock) as opened:
        yield opened
