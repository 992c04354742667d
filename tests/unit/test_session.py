from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from session_kit import DRIVERS, OSLO, Drive, blocking, get_weather

from fallback import AsyncSession, Session
from fallback.catalogue import Catalogue
from fallback.dialects.record import PROMPTED
from fallback.errors import (
    BackendConnectionError,
    CapabilityError,
    ConfigurationError,
    InvalidToolError,
    UnknownDialectError,
    UsageError,
)
from fallback.limits import Limits
from fallback.loop.progress import StepEnded, StepStarted, ToolEnded, ToolStarted, TurnEnded
from fallback.parsing.events import CallReady, TextDelta
from fallback.testing import ScriptedBackend
from fallback.tools import Injected


@DRIVERS
@pytest.mark.parametrize("chunk_size", [None, 1, 7])
@pytest.mark.parametrize("dialect", ["fenced", "pythonic", "hermes"])
def test_a_question_is_answered_with_the_help_of_a_tool(
    drive: Drive, chunk_size: int | None, dialect: str
) -> None:
    backend = ScriptedBackend([OSLO, "It is fine."], chunk_size=chunk_size)
    (turn,) = drive(backend, "Weather in Oslo?", dialect=dialect)
    assert (turn.answer, turn.stop_reason) == ("It is fine.", "answered")
    assert turn.steps[0].results[0].content == "fine in Oslo"
    assert turn.steps[0].path == "scripted"
    assert backend.remaining == 0


@DRIVERS
def test_the_generation_is_stopped_after_the_first_batch(drive: Drive) -> None:
    invented = OSLO + "\n\nThe weather is terrible. " + "Really. " * 50
    backend = ScriptedBackend([invented, "Fine."], chunk_size=4)
    (turn,) = drive(backend, "Weather in Oslo?")
    assert len(backend.delivered[0]) < len(OSLO) + 20
    assert turn.steps[0].reading.finish_reason == "tool_call"
    assert "first complete batch" in " ".join(turn.steps[0].notes)
    assert turn.steps[0].usage.completion_tokens > 0


@DRIVERS
def test_the_conversation_goes_on_with_calls_and_results(drive: Drive) -> None:
    backend = ScriptedBackend([OSLO, "Fine.", "Still fine."])
    drive(backend, "Weather in Oslo?", "And now?")
    contents = [message.content for message in backend.requests[2].messages]
    assert contents[1:] == [
        "Weather in Oslo?",
        OSLO,
        (
            "```tool_result get_weather call_1_0\nfine in Oslo\n```\n\n"
            "That is the result. If it is enough, tell me in a sentence: Weather in Oslo?"
        ),
        "Fine.",
        "And now?",
    ]


@DRIVERS
def test_both_sessions_tell_the_same_events(drive: Drive) -> None:
    events: list[Any] = []
    drive(ScriptedBackend([OSLO, "Fine."]), "Weather?", on_event=events.append)
    kinds = [type(event) for event in events]
    order = [StepStarted, CallReady, ToolStarted, ToolEnded, StepEnded, StepStarted, TextDelta]
    assert [kind for kind in kinds if kind in order][: len(order)] == order
    assert kinds[-1] is TurnEnded
    assert kinds.count(StepEnded) == 2


@DRIVERS
def test_options_reach_the_backend_and_only_the_temperature_is_set_unasked(drive: Drive) -> None:
    backend = ScriptedBackend(["Hi."] * 2)
    drive(backend, "Hello.")
    drive(backend, "Hello.", options={"temperature": 0.8, "seed": 7}, num_ctx=512, think=False)
    assert backend.requests[0].options == {"temperature": 0}
    assert backend.requests[0].num_ctx is None
    assert backend.requests[1].options == {"temperature": 0.8, "seed": 7}
    assert (backend.requests[1].num_ctx, backend.requests[1].think) == (512, False)


@DRIVERS
def test_a_model_that_lacks_tools_is_asked_in_prompt_mode_from_then_on(drive: Drive) -> None:
    refusal = CapabilityError("m does not support tools", status=400, missing="tools")
    backend = ScriptedBackend([refusal, "One.", "Two."], capabilities=["tools"])
    turns = drive(backend, "First?", "Second?")
    assert [turn.answer for turn in turns] == ["One.", "Two."]
    assert [request.mode for request in backend.requests] == ["native", "prompt", "prompt"]


@DRIVERS
def test_what_the_server_cannot_do_is_raised(drive: Drive) -> None:
    with pytest.raises(BackendConnectionError, match="nobody"):
        drive(ScriptedBackend([BackendConnectionError("nobody answers")]), "Hello.")


@DRIVERS
def test_a_script_that_is_too_short_says_so(drive: Drive) -> None:
    with pytest.raises(UsageError, match="one more was asked for"):
        drive(ScriptedBackend([OSLO]), "Weather?")


@DRIVERS
def test_an_empty_question_is_refused(drive: Drive) -> None:
    with pytest.raises(UsageError, match="the question is empty"):
        drive(ScriptedBackend([]), "  ")


