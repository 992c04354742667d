"""Whole turns with a real model of half a billion parameters, at temperature 0."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from fallback import AsyncSession, Session, tool
from fallback.engine import models
from fallback.hosts import connect
from fallback.messages import Turn
from fallback.ollama import OllamaBackend

pytestmark = pytest.mark.engine

MODEL = models.DEFAULT_MODEL
OPTIONS = {"temperature": 0, "seed": 1, "num_predict": 96}


def get_weather(city: str) -> str:
    """Current weather in a city.

    Args:
        city: the city's name.
    """
    return f"In {city} it is 4 degrees Celsius and raining."


@pytest.fixture(scope="module")
def backend() -> Iterator[OllamaBackend]:
    models.pull(MODEL)
    made = connect("embedded")
    yield made
    made.close()


def asked(backend: OllamaBackend, question: str, mode: str) -> Turn:
    settings = {"mode": mode, "options": OPTIONS, "num_ctx": 2048}
    with Session(MODEL, [get_weather], backend=backend, **settings) as session:  # type: ignore[arg-type] # one dict of settings
        return session.run(question)


@pytest.mark.parametrize("mode", ["prompt", "native", "auto"])
def test_a_question_about_the_weather_is_asked_of_the_tool(
    backend: OllamaBackend, mode: str
) -> None:
    turn = asked(backend, "What is the weather in Oslo?", mode)
    assert turn.tools_used[0] == "get_weather"
    first = turn.steps[0]
    assert str(first.calls[0].arguments["city"]).casefold() == "oslo"
    # What comes along says of this model that it is better asked in prompt mode.
    assert first.mode == ("native" if mode == "native" else "prompt")
    if mode != "native":
        # Behind a native result this model invents a tool; that it is refused is another test's.
        assert turn.stop_reason == "answered"
        assert "4" in turn.answer


def test_a_call_that_the_model_only_writes_is_rescued_in_native_mode(
    backend: OllamaBackend,
) -> None:
    # This model claims native tools and then writes the call as text: the fault in the flesh.
    turn = asked(backend, "What is the weather in Rome?", "native")
    assert turn.steps[0].source == "text"
    assert turn.steps[0].calls[0].dialect != "native"


@pytest.mark.parametrize("question", ["Hello! How are you?", "Who wrote Romeo and Juliet?"])
def test_a_plain_question_ends_without_a_call(backend: OllamaBackend, question: str) -> None:
    turn = asked(backend, question, "prompt")
    assert (turn.tools_used, turn.stop_reason) == ((), "answered")
    assert turn.answer


def test_the_second_step_evaluates_only_what_is_new(backend: OllamaBackend) -> None:
    turn = asked(backend, "What is the weather in Paris?", "prompt")
    second = turn.steps[1].usage
    assert second.cached_tokens is not None
    assert second.cached_tokens > second.prompt_tokens / 2


def test_the_async_session_makes_the_same_turn(backend: OllamaBackend) -> None:
    async def run() -> Turn:
        async with AsyncSession(
            MODEL, [get_weather], host="embedded", mode="prompt", options=OPTIONS, num_ctx=2048
        ) as session:
            return await session.run("What is the weather in Oslo?")

    turn = asyncio.run(run())
    twin = asked(backend, "What is the weather in Oslo?", "prompt")
    assert [step.raw for step in turn.steps] == [step.raw for step in twin.steps]
    assert turn.answer == twin.answer


def test_a_required_call_is_begun_and_its_result_shortened_until_it_fits(
    backend: OllamaBackend,
) -> None:
    """Greeted, this model greets; the call is begun for it, and it fills in the rest."""

    def read_report(city: str) -> str:
        """Read the weather report of a city.

        Args:
            city: the city's name.
        """
        return f"Report for {city}: rain, 4 degrees.\n" + "Nothing else happened there.\n" * 400

    session = Session(
        MODEL,
        [read_report],
        backend=backend,
        mode="prompt",
        tool_choice="read_report",
        options=OPTIONS | {"num_predict": 32},
        num_ctx=512,
    )
    turn = session.run("Good morning from Bergen!")
    (call,) = turn.steps[0].calls
    assert set(call.arguments) == {"city"}
    assert call.repairs == ()  # held to the schema, so there is nothing to mend
    assert "read_report" in turn.steps[0].raw[slice(*call.span)]
    assert any("is full" in note for step in turn.steps for note in step.notes)
    assert all(step.usage.prompt_tokens <= 512 for step in turn.steps)
    assert len(turn.steps[0].results[0].value) > 10_000  # what the application has is whole


def test_a_reply_in_running_text_goes_on_behind_each_of_its_results(backend: OllamaBackend) -> None:
    @tool(name="get_weather")
    def short_weather(city: str) -> str:
        """Current weather in a city."""
        return {"Oslo": "7 degrees, rain", "Rome": "18 degrees, sunny"}[city]

    settings = {"mode": "prompt", "dialect": "inline", "options": OPTIONS, "num_ctx": 2048}
    with Session(MODEL, [short_weather], backend=backend, **settings) as session:  # type: ignore[arg-type] # one dict of settings
        turn = session.run("What's the weather in Oslo and in Rome?")
    cities = [call.arguments["city"] for step in turn.steps for call in step.calls]
    assert cities == ["Oslo", "Rome"]
    assert (turn.stop_reason, turn.steps[-1].path) == ("answered", "generate/raw/chatml")
    assert "7 degrees, rain" in turn.answer
    assert "18 degrees, sunny" in turn.answer
    assert "[" not in turn.answer
