"""Mode ``auto`` goes by what was measured, as far as the caller has not said otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from profile_kit import measured, profile_of
from session_kit import DRIVERS, Drive, blocking

from fallback import Session
from fallback.backend import GenerationRequest, ModelInfo
from fallback.ledger import Ledger
from fallback.profiles import Profiles, WayEvidence, save
from fallback.profiles.places import file_name
from fallback.testing import ScriptedBackend

INFO = ModelInfo(name="m", digest="scripted")
OSLO = '```tool_code\nget_weather(city="Oslo")\n```'


def prompt_of(request: GenerationRequest) -> str:
    return request.messages[0].content


@DRIVERS
def test_a_profile_decides_mode_dialect_endpoint_example_window_and_thinking(
    drive: Drive, profile_folder: Path
) -> None:
    measured(profile_folder, example=False, endpoint="chat", num_ctx=2048, think=False)
    backend = ScriptedBackend([OSLO, "It is fine.", "Bye."], capabilities=["tools"])
    first, _ = drive(backend, "Weather in Oslo?", "Thanks!")
    assert first.tools_used == ("get_weather",)
    assert first.steps[0].mode == "prompt"
    for request in backend.requests:
        assert "tool_code" in prompt_of(request)
        assert (request.endpoint, request.num_ctx, request.think) == ("chat", 2048, False)
    with_example = ScriptedBackend(["Hello."], capabilities=["tools"])
    drive(with_example, "Weather in Oslo?", mode="prompt", dialect="pythonic")
    assert prompt_of(with_example.requests[0]) != prompt_of(backend.requests[0])


@DRIVERS
def test_a_native_profile_can_leave_text_unread(drive: Drive, profile_folder: Path) -> None:
    measured(profile_folder, way="native", mode="native", dialect="", read_text=False)
    backend = ScriptedBackend([OSLO], capabilities=["tools"])
    (turn,) = drive(backend, "Weather in Oslo?")
    assert turn.steps[0].mode == "native"
    assert turn.answer == OSLO


@DRIVERS
def test_the_callers_own_settings_go_before_the_profile(drive: Drive, profile_folder: Path) -> None:
    measured(profile_folder, num_ctx=2048, think=False)
    backend = ScriptedBackend(["Hello."], capabilities=["tools"])
    drive(backend, "Hi", dialect="fenced", num_ctx=4096, think=True)
    (request,) = backend.requests
    assert "tool_call" in prompt_of(request)
    assert "tool_code" not in prompt_of(request)
    assert (request.num_ctx, request.think) == (4096, True)
    native = ScriptedBackend(["Hello."], capabilities=["tools"])
    (turn,) = drive(native, "Hi", mode="native")
    assert turn.steps[0].mode == "native"
    off = ScriptedBackend(["Hello."], capabilities=["tools"])
    (turn,) = drive(off, "Hi", profile="off")
    assert turn.steps[0].mode == "native"


def deciding(request: GenerationRequest, values: Sequence[str]) -> list[float]:
    """Readily begins a call; the question makes ``get_weather`` more probable."""
    if not request.prefill:
        return [-0.1]
    asked = "Weather" in request.messages[-1].content
    return [-1.0 if asked and value.startswith("get_weather") else -6.0 for value in values]


@DRIVERS
def test_a_profile_can_say_that_it_is_decided_first(drive: Drive, profile_folder: Path) -> None:
    measured(profile_folder, way="decide", decide=-1.5)
    arguments = {"content": 'city="Oslo")\n```', "prefilled": True}
    backend = ScriptedBackend([arguments, "It is fine."], capabilities=["tools"], scores=deciding)
    (turn,) = drive(backend, "Weather in Oslo?")
    assert turn.tools_used == ("get_weather",)
    assert backend.requests[0].prefill == "```tool_code\nget_weather("
    assert any(note.startswith("decided: get_weather") for note in turn.steps[0].notes)
    plain = ScriptedBackend(["Hello."], capabilities=["tools"], scores=deciding)
    (turn,) = drive(plain, "Hi", decide=False)
    assert plain.requests[0].prefill == ""


@DRIVERS
def test_where_the_server_cannot_decide_the_profile_is_gone_by_without(
    drive: Drive, profile_folder: Path
) -> None:
    measured(profile_folder, way="decide", decide=-1.5)
    backend = ScriptedBackend([OSLO, "It is fine."], capabilities=["tools"])
    (turn,) = drive(backend, "Weather in Oslo?")
    assert turn.tools_used == ("get_weather",)
    assert [note for note in turn.steps[0].notes if note.startswith("not decided: ")]


@DRIVERS
def test_where_the_server_cannot_decide_the_best_way_without_is_gone_from_then_on(
    drive: Drive, profile_folder: Path
) -> None:
    """The dialect of a way that decides may do badly where nothing is decided."""
    way: dict[str, Any] = {"way": "decide", "dialect": "fenced", "decide": -1.5}
    other = WayEvidence(name="prompt:hermes", n=16, rate=0.7, low=0.4, high=0.8)
    evidence = profile_of(**way).evidence
    measured(profile_folder, **way, evidence=replace(evidence, ways=(evidence.ways[0], other)))
    backend = ScriptedBackend(["Hello.", "Hello."], capabilities=["tools"])
    turns = drive(backend, "Hi", "Hi")
    for turn, request in zip(turns, backend.requests, strict=True):
        assert turn.steps[0].mode == "prompt"
        assert "<tool_call>" in request.messages[0].content
        assert "prompt:hermes was wholly right in 70% of 16 cases" in turn.steps[0].notes[0]
    noted = [note for turn in turns for note in turn.steps[0].notes if "not decided" in note]
    assert len(noted) == 1


def test_the_best_way_without_deciding_may_be_the_native_one(profile_folder: Path) -> None:
    way: dict[str, Any] = {"way": "decide", "dialect": "fenced", "decide": -1.5}
    measured(profile_folder, **way)  # beside it native+read was measured
    backend = ScriptedBackend(["Hello."], capabilities=["tools"])
    (turn,) = blocking(backend, "Hi")
    assert turn.steps[0].mode == "native"
    assert backend.requests[0].catalogue is not None


@DRIVERS
def test_a_stale_profile_is_warned_of_and_left_alone(drive: Drive, profile_folder: Path) -> None:
    path = profile_folder / file_name("m", "old")
    save(replace(profile_of(INFO), digest="old"), path)
    said: list[str] = []
    backend = ScriptedBackend(["Hello.", "Hello."], capabilities=["tools"])
    turn, _ = drive(backend, "Hi", "Hi", profile=Profiles(warn=said.append))
    assert turn.steps[0].mode == "native"
    (line,) = said
    assert "fallback calibrate m" in line


def test_a_profile_for_native_mode_is_no_reason_to_ask_a_server_that_refuses_tools(
    profile_folder: Path,
) -> None:
    measured(profile_folder, way="native+read", mode="native", dialect="")
    backend = ScriptedBackend(["Hello."])
    (turn,) = blocking(backend, "Hi")
    assert turn.steps[0].mode == "prompt"


def test_a_turn_that_is_taken_up_again_is_asked_as_it_was_begun(
    profile_folder: Path, tmp_path: Path
) -> None:
    from fallback.tools import Tool

    measured(profile_folder)
    pay = Tool.from_dict(
        {"name": "pay", "description": "Pays.", "parameters": {"type": "object"}},
        handler=lambda: "paid",
        risk="destructive",
    )
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        first = ScriptedBackend(["```tool_code\npay()\n```"], capabilities=["tools"])
        with Session("m", [pay], backend=first, ledger=ledger) as session:
            turn = session.run("Pay!")
        assert turn.stop_reason == "approval_required"
        ledger.approvals.approve(turn.waiting[0].approval, "Ada")
        second = ScriptedBackend(["Done."], capabilities=["tools"])
        with Session("m", [pay], backend=second, ledger=ledger) as session:
            assert session.resume(turn.id).answer == "Done."
    assert "tool_code" in prompt_of(second.requests[0])


def test_the_ledger_is_told_the_templates_of_the_measured_dialect(
    profile_folder: Path, tmp_path: Path
) -> None:
    from fallback.templating import template_version
    from fallback.tools import Tool

    measured(profile_folder)
    save_it = Tool.from_dict(
        {"name": "save", "description": "Saves.", "parameters": {"type": "object"}},
        handler=lambda: "saved",
        risk="reversible_write",
    )
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        backend = ScriptedBackend(["```tool_code\nsave()\n```", "Done."], capabilities=["tools"])
        with Session("m", [save_it], backend=backend, ledger=ledger, approve=lambda _: True) as s:
            assert s.run("Save!").tools_used == ("save",)
        entries = [entry.body for entry in ledger.entries()]
    told = [body["versions"]["template_hash"] for body in entries if body["event"] == "started"]
    assert told == [template_version("pythonic")]
