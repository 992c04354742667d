from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from compare_kit import MAIL, WEATHER, case_of, fenced, model

from fallback.backend import GenerationRequest, ModelInfo
from fallback.compare.units import Sampling, Unit, key_of, run_unit
from fallback.errors import (
    BackendConnectionError,
    BackendProtocolError,
    BackendStatusError,
    CapabilityError,
    ConfigurationError,
    ContextWindowError,
)
from fallback.loop import Decide
from fallback.messages import ToolCall
from fallback.ollama.failures import Asked, failure
from fallback.rendering import call_text
from fallback.testing import ScriptedBackend
from fallback.ways import ALL_WAYS, USUAL_WAYS, ways_of

INFO = ModelInfo(name="m", digest="d1", family="chatml", template="t")
OSLO = {"name": "get_weather", "arguments": {"city": "Oslo"}}
RESULTS = [{"name": "get_weather", "content": "7 degrees and rain"}]


def unit(way: str = "prompt:fenced", **more: Any) -> Unit:
    (chosen,) = ways_of([way])
    case = more.pop("case", None) or case_of(results=RESULTS, answer={"has": ["7"]})
    return Unit(model="m", way=chosen, case=case, **more)


def test_every_way_has_a_name_that_is_read_back() -> None:
    assert ways_of([way.name for way in ALL_WAYS]) == ALL_WAYS == ways_of(["all"])
    assert len(ALL_WAYS) == 19
    assert ways_of([]) == USUAL_WAYS
    assert ways_of(["prompt:fenced+generate", "prompt:fenced"]) == ways_of(["prompt:fenced"])


def test_an_unknown_way_is_told() -> None:
    with pytest.raises(ConfigurationError, match=r"there is no way 'prompt:xml'; there are native"):
        ways_of(["prompt:xml"])


# A reply that goes on behind its results has no second step: tests/unit/test_inline.py.
BLOCKS = [way for way in ALL_WAYS if way.kind == "prompt" and not way.record.inline]


@pytest.mark.parametrize("way", [way.name for way in BLOCKS])
def test_a_prompt_way_leads_from_the_question_to_the_answer(way: str) -> None:
    call = ToolCall(id="", name="get_weather", arguments={"city": "Oslo"})
    written = call_text([call], ways_of([way])[0].record)
    replies = iter([written, "It is 7 degrees."])
    backend = model(lambda request: next(replies))
    record = run_unit(unit(way), backend, INFO)
    assert record["answer"] == "It is 7 degrees."
    assert record["steps"][0]["calls"][0]["result"] == "7 degrees and rain"
    assert record["steps"][0]["source"] == "text"
    assert record["prompt"][-1] == ["user", "What is the weather in Oslo?"]
    assert ("Oslo" in record["prompt"][0][1]) is False
    assert ("A call of get_weather" in record["prompt"][0][1]) is ("no-example" not in way)
    assert json.loads(json.dumps(record)) == record


@pytest.mark.parametrize(("way", "called"), [("native", False), ("native+read", True)])
def test_the_native_ways_differ_in_who_reads_the_text(way: str, called: bool) -> None:
    record = run_unit(unit(way, case=case_of()), model(lambda _: fenced(**OSLO)), INFO)
    assert bool(record["steps"][0]["calls"]) is called
    assert len(record["steps"]) == 1


@pytest.mark.parametrize("way", ["native", "native+read"])
def test_calls_that_the_server_reports_count_in_both(way: str) -> None:
    record = run_unit(unit(way, case=case_of()), model(lambda _: {"tool_calls": [OSLO]}), INFO)
    assert [c["arguments"] for c in record["steps"][0]["calls"]] == [{"city": "Oslo"}]
    assert record["stop"] == "approval_required"  # nobody runs it: as the leaderboard asks


def test_only_our_own_loop_corrects_the_servers_calls() -> None:
    wrong = {"tool_calls": [{"name": "get_weather", "arguments": {"town": "Oslo"}}]}
    assert len(run_unit(unit("native"), model(lambda _: wrong), INFO)["steps"]) == 1
    assert len(run_unit(unit("native+read"), model(lambda _: wrong), INFO)["steps"]) > 1


