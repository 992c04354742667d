"""The scenarios of `scripts/clients`, with the clients that the development extra installs."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.clients import case
from benchmarks.clients.__main__ import PAGE, RESULTS, has_passed, merged, written
from benchmarks.clients.case import Program, judge
from benchmarks.clients.client import Client
from benchmarks.clients.environments import own_environ
from benchmarks.clients.gate import GATE, GATE_SCENARIOS
from benchmarks.clients.judges import DoesNotApply, Outcome
from benchmarks.clients.registry import CLIENTS
from benchmarks.clients.row import PROGRAMS, absent, through_tap
from benchmarks.clients.scenarios import SCENARIOS, Scenario
from benchmarks.clients.scripts import script
from benchmarks.clients.servers import Pair, running
from benchmarks.clients.table import page
from benchmarks.clients.tap import odd

VARIANTS = ("ollama stream", "messages", "chat", "responses stream")
WHOLLY = VARIANTS[:2]
"""What is put to the others is the gate's."""
SLOW = frozenset({"S14"})  # it is silent for longer than the client's patience
(PLAIN,) = [client for client in CLIENTS if client.name == "plain"]
(REPLAYED,) = [client for client in CLIENTS if client.name == "replayed"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("servers")
    with running(script(PLAIN.tool), folder) as servers:
        yield servers


class Tried:
    """One way of using the plain clients: its programs, and servers that have learned nothing."""

    def __init__(self, variant: str, servers: Pair, folder: Path) -> None:
        self.variant, self._servers = variant, servers
        self._programs = {}
        for name, url in (("tap", servers.tapped), ("direct", servers.url), ("other", servers.url)):
            home = folder / name
            home.mkdir()
            command = [sys.executable, str(PROGRAMS / PLAIN.program), variant]
            environ = own_environ(home) | {"ADAPTER_URL": url}
            self._programs[name] = Program(command, environ, home)

    def judge(self, scenario: Scenario) -> str | None:
        program = self._programs["tap" if through_tap(scenario) else "direct"]
        return judge(program, self._servers, scenario, self._programs["other"])

    def end(self) -> None:
        for program in self._programs.values():
            program.end()


@pytest.fixture(scope="module", params=VARIANTS)
def tried(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tried]:
    folder = tmp_path_factory.mktemp("client")
    with running(script(PLAIN.tool), folder) as servers:
        made = Tried(request.param, servers, folder)
        yield made
        made.end()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: f"{s.id}-{s.model}")
def test_a_plain_client_does_what_the_scenario_asks(tried: Tried, scenario: Scenario) -> None:
    if absent(PLAIN, tried.variant, scenario) or scenario.id in SLOW:
        return
    if tried.variant in WHOLLY or scenario.id in GATE_SCENARIOS:
        wrong = tried.judge(scenario)
        assert wrong is None or isinstance(wrong, DoesNotApply), wrong


def test_the_gate_names_clients_and_ways_that_there_are() -> None:
    variants = {client.name: client.variants for client in CLIENTS}
    for name, ways in GATE.items():
        assert set(ways) <= set(variants[name])
    assert {scenario.id for scenario in SCENARIOS} >= GATE_SCENARIOS


@pytest.mark.parametrize("app", REPLAYED.variants)
def test_an_app_that_cannot_be_installed_reads_the_answer_to_its_body(
    app: str, pair: Pair, tmp_path: Path
) -> None:
    (two,) = [scenario for scenario in SCENARIOS if scenario.model == "two"]
    (call,) = [scenario for scenario in SCENARIOS if scenario.id == "S3"]
    environ = own_environ(tmp_path) | {"ADAPTER_URL": pair.url}
    program = Program([sys.executable, str(PROGRAMS / REPLAYED.program), app], environ, tmp_path)
    try:
        assert judge(program, pair, call if REPLAYED.skip(app, two) else two) is None
    finally:
        program.end()


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


NOTHING = Outcome(text="", ran=[], error=None, generations=[{}])
ASKED = {"method": "POST", "path": "/v1/chat/completions", "status": 200}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: f"{s.id}-{s.model}")
def test_each_case_fails_a_client_that_does_nothing(scenario: Scenario) -> None:
    if scenario.how == "left" or scenario.model in ("after", "empty"):
        return  # those are about what must not happen
    wrong = scenario.judge(NOTHING)
    assert wrong
    assert not isinstance(wrong, DoesNotApply)