@DRIVERS
def test_a_reply_that_takes_too_long_is_ended(drive: Drive) -> None:
    backend = ScriptedBackend(["It is " + "very " * 100], chunk_size=1)
    (turn,) = drive(backend, "Hello.", limits=Limits(turn_seconds=0.0))
    assert turn.stop_reason == "deadline"
    assert backend.requests == []


def test_images_go_with_the_question() -> None:
    backend = ScriptedBackend(["A cat."])
    with Session("m", backend=backend) as session:
        session.run("What is this?", images=["aW1n"])
    assert backend.requests[0].messages[-1].images == ("aW1n",)


# Settings


def test_a_passed_backend_is_not_closed() -> None:
    class Closing(ScriptedBackend):
        closed = False

        def close(self) -> None:
            self.closed = True

    backend = Closing(["Hi."])
    with Session("m", backend=backend) as session:
        session.run("Hello.")
    assert not backend.closed


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"mode": "naive"}, ConfigurationError, "'naive' is none of auto, native, prompt"),
        ({"dialect": "yaml"}, UnknownDialectError, "there are fenced, hermes, inline, pythonic"),
        ({"tool_choice": "search"}, ConfigurationError, "'search' is neither.*get_weather"),
        ({"tools": [], "tool_choice": "required"}, ConfigurationError, "there are no tools"),
        ({"tools": [get_weather, get_weather]}, InvalidToolError, "get_weather"),
    ],
)
def test_wrong_settings_are_found_at_once(
    settings: dict[str, Any], error: type[Exception], said: str
) -> None:
    arguments = {"tools": [get_weather], "backend": ScriptedBackend([]), **settings}
    with pytest.raises(error, match=said):
        Session("m", **arguments)


def test_a_missing_injected_value_is_found_at_once() -> None:
    def posts(user_id: Annotated[str, Injected]) -> str:
        """Posts."""
        return user_id

    with pytest.raises(ConfigurationError, match="user_id"):
        Session("m", [posts], backend=ScriptedBackend([]))


def test_a_catalogue_can_be_shared() -> None:
    catalogue = Catalogue([get_weather])
    session = Session("m", catalogue, backend=ScriptedBackend([]))
    assert session.catalogue is catalogue


def test_the_callers_settings_are_not_kept_by_reference() -> None:
    options = {"temperature": 0}
    backend = ScriptedBackend(["Hi."])
    session = Session("m", backend=backend, options=options)
    options["temperature"] = 2
    session.run("Hello.")
    assert backend.requests[0].options == {"temperature": 0}


# The session's own backend


class Owned(ScriptedBackend):
    """Remembers that it was closed."""

    closed = 0

    def describe(self, model: str) -> Any:
        raise BackendConnectionError("nobody answers")

    def close(self) -> None:
        self.closed += 1

    async def aclose(self) -> None:
        self.closed += 1


def test_a_session_opens_and_closes_its_own_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    owned, asked = Owned([]), []
    monkeypatch.setattr(
        "fallback.hosts.connect", lambda host, **more: asked.append((host, more)) or owned
    )
    with (
        pytest.raises(BackendConnectionError),
        Session("m", host="h", endpoint="chat") as session,
    ):
        session.run("Hello.")
    assert owned.closed == 1
    assert asked == [("h", {"endpoint": "chat", "limits": session._plan.limits})]
    assert session.backend is owned
    assert session.turn is not None
    assert session.turn.stop_reason == "failed"

    async def run() -> None:
        async with AsyncSession("m", host="h") as twin:
            await twin.run("Hello.")

    with pytest.raises(BackendConnectionError):
        asyncio.run(run())
    assert owned.closed == 2


def test_a_dialect_can_be_given_as_its_record() -> None:
    backend = ScriptedBackend(["Hi."])
    Session("m", [get_weather], backend=backend, dialect=PROMPTED["pythonic"]).run("Hello.")
    assert "```tool_code" in backend.requests[0].messages[0].content


WRITTEN = '```tool_call\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'


@DRIVERS
@pytest.mark.parametrize("text", [WRITTEN, "I will now call get_weather."])
def test_a_server_can_be_taken_at_its_word(drive: Drive, text: str) -> None:
    backend = ScriptedBackend([text], capabilities=["tools"])
    (turn,) = drive(backend, "Weather in Oslo?", mode="native", read_text=False)
    assert (turn.answer, turn.tools_used, len(turn.steps)) == (text, (), 1)
    assert turn.steps[0].source == "none"


def test_calls_that_the_server_reports_count_without_its_text() -> None:
    call = {"name": "get_weather", "arguments": {"city": "Oslo"}}
    backend = ScriptedBackend([{"tool_calls": [call]}, "Sunny."], capabilities=["tools"])
    (turn,) = blocking(backend, "Weather in Oslo?", mode="native", read_text=False)
    assert (turn.answer, turn.tools_used) == ("Sunny.", ("get_weather",))


def test_prompt_mode_reads_the_text_in_any_case() -> None:
    backend = ScriptedBackend([WRITTEN, "Sunny."])
    (turn,) = blocking(backend, "Weather in Oslo?", mode="prompt", read_text=False)
    assert turn.tools_used == ("get_weather",)