def test_the_sampler_is_asked_for_what_the_unit_says() -> None:
    backend = model(lambda _: "Hello.")
    sampling = Sampling(temperature=0.5, seed=7, num_predict=33, num_ctx=4096)
    run_unit(unit(repeat=2, sampling=sampling), backend, INFO)
    (request,) = backend.requests
    assert request.options == {"temperature": 0.5, "seed": 9, "num_predict": 33}
    assert request.num_ctx == 4096
    assert unit(case=case_of(num_ctx=9000), sampling=sampling).num_ctx == 9000


@pytest.mark.parametrize(
    ("way", "error"),
    [
        ("prompt:fenced", ContextWindowError("too long", status=400, prompt_tokens=9, num_ctx=8)),
        ("native", BackendProtocolError("the server failed while it was replying")),
        ("native", BackendStatusError("cannot parse tool call", status=500)),
    ],
)
def test_what_the_way_itself_brings_about_is_a_result(way: str, error: Exception) -> None:
    record = run_unit(unit(way), model(lambda _: error), INFO)
    assert record["error"] == {"kind": type(error).__name__, "message": str(error)}
    assert record["stop"] == "failed"


@pytest.mark.parametrize(
    ("way", "error"),
    [
        ("prompt:fenced", BackendConnectionError("gone")),
        ("prompt:fenced", BackendStatusError("overloaded", status=500)),
        ("prompt:fenced", BackendProtocolError("broken off")),
        ("native", BackendStatusError("out of memory", status=507)),
        ("native", CapabilityError("no tools", status=400, missing="tools")),
    ],
)
def test_what_says_nothing_about_the_way_is_raised(way: str, error: Exception) -> None:
    with pytest.raises(type(error)):
        run_unit(unit(way), model(lambda _: error), INFO)


# Ollama's words since 0.1, llama-server's, and the engine's.
RUNNER = [
    "llama runner process has terminated: signal: killed",
    "llama runner process has terminated: exit status 1: error loading model: unknown",
    "llama runner process no longer running: -1 ",
    "model runner has unexpectedly stopped, this may be due to resource limitations",
    "model requires more system memory (5.5 GiB) than is available (3.0 GiB)",
    "an error was encountered while running the model: unexpected EOF",
    "timed out waiting for llama runner to start - progress 0.00 - ",
    "unable to load model: /models/blobs/sha256-1",
    "failed to allocate compute buffers",
    "cudaMalloc failed: out of memory",
    "CUDA error: an illegal memory access was encountered",
    "Compute error.",
    'POST predict: Post "http://127.0.0.1:4/completion": EOF',
    "llama.cpp cannot load m.gguf: not a model it knows, a broken file, or not enough memory",
]
# What a server says of a reply that it cannot read; the model may have written anything.
REPLY = [
    "error parsing tool call: raw='out of memory', err=invalid character 'o'",
    'error parsing tool call: raw=\'{"a": "llama runner process has terminated"}\'',
    'llama-server returned invalid tool call arguments for "get_weather": out of memory',
    "template: :3:8: executing at <.Tools>: error calling index",
]


@pytest.mark.parametrize("status", [500, 200], ids=["status", "stream"])
@pytest.mark.parametrize("text", RUNNER)
def test_a_model_runner_that_died_says_nothing_about_the_way(text: str, status: int) -> None:
    error = failure(status, {"error": text}, Asked(where="http://gpu:11434", model="m"))
    with pytest.raises(type(error)):
        run_unit(unit("native"), model(lambda _: error), INFO)


@pytest.mark.parametrize("status", [500, 200], ids=["status", "stream"])
@pytest.mark.parametrize("text", REPLY)
def test_what_a_model_wrote_is_not_taken_for_the_runners_death(text: str, status: int) -> None:
    error = failure(status, {"error": text}, Asked(where="http://gpu:11434", model="m"))
    assert run_unit(unit("native"), model(lambda _: error), INFO)["stop"] == "failed"


