"""The servers that are compared, each a process of its own: the scripted upstream and adapters."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.peers.environments import Environment, prepared

LITELLM = Environment(name="litellm", packages=("litellm[proxy]==1.108.7",))
CALL = '{"name": "add", "arguments": {"a": 1, "b": 2}}'
PIECES = 400
VOICES = 25
"""Models of the many streams; each says a word of its own."""


class NotStarted(Exception):
    """A server did not come up; the message is the reason, in one line."""


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    pid: int

    def resident(self) -> int:
        """Resident memory in bytes (Linux)."""
        pages = Path(f"/proc/{self.pid}/statm").read_text("ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


def script() -> dict[str, object]:
    """What the models say. ``call`` writes the one form that every adapter reads."""
    voices = {f"v{i}": {"replies": [voice(i)], "chunk": 8, "pause": 0.02} for i in range(VOICES)}
    return {
        "text": {"replies": ["Paris is the capital of France."]},
        "call": {"replies": [CALL], "chunk": 64},
        "long": {"replies": ["Paris is " * PIECES], "chunk": 9},
        **voices,
    }


def voice(number: int) -> str:
    return f"word{number:03d} " * 40


@contextlib.contextmanager
def upstream(folder: Path) -> Iterator[Server]:
    path = folder / "script.json"
    path.write_text(json.dumps(script()), encoding="utf-8")
    command = [sys.executable, "-m", "fallback.testing.scripted_server", str(path), "--port"]
    with _running(command, folder, ready="/api/version") as server:
        yield server


@contextlib.contextmanager
def fallback(folder: Path, behind: Server) -> Iterator[Server]:
    command = [sys.executable, "-m", "fallback", "serve", "--upstream", behind.url]
    command += ["--log-level", "warning", "--port"]
    with _running(command, folder, ready="/healthz") as server:
        yield server


@contextlib.contextmanager
def litellm(folder: Path, behind: Server, cache: Path) -> Iterator[Server]:
    """LiteLLM's proxy, whose provider ``ollama`` asks models without tools in a prompt.

    Raises:
        Unavailable: it cannot be installed here.
        NotStarted: it does not come up.
    """
    made = prepared(LITELLM, cache)
    config = folder / "litellm.yaml"
    told = {"model": "ollama/call", "api_base": behind.url}
    config.write_text(json.dumps({"model_list": [{"model_name": "call", "litellm_params": told}]}))
    command = [str(made / "bin/litellm"), "--config", str(config), "--host", "127.0.0.1"]
    with _running([*command, "--port"], folder, ready="/health/liveliness") as server:
        yield server


@contextlib.contextmanager
def _running(command: Sequence[str], folder: Path, *, ready: str) -> Iterator[Server]:
    """A server on a free port; the port is the last argument of its command."""
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    environ = {k: v for k, v in os.environ.items() if not k.startswith("FALLBACK_")}
    environ["HOME"] = str(folder)
    if command[0] == sys.executable:  # the environments of others hold what they need
        environ["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    else:
        environ.pop("PYTHONPATH", None)
        # Without a key LiteLLM starts only if told so; it listens on this machine alone.
        environ["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"
    with (
        (folder / "log").open("ab") as log,
        subprocess.Popen(
            [*command, str(port)], stdout=log, stderr=log, env=environ, cwd=folder
        ) as process,
    ):
        try:
            _wait(f"http://127.0.0.1:{port}{ready}", process)
            yield Server(f"http://127.0.0.1:{port}", process.pid)
        finally:
            process.terminate()


def _wait(url: str, process: subprocess.Popen[bytes], seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(url, trust_env=False).status_code == 200:
                return
        time.sleep(0.2)
    raise NotStarted(f"no answer from {url}; it ended with {process.poll()}")