def test_a_client_that_looks_for_no_model_is_told_apart_from_one_that_does_in_vain() -> None:
    (scenario,) = [s for s in SCENARIOS if s.how == "tapped"]
    done = Outcome(text="The sum is 3.", ran=[[1, 2]], error=None, generations=[{}, {}])
    listed = {"method": "GET", "path": "/api/tags", "status": 200}
    assert isinstance(scenario.judge(replace(done, passed=[ASKED])), DoesNotApply)
    assert scenario.judge(replace(done, passed=[listed, ASKED])) is None
    missing = [{**listed, "status": 404}, ASKED]
    assert "in vain" in str(scenario.judge(replace(done, passed=missing)))
    pulls = [{**listed, "path": "/api/pull"}, ASKED]
    assert "pulls" in str(scenario.judge(replace(done, passed=pulls)))


def test_results_beside_the_wrong_calls_fail() -> None:
    (scenario,) = [s for s in SCENARIOS if s.model == "two"]
    good = Outcome(
        text="3 and 7.",
        ran=[[1, 2], [3, 4]],
        error=None,
        generations=[{}, {"prompt": "1+2=3 3+4=7"}],
    )
    assert scenario.judge(good) is None
    swapped = [{}, {"prompt": "3+4=7 1+2=3"}]
    assert scenario.judge(replace(good, generations=swapped)) is not None


def test_what_the_tap_adds_stands_at_every_place_where_a_kind_does() -> None:
    parts = [{"type": "text", "text": "Hi"}]
    body = {"messages": [{"role": "user", "content": parts}], "tools": [{"type": "function"}]}
    told = odd(body)
    assert {message["role"] for message in told["messages"]} == {"oracle", "user"}
    assert told["messages"][1]["content"][1]["type"] == "hologram"
    assert [tool["type"] for tool in told["tools"]] == ["function", "telepathy_20300101"]
    assert "x_unheard_of" in told
    assert body["messages"][0]["content"] == parts


def test_the_tap_adds_nothing_to_what_a_client_sends(pair: Pair) -> None:
    # Codex sends no user-agent, and is told every name that its user could have typed.
    urls = (f"{pair.url}/api/tags", f"{pair.tapped}/api/tags")
    listings = [_bare_get(url)["models"] for url in urls]
    assert listings[0] == listings[1]
    assert {"call", "call:latest"} <= {model["name"] for model in listings[1]}


def _bare_get(url: str) -> Any:
    connection = http.client.HTTPConnection(url.removeprefix("http://").partition("/")[0])
    try:
        connection.request("GET", "/api/tags")
        return json.load(connection.getresponse())
    finally:
        connection.close()


@pytest.mark.parametrize("model", ["two", "dead", "long"])
def test_a_call_that_did_not_run_as_asked_fails(model: str) -> None:
    (scenario,) = [s for s in SCENARIOS if s.model == model]
    said = "The sum is 3. 3 and 7."
    assert scenario.judge(Outcome(text=said, ran=[[2, 1]], error=None, generations=[{}, {}]))


@pytest.mark.parametrize("model", ["dead", "after"])
def test_a_failure_of_the_upstream_that_the_client_never_met_fails(model: str) -> None:
    (scenario,) = [s for s in SCENARIOS if s.model == model]
    told = scenario.judge(Outcome(text="", ran=[], error="it did not start", generations=[]))
    assert told == "the model was never asked"


def test_the_page_is_what_the_kept_results_say() -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == written(kept)


def test_what_has_passed_is_not_put_again_and_the_rest_takes_its_place() -> None:
    passed, failed = ({"model": "call", "verdict": v, "note": ""} for v in ("pass", "fail"))
    before = {"S1": [passed], "S3": [failed], "S2": [{**passed, "model": "text"}]}
    left = [s for s in SCENARIOS if not has_passed(s, before)]
    assert {s.id for s in SCENARIOS} - {s.id for s in left} == {"S2"}  # S1 has another case
    merged_cases = merged(before, {"S3": [passed]})
    assert list(merged_cases) == ["S1", "S2", "S3"]
    assert merged_cases["S3"] == [passed]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda c: c.name)
def test_a_reason_for_leaving_out_a_case_names_a_case_that_there_is(client: Client) -> None:
    used = {reason for v in client.variants for s in SCENARIOS if (reason := client.skip(v, s))}
    assert used == set(client.skips.values())
    assert set(client.causes) <= {s.model for s in SCENARIOS} | {s.id for s in SCENARIOS}
    assert all(client.tool_of(v) is not client.tool for v in client.variants if v in client.tools)


def test_a_failure_is_marked_and_explained_on_the_page() -> None:
    failed = {"model": "call", "verdict": "fail", "note": "ran | nothing"}
    kept = {"some": {"versions": {"some": "1"}, "variants": {"chat": {"S3": [failed]}}}}
    told = page(kept, ["other"], {"some": "it waits"})
    assert "| some chat | some 1 | not run | not run | **FAIL** | not run |" in told
    assert "- S3 (`call`): **fails**: ran / nothing: some chat" in told
    assert "`other`" in told
    assert "- some: it waits" in told
