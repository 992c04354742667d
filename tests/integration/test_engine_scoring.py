"""Probabilities of given texts, of the real embedded models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from fallback import Catalogue, Session
from fallback.backend import GenerationRequest
from fallback.cli import main
from fallback.engine.core import Engine
from fallback.engine.transport import EngineTransport
from fallback.errors import CapabilityError
from fallback.loop import Decide
from fallback.messages import Message
from fallback.ollama import OllamaBackend

pytestmark = pytest.mark.engine

SMALL, CODER = "smollm2:135m", "qwen2.5-coder:0.5b"


@pytest.fixture
def backend(engine: Engine) -> Iterator[OllamaBackend]:
    with httpx.Client(transport=EngineTransport(engine), base_url="http://embedded") as client:
        yield OllamaBackend("http://embedded", client=client)


def asking(model: str, question: str, prefill: str) -> GenerationRequest:
    return GenerationRequest(
        model=model,
        mode="prompt",
        messages=(Message(role="user", content=question),),
        prefill=prefill,
        num_ctx=2048,
    )


def test_what_is_more_probable_has_the_higher_score(backend: OllamaBackend) -> None:
    request = asking(SMALL, "Name the capital of France.", "The capital of France is ")
    scores = backend.score(request, ['Paris."', 'Parma."', 'Oslo."'])
    paris, parma, oslo = scores.logprobs
    assert max(scores.logprobs) <= 0.0
    assert paris > parma
    assert paris > oslo
    assert scores.usage.completion_tokens >= 1
    assert 0 not in scores.unseen
    assert backend.score(request, ['Paris."', 'Parma."', 'Oslo."']).logprobs == scores.logprobs


def test_a_whole_value_is_as_probable_as_its_tokens_together(backend: OllamaBackend) -> None:
    """At least: the same text may be cut into tokens in several ways."""
    request = asking(SMALL, "Name the capital of France.", '{"capital":')
    for value in (' "Paris', ' "Par', " true", " [1, 2"):
        scores = backend.score(request, [value], whole=True)
        together = sum(backend.forced(request, value))
        assert together - 0.01 <= scores.logprobs[0] <= 0.0 or scores.unseen == {0}
    whole, part, other = backend.score(request, [' "Paris', ' "P', ' "Oslo'], whole=True).logprobs
    assert part >= whole > other


@pytest.mark.parametrize("text", ["Paris.", 'a "b" \\ \n\tc\x07 ü€😀', '{"city": "Oslo"}\n```'])
def test_a_given_text_is_written_token_by_token(backend: OllamaBackend, text: str) -> None:
    request = asking(SMALL, "Name the capital of France.", "The capital of France is ")
    logprobs = backend.forced(request, text)
    assert 0 < len(logprobs) <= len(text.encode())
    assert all(p <= 0.0 for p in logprobs)
    assert backend.forced(request, text) == logprobs


class WithoutTheField(httpx.BaseTransport):
    """The engine, as a server that does not know the field which is its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = EngineTransport(engine)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = request.read().replace(b"_forced_reply", b"_unknown")
        return self._engine.handle_request(httpx.Request(request.method, request.url, content=body))


def test_a_server_that_writes_its_own_text_is_no_measure(engine: Engine) -> None:
    request = replace(asking(SMALL, "Hello!", "Hi"), options={"num_predict": 4})
    with httpx.Client(transport=WithoutTheField(engine), base_url="http://embedded") as client:
        other = OllamaBackend("http://embedded", client=client)
        with pytest.raises(CapabilityError, match="use the embedded engine"):
            other.forced(request, "xyzzy")


def test_a_session_decides_and_only_then_lets_the_arguments_be_written(
    backend: OllamaBackend,
) -> None:
    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    }
    weather = {"name": "get_weather", "description": "Weather in a city.", "parameters": parameters}
    mail = {"name": "send_email", "description": "Send an email.", "parameters": parameters}
    with Session(
        CODER,
        Catalogue([weather, mail]),
        backend=backend,
        decide=Decide(margin=float("-inf"), most=1),
        num_ctx=2048,
    ) as session:
        turn = session.run("What is the weather in Oslo?")
    (step,) = turn.steps
    (call,) = step.calls
    assert (call.name, call.arguments["city"].casefold()) == ("get_weather", "oslo")
    assert any(note.startswith("decided: get_weather") for note in step.notes)
    assert step.usage.completion_tokens > 5


GAMES = {
    "name": "multiplayer_game_finder",
    "description": "Locate multiplayer games that match specific criteria.",
    "parameters": {
        "type": "object",
        "properties": {
            "platform": {"type": "string", "description": "The platform."},
            "rating": {"type": "number", "description": "Desired minimum game rating."},
            "genre": {
                "type": "string",
                "description": "Desired game genre.",
                "enum": ["Action", "Adventure", "Racing", "Strategy", "Simulation"],
            },
        },
        "required": ["platform", "rating"],
    },
}


@pytest.mark.parametrize(
    ("which", "genre"), [("multiplayer game", None), ("strategy game", "Strategy")]
)
def test_only_what_was_asked_for_is_in_the_call(
    backend: OllamaBackend, which: str, genre: str | None
) -> None:
    decide = Decide(margin=float("-inf"), most=1)
    with Session(CODER, [GAMES], backend=backend, decide=decide, num_ctx=2048) as session:
        turn = session.run(f"Find me a {which} with rating above 4.5 for Windows 10.")
    (step,) = turn.steps
    (call,) = step.calls
    assert call.arguments["platform"].startswith("Windows")
    assert call.arguments.get("genre") == genre, step.notes


def test_examples_are_judged_and_those_that_are_kept_can_be_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FALLBACK_THREADS", "1")
    parameters = {"type": "object", "properties": {"place": {"type": "string"}}}
    tool = {"name": "get_weather", "description": "Weather.", "parameters": parameters}
    (tmp_path / "tools.json").write_text(json.dumps([tool]))
    lines = [
        {
            "question": f"How warm is it in {city}?",
            "calls": [{"name": "get_weather", "arguments": {"place": city}}],
        }
        for city in ("Rome", "Oslo")
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    kept = tmp_path / "kept.jsonl"
    command = ["examples", "select", str(tmp_path / "mine.jsonl"), "--model", SMALL]
    more = ["--tools", str(tmp_path / "tools.json"), "--num-ctx", "2048", "--threshold", "-1000"]
    assert main([*command, *more, "--out", str(kept), "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)["examples"]
    assert [found["tried_on"] for found in judged] == [1, 1]
    for found in judged:
        assert found["gain"] == pytest.approx(found["loss_without"] - found["loss_with"], abs=2e-4)
        assert found["loss_without"] > 0
    assert len(kept.read_text().splitlines()) == sum(found["kept"] for found in judged) == 1
    # A file with nothing in it would be refused by whoever is given it.
    nothing = tmp_path / "nothing.jsonl"
    more[-1] = "1000"
    assert main([*command, *more, "--out", str(nothing)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "0 of 2 kept (threshold 1000 nats)" in said
    assert said.endswith("is not written")
    assert not nothing.exists()
