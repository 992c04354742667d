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
    """The adapter at ``url``, behind the tap at ``tapped``; what its upstream has been asked."""

    def __init__(self, url: str, upstream: str, tapped: str) -> None:
        self.url, self.tapped, self._upstream = url, tapped, upstream

    def generations(self) -> list[dict[str, Any]]:
        """Bodies of the requests for text since the last ``forget``."""
        wanted = ("/api/chat", "/api/generate")
        bodies = [r["body"] for r in self._seen()["requests"] if r["path"] in wanted]
        asking = [body for body in bodies if body.get("prompt") or body.get("messages")]
        return [body for body in asking if not body.get("_debug_render_only")]

    def _seen(self) -> dict[str, Any]:
        return dict(_get(f"{self._upstream}/_requests").json())

    def open(self) -> int:
        """How many replies the model is writing."""
        return int(self._seen()["open"])

    def asked(self) -> int:
        """How many requests have reached the adapter's own routes since it started."""
        counts = [
            line
            for line in _get(f"{self.url}/metrics").text.splitlines()
            if line.startswith(_COUNTED)
        ]
        return sum(int(float(line.rsplit(" ", 1)[1])) for line in counts)

    def passed(self) -> list[dict[str, Any]]:
        """What has gone through the tap since the last ``forget``."""
        return list(_get(f"{self.tapped}/_tap").json())

    def forget(self, *, odd: bool = False) -> None:
        """Start every script from its beginning; the tap makes requests odd, or does not."""
        httpx.post(f"{self._upstream}/_reset", trust_env=False, timeout=20)
        httpx.post(f"{self.tapped}/_tap", json={"odd": odd}, trust_env=False, timeout=20)

    @contextlib.contextmanager
    def slow_answer(self) -> Iterator[None]:
        """A question of somebody else, without tools, whose answer takes minutes."""
        body = {"model": "slow", "messages": [{"role": "user", "content": "Talk."}], "stream": True}
        url = f"{self.url}/v1/chat/completions"
        with httpx.stream("POST", url, json=body, trust_env=False, timeout=20) as response:
            lines = response.iter_lines()  # kept, because an iterator that is dropped closes it
            next(lines)
            yield


def _get(url: str) -> httpx.Response:
    return httpx.get(url, trust_env=False, timeout=20)


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
        tapped = stack.enter_context(
            _process(["-m", "benchmarks.clients.tap", url], folder / "tap.log")
        )
        yield Pair(url, upstream, tapped)


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
        process.wait(timeout=120)
        assert process.stdout is not None
        process.stdout.close()