def test_a_connection_that_breaks_says_nothing_about_the_way() -> None:
    broken = BackendProtocolError("broken off")
    broken.__cause__ = OSError("reset by peer")
    with pytest.raises(BackendProtocolError):
        run_unit(unit("native"), model(lambda _: broken), INFO)


KEYS: dict[str, tuple[Unit, ModelInfo]] = {
    "as it is": (unit(), INFO),
    "another model": (replace(unit(), model="n"), INFO),
    "another digest": (unit(), replace(INFO, digest="d2")),
    "another template": (unit(), replace(INFO, template="u")),
    "another family": (unit(), replace(INFO, family="gemma")),
    "another way": (unit("prompt:pythonic"), INFO),
    "another endpoint": (unit("prompt:fenced+chat"), INFO),
    "no example": (unit("prompt:fenced+no-example"), INFO),
    "another question": (unit(case=case_of(question="And in Lima?")), INFO),
    "another tool": (unit(case=case_of(tools=[WEATHER, MAIL])), INFO),
    "another expectation": (unit(case=case_of(calls=[])), INFO),
    "instructions": (unit(case=case_of(instructions="Be brief.")), INFO),
    "another temperature": (unit(sampling=Sampling(temperature=1.0)), INFO),
    "another seed": (unit(sampling=Sampling(seed=1)), INFO),
    "another window": (unit(sampling=Sampling(num_ctx=4096)), INFO),
    "another length": (unit(sampling=Sampling(num_predict=9)), INFO),
    "thinking": (unit(sampling=Sampling(think=True)), INFO),
    "another repeat": (unit(repeat=1), INFO),
}


def test_everything_that_matters_is_in_the_key() -> None:
    keys = {name: key_of(*given) for name, given in KEYS.items()}
    assert len(set(keys.values())) == len(keys)
    assert key_of(unit(), INFO) == keys["as it is"]


def test_the_version_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of(unit(), INFO)
    monkeypatch.setattr("fallback.compare.units._version", lambda: "99.0")
    assert key_of(unit(), INFO) != before


def test_deciding_is_a_way_whose_margin_may_be_given() -> None:
    usual, always = ways_of(["decide", "decide:-inf"])
    assert (usual.name, always.name, always.mode) == ("decide", "decide:-inf", "prompt")
    assert usual.decide == Decide()
    assert key_of(unit("decide"), INFO) != key_of(unit("decide:-inf"), INFO)
    for wrong in ("decide:x", "decide:nan", "decides:1"):
        with pytest.raises(ConfigurationError):
            ways_of([wrong])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("3.9", "3.9"),
        ("2", "2"),
        ("2.0", "2"),
        ("2.00000001", "2.00000001"),
        ("-0.0", "0"),
        ("1234567.5", "1234567.5"),
        ("1e-7", "1e-07"),
        ("-inf", "-inf"),
        ("inf", "inf"),
    ],
)
def test_a_margin_is_named_so_that_it_is_read_back(given: str, name: str) -> None:
    (way,) = ways_of([f"decide:{given}"])
    assert way.name == f"decide:{name}"
    assert ways_of([way.name]) == (way,)
    assert ways_of([f"decide:{given}", f"decide:{name}"]) == (way,)


def test_a_decided_turn_is_recorded_like_any_other() -> None:
    def scores(request: GenerationRequest, values: Sequence[str]) -> list[float]:
        if not request.prefill:
            return [-0.5]
        called = "Oslo" in request.messages[-1].content and values[-1] != "```"
        return [0.0 if called else -9.0 for _ in values[:-1]] + [-1.0]

    written = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
    call = {"content": written, "prefilled": True}
    record = run_unit(unit("decide", case=case_of()), ScriptedBackend([call], scores=scores), INFO)
    assert [c["arguments"] for c in record["steps"][0]["calls"]] == [{"city": "Oslo"}]
    assert any(note.startswith("decided: get_weather") for note in record["steps"][0]["notes"])
    with pytest.raises(CapabilityError, match="scores"):
        run_unit(unit("decide"), ScriptedBackend([]), INFO)
