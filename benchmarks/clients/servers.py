"""The scripted model server and ``fallback serve`` in front of it, each a process of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

__all__ = ["Pair", "running"]

_COUNTED = "fallback_requests_total{"


class Pair:
    """The adapter at ``url``; what its upstream has been asked."""

    def __init__(self, url: str, upstream: str) -> None:
        self.url, self._upstream = url, upstream

    def generations(self) -> list[dict[str, Any]]:
        """Bodies of the requests for text since the last ``forget``, those to load a model not."""
        told = httpx.get(f"{self._upstream}/_requests", trust_env=False, timeout=20).json()
        wanted = ("/api/chat", "/api/generate")
        bodies = [r["body"] for r in told["requests"] if r["path"] in wanted]
        return [body for body in bodies if body.get("prompt") or body.get("messages")]

    def asked(self) -> int:
        """How many requests have reached the adapter's own routes since it started."""
        figures = httpx.get(f"{self.url}/metrics", trust_env=False, timeout=20).text
        counts = [line for line in figures.splitlines() if line.startswith(_COUNTED)]
        return sum(int(float(line.rsplit(" ", 1)[1])) for line in counts)

    def forget(self) -> None:
        """Start every script from its beginning."""
        httpx.post(f"{self._upstream}/_reset", trust_env=False, timeout=20)


@contextlib.contextmanager
def running(script: Mapping[str, Any], folder: Path) -> Iterator[Pair]:
    """Start both; ``folder`` keeps the script and the logs."""
    written = folder / "script.json"
    written.write_text(json.dumps(script), encoding="utf-8")
    with contextlib.ExitStack() as stack:
        scripted = ["-m", "fallback.testing.scripted_server", str(written)]
        upstream = stack.enter_context(_process(scripted, folder / "upstream.log"))
        serve = ["-m", "fallback", "serve", "--port", "0", "--upstream", upstream]
        url = stack.enter_context(_process(serve, folder / "adapter.log"))
        httpx.get(f"{url}/healthz", trust_env=False, timeout=60).raise_for_status()
        yield Pair(url, upstream)


@contextlib.contextmanager
def _process(arguments: list[str], log: Path) -> Iterator[str]:
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=errors, text=True
        )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"a server did not start: {log.read_text(encoding='utf-8')[-500:]}")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)
        assert process.stdout is not None
        process.stdout.close()
