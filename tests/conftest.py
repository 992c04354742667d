"""What holds for every test: no network beyond this machine, a neutral shell, seeded laws."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from databases import clock, ledger, ledger_url, postgres_server  # noqa: F401  # fixtures
from hypothesis import HealthCheck, settings
from profile_kit import profile_folder  # noqa: F401  # the same

# ``dev`` looks somewhere else each time. ``ci`` is derandomised so that a red build is red again
# when it is run again. ``deep`` is for nights. A busy machine makes single examples slow now and
# then, and that is never the fault of the code: no deadline, and no health check on speed.
_SLOW = [HealthCheck.too_slow]
settings.register_profile("dev", max_examples=100, deadline=None, suppress_health_check=_SLOW)
settings.register_profile(
    "ci", max_examples=100, deadline=None, derandomize=True, suppress_health_check=_SLOW
)
settings.register_profile("deep", max_examples=5000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

# A shell makes what it runs in the background deaf to interrupts, and children inherit that; a
# handler they do not inherit. Tests interrupt the programs they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A developer's own settings must not decide what a test sees. The cache directory stays: it holds
# the model, which is the same for everybody because its hash is checked.
_SHELL_SETTINGS = ("OLLAMA_HOST", "OLLAMA_API_KEY", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")


def _is_loopback(host: str) -> bool:
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


class _Guard:
    """Stands in for the parts of :class:`socket.socket` that reach another machine."""

    def __init__(self) -> None:
        self.connect, self.connect_ex = socket.socket.connect, socket.socket.connect_ex
        self.getaddrinfo = socket.getaddrinfo

    @staticmethod
    def check(sock: socket.socket, address: Any) -> None:
        internet = sock.family in (socket.AF_INET, socket.AF_INET6)
        if internet and not _is_loopback(str(address[0])):
            raise RuntimeError(f"a test tried to reach {address[0]!r}; tests stay on this machine")

    def install(self, patch: pytest.MonkeyPatch) -> None:
        def connect(sock: socket.socket, address: Any) -> None:
            self.check(sock, address)
            return self.connect(sock, address)

        def connect_ex(sock: socket.socket, address: Any) -> int:
            self.check(sock, address)
            return self.connect_ex(sock, address)

        def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
            name = host.decode() if isinstance(host, bytes) else host
            if name is not None and not _is_loopback(name) and not _is_numeric(name):
                # What a machine without a network says; nothing is asked of any name server.
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return self.getaddrinfo(host, *args, **kwargs)

        patch.setattr(socket.socket, "connect", connect)
        patch.setattr(socket.socket, "connect_ex", connect_ex)
        patch.setattr(socket, "getaddrinfo", getaddrinfo)


def _is_numeric(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


@pytest.fixture(scope="session", autouse=True)
def loopback_only() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        _Guard().install(patch)
        yield


@pytest.fixture(autouse=True)
def neutral_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _SHELL_SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FALLBACK_PROFILE_DIR", str(Path(os.devnull) / "profiles"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
