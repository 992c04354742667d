from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from serving_child import serving_child

pytest.importorskip("xllamacpp")
pytest.importorskip("uvicorn")


@pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise on Windows")
def test_the_engine_serves_at_the_address_it_prints_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "fallback", "engine", "serve", "--port", "0"]
    with serving_child(command, stderr=subprocess.PIPE) as (url, process):
        assert httpx.get(f"{url}/", trust_env=False).text == "Ollama is running"
        assert httpx.get(f"{url}/api/version", trust_env=False).json()["version"]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors.splitlines()[-1] == "fallback: stopped"
    assert "Traceback" not in errors


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "fallback", "engine", "serve", "--port", port],
            capture_output=True,
            text=True,
        )
    assert done.returncode == 8
    assert done.stdout == ""
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert done.stderr.count("\n") == 1
