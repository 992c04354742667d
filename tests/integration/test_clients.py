"""The scenarios of `scripts/clients`, with the clients that the development extra installs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.clients import case
from benchmarks.clients.__main__ import PAGE, PROGRAMS, RESULTS, not_run
from benchmarks.clients.case import Program, judge
from benchmarks.clients.environments import own_environ
from benchmarks.clients.registry import CLIENTS
from benchmarks.clients.scenarios import SCENARIOS, Outcome, Scenario, script
from benchmarks.clients.servers import Pair, running
from benchmarks.clients.table import page

VARIANTS = ("ollama stream", "messages")
(PLAIN,) = [client for client in CLIENTS if client.name == "plain"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("servers")
    with running(script(PLAIN.tool), folder) as servers:
        yield servers


@pytest.fixture(scope="module", params=VARIANTS)
def tried(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Program, Pair]]:
    folder = tmp_path_factory.mktemp("client")
    with running(script(PLAIN.tool), folder) as servers:  # new ones, which have learned nothing
        environ = own_environ(folder) | {"ADAPTER_URL": servers.url}
        command = [sys.executable, str(PROGRAMS / PLAIN.program), request.param]
        program = Program(command, environ, folder)
        yield program, servers
        program.end()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: f"{s.id}-{s.model}")
def test_a_plain_client_does_what_the_scenario_asks(
    tried: tuple[Program, Pair], scenario: Scenario
) -> None:
    assert judge(*tried, scenario) is None


LOOPS = """
import os, urllib.request
from conversation import serve
def answer(model, prompt):
    body = '{"model": "text", "messages": [{"role": "user", "content": "again"}]}'.encode()
    while True:
        urllib.request.urlopen(os.environ["ADAPTER_URL"] + "/v1/chat/completions", body).read()
serve(answer)
"""


def test_a_client_that_loops_is_ended_and_fails(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loops.py").write_text(LOOPS, encoding="utf-8")
    environ = own_environ(tmp_path) | {"ADAPTER_URL": pair.url, "PYTHONPATH": str(PROGRAMS)}
    program = Program([sys.executable, str(tmp_path / "loops.py")], environ, tmp_path)
    assert "a loop" in str(judge(program, pair, SCENARIOS[0]))
    monkeypatch.setattr(case, "CASE_SECONDS", 0)
    monkeypatch.setattr(case, "REQUEST_CAP", 100_000)
    assert "no answer" in str(judge(program, pair, SCENARIOS[0]))


def test_a_client_that_ends_fails_with_its_last_words(pair: Pair, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    program = Program(command, own_environ(tmp_path), tmp_path)
    assert "no such thing" in str(judge(program, pair, SCENARIOS[0]))


@pytest.mark.parametrize("model", ["call", "two", "dead", "long"])
def test_a_call_that_did_not_run_as_asked_fails(model: str) -> None:
    (scenario,) = [s for s in SCENARIOS if s.model == model]
    said = "The sum is 3. 3 and 7."
    assert scenario.judge(Outcome(text=said, ran=[[2, 1]], error=None, generations=[{}, {}]))


def test_the_page_is_what_the_kept_results_say() -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page(kept, not_run(kept))


def test_a_failure_is_marked_and_explained_on_the_page() -> None:
    failed = {"model": "call", "verdict": "fail", "note": "ran | nothing"}
    kept = {"some": {"versions": {"some": "1"}, "variants": {"chat": {"S3": [failed]}}}}
    told = page(kept, ["other"])
    assert "| some chat | some 1 | not run | **FAIL** | not run |" in told
    assert "- some chat, S3 (`call`): **fails**: ran / nothing" in told
    assert "`other`" in told
