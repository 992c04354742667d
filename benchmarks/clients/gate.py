"""What has to hold before anything lands: a part of the table, beside what the tests run of it.

The plain clients are in the development environment, and tests put the cases to them.
"""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.clients.client import Client
from benchmarks.clients.environments import install
from benchmarks.clients.probe import probe
from benchmarks.clients.registry import CLIENTS
from benchmarks.clients.row import Use, run_row
from benchmarks.clients.scenarios import SCENARIOS

__all__ = ["GATE", "GATE_SCENARIOS", "run_gate"]

GATE: dict[str, tuple[str, ...]] = {
    "langchain": ("ollama stream", "chat", "responses stream", "messages"),
    "ai-sdk": ("compatible stream", "chat", "responses stream", "messages stream"),
    "pydantic-ai": ("chat stream", "messages"),
    "openai-agents": ("chat", "responses stream"),
    "langchain-js": ("stream",),
    "ai-sdk-native": ("ollama-ai-provider-v2 stream", "ai-sdk-ollama"),
}
"""Clients, and the ways of using them that are run: each wire once, whole or streamed."""
GATE_SCENARIOS = frozenset({"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S15", "S16", "S20"})


def run_gate() -> int:
    """Put these cases, two clients at a time; exit code 1 when one fails."""
    mine = [client for client in CLIENTS if client.name in GATE]
    if shutil.which("npm") is None:
        print("left out, because there is no npm here: those of npm")
        mine = [client for client in mine if client.kind != "npm"]
    with ThreadPoolExecutor(2) as pool:
        probed = pool.submit(_probed)
        failed = sum(pool.map(_failures, mine)) + probed.result()
    print(f"{failed} failures")
    return min(failed, 1)


def _probed() -> int:
    with tempfile.TemporaryDirectory(prefix="probe-") as made:
        try:
            passed, told = probe(Path(made))
        except RuntimeError as failure:
            passed, told = False, f"canitoolcall: {failure}"
    print(told)
    return int(not passed)


def _failures(client: Client) -> int:
    try:
        folder = install(client.name, client.kind, client.packages)
    except RuntimeError as failure:
        print(f"{client.name}: cannot be installed: {failure}")
        return 1
    wanted = [scenario for scenario in SCENARIOS if scenario.id in GATE_SCENARIOS]
    failed = 0
    for variant in GATE[client.name]:
        cases = run_row(Use(client, variant, folder), wanted)
        failed += sum(case["verdict"] == "fail" for kept in cases.values() for case in kept)
    return failed
