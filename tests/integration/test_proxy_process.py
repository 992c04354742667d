"""``fallback serve`` as the process that it is: start, stop, reload, several of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from proxy_servers import serving

from fallback.testing import scripted_server
from fallback.testing.scripted_server import Model, Reply

KEY = "a-long-enough-key"
BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    models = {
        "m": Model(replies=[Reply(text="Hello there.")]),
        "slow": Model(replies=[Reply(text="Hello there, friend.")], chunk=4, pause=0.1),
    }
    with serving(scripted_server.create_app(models), lifespan="off") as url:
        yield url


class Process:
    """The server."""

    def __init__(self, *arguments: str, folder: Path, **environ: str) -> None:
        command = [sys.executable, "-m", "fallback", "serve", "--port", "0", *arguments]
        own = {k: v for k, v in os.environ.items() if not k.startswith("FALLBACK_")}
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=folder,
                env=own | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)} | environ,
            )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(self.url + path, headers=headers, trust_env=False, timeout=60)

    def post(self, body: Any, **headers: str) -> httpx.Response:
        url = f"{self.url}/v1/chat/completions"
        return httpx.post(url, json=body, headers=headers, trust_env=False, timeout=60)

    def wait_for(self, path: str = "/healthz") -> None:
        """Until it answers: the port is open before the application is there."""
        self.get(path)

    def records(self) -> list[dict[str, Any]]:
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


@contextlib.contextmanager
def running(*arguments: str, folder: Path, **environ: str) -> Iterator[Process]:
    server = Process(*arguments, folder=folder, **environ)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait(timeout=30)
        assert server.process.stdout is not None
        server.process.stdout.close()


def test_it_answers_tells_its_figures_and_logs_no_body(upstream: str, tmp_path: Path) -> None:
    with running("--upstream", upstream, folder=tmp_path) as server:
        assert server.get("/healthz").json() == {"status": "ok"}
        assert server.get("/readyz").status_code == 200
        reply = server.post(BODY | {"user": "hush"}, **{"x-request-id": "mine-1"})
        assert reply.json()["choices"][0]["message"]["content"] == "Hello there."
        assert reply.headers["x-request-id"] == "mine-1"
        figures = server.get("/metrics").text
        assert 'fallback_requests_total{mode="prompt",outcome="stop",wire="chat"} 1.0' in figures
        assert 'fallback_tokens_total{direction="completion"} 20.0' in figures
    (told,) = [record for record in server.records() if record["event"] == "answered"]
    assert told["request"] == "mine-1"
    assert told["outcome"] == "stop"
    assert "Hello" not in json.dumps(told)
    assert server.process.returncode == 0


def test_an_upstream_that_is_gone_is_not_ready(tmp_path: Path) -> None:
    with running("--upstream", "http://127.0.0.1:9", folder=tmp_path) as server:
        assert server.get("/healthz").status_code == 200
        assert server.get("/readyz").status_code == 503
        reply = server.post(BODY)
        assert reply.status_code == 503
        assert reply.headers["retry-after"]


def test_keys_and_settings_are_read_again_on_sighup(upstream: str, tmp_path: Path) -> None:
    keys, settings = tmp_path / "keys.txt", tmp_path / "fallback.toml"
    keys.write_text(f"first: {KEY}\n", encoding="utf-8")
    settings.write_text(
        f'[server]\nupstream = "{upstream}"\napi_keys_file = "{keys.as_posix()}"\n',
        encoding="utf-8",
    )
    with running(folder=tmp_path) as server:
        old, new = ({"authorization": f"Bearer {key}"} for key in (KEY, f"{KEY}-new"))
        assert server.get("/v1/models").status_code == 401
        assert server.get("/v1/models", **old).status_code == 200
        keys.write_text("", encoding="utf-8")  # a mistake changes nothing
        server.process.send_signal(signal.SIGHUP)
        until(server, "not reloaded")
        assert server.get("/v1/models", **old).status_code == 200
        keys.write_text(f"second: {KEY}-new\n", encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        until(server, "reloaded")
        assert server.get("/v1/models", **old).status_code == 401
        assert server.get("/v1/models", **new).status_code == 200


def until(server: Process, event: str, times: int = 1) -> None:
    for _ in range(400):
        server.get("/healthz")  # takes a moment, and is answered after the signal
        if sum(record["event"] == event for record in server.records()) >= times:
            return
    raise AssertionError(f"{event!r} was not logged {times} times")


def test_every_worker_reads_the_keys_again_while_an_answer_is_under_way(
    upstream: str, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text(f"first: {KEY}\nother: {KEY}-other\n", encoding="utf-8")
    arguments = ("--upstream", upstream, "--workers", "2", "--api-keys-file", str(keys))
    with running(*arguments, folder=tmp_path) as server:
        old, other = ({"authorization": f"Bearer {key}"} for key in (KEY, f"{KEY}-other"))
        assert server.get("/v1/models", **old).status_code == 200
        url, body = f"{server.url}/v1/chat/completions", BODY | {"model": "slow", "stream": True}
        asked = {"json": body, "headers": old, "trust_env": False, "timeout": 60}
        with httpx.stream("POST", url, **asked) as response:  # type: ignore[arg-type] # one dict of settings
            lines = response.iter_lines()
            next(lines)
            keys.write_text(f"other: {KEY}-other\n", encoding="utf-8")
            server.process.send_signal(signal.SIGHUP)
            until(server, "reloaded", times=2)
            # Each request is a connection of its own, and may reach either process.
            assert {server.get("/v1/models", **old).status_code for _ in range(8)} == {401}
            assert {server.get("/v1/models", **other).status_code for _ in range(8)} == {200}
            assert "\n".join(lines).strip().endswith("data: [DONE]")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_answers_under_way_end_in_good_order_when_it_is_told_to_stop(
    upstream: str, tmp_path: Path, workers: str
) -> None:
    with running("--upstream", upstream, "--workers", workers, folder=tmp_path) as server:
        server.wait_for()
        url, body = f"{server.url}/v1/chat/completions", BODY | {"model": "slow", "stream": True}
        with httpx.stream("POST", url, json=body, trust_env=False, timeout=20) as response:
            lines = response.iter_lines()
            next(lines)
            server.process.send_signal(signal.SIGTERM)
            rest = "\n".join(lines)
        assert '"finish_reason": "stop"' in rest
        assert rest.strip().endswith("data: [DONE]")
        assert server.process.wait(timeout=30) == 0


def test_several_processes_share_one_port_and_add_up_their_figures(
    upstream: str, tmp_path: Path
) -> None:
    with running("--upstream", upstream, "--workers", "2", folder=tmp_path) as server:
        for _ in range(6):
            assert server.post(BODY).status_code == 200
        figures = server.get("/metrics").text
        assert 'fallback_requests_total{mode="prompt",outcome="stop",wire="chat"} 6.0' in figures


@pytest.mark.parametrize(
    ("arguments", "environ", "told"),
    [
        (["--host", "::"], {}, "--insecure"),
        (["--config", "missing.toml"], {}, "does not exist"),
        (["--api-keys-file", "missing"], {}, "cannot be read"),
        ([], {"FALLBACK_API_KEY": "short"}, "shorter"),
        ([], {"FALLBACK_MODE": "both"}, "FALLBACK_MODE"),
        (["--upstream", "http://["], {}, "http://["),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, arguments: list[str], environ: dict[str, str], told: str
) -> None:
    given = {"FALLBACK_UPSTREAM": "http://127.0.0.1:9"} | environ
    server = Process(*arguments, folder=tmp_path, **given)
    assert server.process.wait(timeout=30) == 2
    assert server.process.stdout is not None
    server.process.stdout.close()
    said = server.log.read_text(encoding="utf-8").strip()
    assert told in said
    assert "Traceback" not in said
    assert said.count("\n") == 0
