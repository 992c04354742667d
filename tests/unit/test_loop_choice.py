"""``tool_choice``, a reply that is begun, one call at a time, and a tool to answer with."""

from __future__ import annotations

from typing import Any

import pytest
from loop_driver import OSLO, TOOLS, Driver, block, calls, native

from fallback import Catalogue, Session
from fallback.backend import Chunk
from fallback.errors import BackendStatusError, CapabilityError, InvalidToolError
from fallback.limits import Limits
from fallback.loop import Generate
from fallback.loop.respond import respond_tool
from fallback.testing import ScriptedBackend
from fallback.tools import Tool

MODES = pytest.mark.parametrize("mode", ["prompt", "native"])
BEGUN = "```tool_call\n"


def weather(arguments: str = '{"city": "Oslo"}') -> str:
    return f'{{"name": "get_weather", "arguments": {arguments}}}'


def oslo(mode: str) -> Any:
    return native(("get_weather", {"city": "Oslo"})) if mode == "native" else OSLO


def continued(text: str, finish: Any = "stop") -> Any:
    """A reply that goes on from what was put into the model's mouth."""

    def reply(action: Generate) -> Chunk:
        begun = action.request.prefill
        return Chunk(text=text, done=True, finish_reason=finish, prefill=begun)

    return reply


# none, required, a name


@MODES
def test_with_none_the_text_is_untouched_whatever_it_looks_like(mode: str) -> None:
    text = f"  <think>hm</think> I will use the get_weather tool.\n{OSLO}\n"
    driver = Driver(mode=mode, tool_choice="none")
    turn = driver.play(text)
    assert (turn.answer, turn.stop_reason, driver.executed) == (text, "answered", [])
    request = driver.requests[0].request
    assert request.catalogue is None
    assert "get_weather" not in str(request.messages)


@MODES
@pytest.mark.parametrize("choice", ["required", "get_weather"])
def test_one_call_fulfils_what_is_required(mode: str, choice: str) -> None:
    driver = Driver(mode=mode, tool_choice=choice)
    turn = driver.play(oslo(mode), "Fine.")
    assert (turn.answer, turn.tools_used) == ("Fine.", ("get_weather",))
    assert [g.tool_choice for g in driver.requests] == [choice, "auto"]
    assert driver.requests[1].request.prefill == ""


@MODES
@pytest.mark.parametrize("choice", ["required", "get_weather"])
def test_a_required_call_is_asked_for_once_more_and_never_invented(mode: str, choice: str) -> None:
    driver = Driver(mode=mode, tool_choice=choice)
    turn = driver.play("It is fine.", "It is fine, really.")
    assert (turn.stop_reason, driver.executed) == ("failed", [])
    assert "required" in turn.detail
    assert "required" in driver.last(1)


@MODES
def test_another_tool_than_the_named_one_is_corrected_once(mode: str) -> None:
    other = native(("build", {})) if mode == "native" else block(calls("build"))
    driver = Driver(mode=mode, tool_choice="get_weather")
    turn = driver.play(other, other)
    assert (turn.stop_reason, driver.executed) == ("failed", [])


def test_what_native_mode_does_not_do_is_begun_in_prompt_mode() -> None:
    driver = Driver(mode="auto", tool_choice="get_weather")
    turn = driver.play("It is fine.", continued(weather() + "\n```"), "Fine.")
    assert [step.mode for step in turn.steps] == ["native", "prompt", "prompt"]
    assert turn.tools_used == ("get_weather",)
    assert driver.ended is not None
    assert driver.ended.route is not None
    assert driver.ended.route.mode == "native"  # what is not required is asked natively as before


# A reply that is begun


def test_a_named_call_is_begun_and_held_to_what_a_call_of_it_is() -> None:
    driver = Driver(tool_choice="get_weather")
    turn = driver.play(continued(weather()), "Fine.")
    request = driver.requests[0].request
    tool = TOOLS.get("get_weather")
    assert tool is not None
    assert request.prefill == BEGUN
    assert request.format == {
        "type": "object",
        "properties": {
            "name": {"const": "get_weather"},
            "arguments": {**tool.parameters, "additionalProperties": False},
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
    step = turn.steps[0]
    assert step.raw == f"{BEGUN}{weather()}\n```"
    assert (step.calls[0].arguments, step.calls[0].repairs) == ({"city": "Oslo"}, ())
    assert step.raw[slice(*step.calls[0].span)].startswith('{"name": "get_weather"')


def test_the_segments_of_a_begun_reply_tile_the_whole_of_it() -> None:
    turn = Driver(tool_choice="get_weather").play(continued(weather()), "Fine.")
    step = turn.steps[0]
    ends = [0]
    for segment in step.reading.segments:
        assert segment.start == ends[-1]
        ends.append(segment.end)
    assert ends[-1] == len(step.raw)


def test_a_model_that_closes_the_call_itself_is_read_as_well() -> None:
    turn = Driver(tool_choice="get_weather").play(continued(weather() + "\n```"), "Fine.")
    assert turn.steps[0].calls[0].repairs == ()
    assert turn.steps[0].raw.endswith('"Oslo"}}\n```')


def test_the_end_of_line_that_a_schema_allows_behind_the_call_is_part_of_its_block() -> None:
    turn = Driver(tool_choice="get_weather").play(continued(weather() + "\n"), "Fine.")
    assert turn.steps[0].raw == f"{BEGUN}{weather()}\n```"
    assert turn.steps[0].calls[0].repairs == ()


def test_a_call_of_any_tool_is_held_to_what_such_a_call_is() -> None:
    driver = Driver(tool_choice="required")
    turn = driver.play(continued('{"name": "build", "arguments": {}}'), "Done.")
    request = driver.requests[0].request
    assert request.prefill == "```tool_call\n"
    assert request.format is not None
    names = [one["properties"]["name"]["const"] for one in request.format["anyOf"]]
    assert names == list(TOOLS.names)
    assert (turn.tools_used, turn.steps[0].calls[0].repairs) == (("build",), ())
    assert turn.steps[0].raw == '```tool_call\n{"name": "build", "arguments": {}}\n```'


@pytest.mark.parametrize("why", ["refused", "too large", "references"])
def test_without_a_schema_any_call_is_begun_up_to_its_name(why: str) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}}}  # to itself, as a whole
    refers = Tool.from_dict({"name": "refers", "description": "R.", "parameters": schema})
    catalogue = Catalogue([*TOOLS, refers]) if why == "references" else TOOLS
    limits = Limits(max_format_chars=10) if why == "too large" else Limits()
    driver = Driver(tool_choice="required", catalogue=catalogue, limits=limits)
    refusal = [BackendStatusError("no grammar", status=400)] if why == "refused" else []
    turn = driver.play(*refusal, continued('build", "arguments": {}}\n```'), "Done.")
    asked = driver.requests[len(refusal)].request
    assert (asked.prefill, asked.format) == ('```tool_call\n{"name": "', None)
    assert turn.tools_used == ("build",)


def test_the_only_tool_is_as_good_as_named() -> None:
    driver = Driver(tool_choice="required", catalogue=TOOLS.only("get_weather"))
    driver.play(continued(weather()), "Fine.")
    assert driver.requests[0].request.prefill == BEGUN


def test_a_begun_call_that_is_cut_off_does_not_run() -> None:
    driver = Driver(tool_choice="get_weather")
    driver.play(continued(weather('{"city": "Os'), finish="length"), continued(weather()), "Fine.")
    assert driver.executed == ["get_weather"]
    assert "cut off" in driver.last(1)


def test_arguments_that_do_not_fit_are_corrected_and_the_call_is_begun_again() -> None:
    driver = Driver(tool_choice="get_weather")
    turn = driver.play(continued(weather('{"town": "Oslo"}')), continued(weather()), "Fine.")
    assert [g.request.prefill for g in driver.requests] == [BEGUN, BEGUN, ""]
    assert turn.tools_used == ("get_weather",)


def test_a_backend_that_cannot_begin_a_reply_is_asked_without() -> None:
    refused = CapabilityError("no", status=400, missing="prefill")
    driver = Driver(tool_choice="get_weather")
    turn = driver.play(refused, OSLO, "Fine.")
    assert [g.request.prefill for g in driver.requests] == [BEGUN, "", ""]
    assert driver.requests[1].request.format is None
    assert turn.tools_used == ("get_weather",)
    assert any("cannot be begun" in note for note in turn.steps[0].notes)


def test_a_backend_that_says_nothing_of_the_beginning_has_not_begun() -> None:
    turn = Driver(tool_choice="get_weather").play(OSLO, "Fine.")
    assert turn.steps[0].raw == OSLO
    assert turn.tools_used == ("get_weather",)


def test_a_server_that_cannot_take_the_schema_is_asked_without() -> None:
    refused = BackendStatusError("failed to parse grammar", status=400)
    driver = Driver(tool_choice="get_weather")
    turn = driver.play(refused, continued(' {"city": "Oslo"}}\n```'), "Fine.")
    asked = [(g.request.prefill, g.request.format is not None) for g in driver.requests]
    named = BEGUN + '{"name": "get_weather", "arguments":'
    assert asked == [(BEGUN, True), (named, False), ("", False)]
    assert turn.tools_used == ("get_weather",)


def test_the_same_refusal_again_is_a_failure() -> None:
    refused = BackendStatusError("no", status=400)
    driver = Driver(tool_choice="get_weather")
    assert driver.play(refused, refused).stop_reason == "failed"


def test_the_pythonic_dialect_is_begun_in_its_own_way() -> None:
    from fallback.dialects.record import PYTHONIC

    driver = Driver(tool_choice="get_weather", dialect=PYTHONIC)
    turn = driver.play(continued('city="Oslo")\n```'), "Fine.")
    assert driver.requests[0].request.prefill == "```tool_code\nget_weather("
    assert driver.requests[0].request.format is None
    assert turn.steps[0].calls[0].arguments == {"city": "Oslo"}


@pytest.mark.parametrize("size", [1, 3, None])
def test_a_begun_reply_reads_the_same_however_it_is_cut(size: int | None) -> None:
    def get_weather(city: str) -> str:
        """Weather."""
        return f"fine in {city}"

    replies = [{"content": weather(), "prefilled": True}, "Fine."]
    backend = ScriptedBackend(replies, chunk_size=size)
    session = Session("m", [get_weather], backend=backend, tool_choice="get_weather")
    turn = session.run("Weather?")
    assert turn.steps[0].calls[0].arguments == {"city": "Oslo"}
    assert turn.answer == "Fine."


# One call at a time


@MODES
def test_only_the_first_call_counts_where_one_is_allowed(mode: str) -> None:
    both = native(("get_weather", {"city": "Oslo"}), ("build", {}))
    text = block(calls("get_weather", '{"city": "Oslo"}'), calls("build"))
    driver = Driver(mode=mode, parallel=False)
    turn = driver.play(both if mode == "native" else text, "Fine.")
    assert driver.executed == ["get_weather"]
    assert [r.status for r in turn.steps[0].results] == ["ok", "denied"]
    assert [c.name for m in turn.messages for c in m.tool_calls] == ["get_weather"]
    assert "Only the first of your calls was made" in driver.last(1)
    assert any("parallel_tool_calls" in note for note in turn.steps[0].notes)


@MODES
def test_one_call_alone_is_not_remarked_on(mode: str) -> None:
    driver = Driver(mode=mode, parallel=False)
    turn = driver.play(oslo(mode), "Fine.")
    assert "Only the first" not in driver.last(1)
    assert [m.role for m in turn.messages] == ["user", "assistant", "tool", "assistant"]


# A tool to answer with


def responding(mode: str) -> Driver:
    return Driver(mode=mode, catalogue=Catalogue([*TOOLS, respond_tool()]), respond=True)


def said(mode: str, *named: tuple[str, dict[str, str]]) -> Any:
    from json import dumps

    if mode == "native":
        return native(*named)
    return block(*(calls(name, dumps(arguments)) for name, arguments in named))


@MODES
def test_a_call_of_respond_is_the_answer(mode: str) -> None:
    driver = responding(mode)
    turn = driver.play(said(mode, ("respond", {"text": "Hello."})))
    assert (turn.answer, turn.stop_reason, turn.tools_used) == ("Hello.", "answered", ())
    assert [(m.role, m.content) for m in turn.messages[1:]] == [("assistant", "Hello.")]


@MODES
def test_an_answer_beside_a_call_comes_too_early(mode: str) -> None:
    driver = responding(mode)
    both = said(mode, ("get_weather", {"city": "Oslo"}), ("respond", {"text": "It is hot."}))
    turn = driver.play(both, said(mode, ("respond", {"text": "It is fine."})))
    assert driver.executed == ["get_weather"]
    assert turn.steps[0].results[1].status == "denied"
    assert turn.answer == "It is fine."


@MODES
def test_an_empty_answer_is_an_empty_reply(mode: str) -> None:
    driver = responding(mode)
    empty = said(mode, ("respond", {"text": " "}))
    turn = driver.play(empty, said(mode, ("respond", {"text": "Hello."})))
    assert "empty" in driver.last(1)
    assert turn.answer == "Hello."


def test_a_session_offers_the_tool_beside_the_others() -> None:
    backend = ScriptedBackend([block(calls("respond", '{"text": "Hi."}'))])
    session = Session("m", TOOLS.only("build"), backend=backend, respond=True)
    assert session.run("Hello").answer == "Hi."
    assert session.catalogue.names == ("build", "respond")


def test_a_tool_of_that_name_is_the_developer_s_mistake() -> None:
    def respond(text: str) -> str:
        """Respond."""
        return text

    with pytest.raises(InvalidToolError, match="respond"):
        Session("m", [respond], backend=ScriptedBackend([]), respond=True)


def test_a_tool_of_that_name_is_a_tool_like_any_other_unless_asked_for() -> None:
    def respond(text: str) -> str:
        """Respond."""
        return f"sent: {text}"

    backend = ScriptedBackend([block(calls("respond", '{"text": "Hi."}')), "Done."])
    turn = Session("m", [respond], backend=backend).run("Hello")
    assert turn.tools_used == ("respond",)


# what is begun, and what the model makes of it


@pytest.mark.parametrize("choice", ["required", "get_weather"])
def test_words_where_a_call_was_begun_are_no_malformed_call(choice: str) -> None:
    driver = Driver(tool_choice=choice)
    turn = driver.play(continued(" I think it is fine.\n"), continued(" I think it is fine.\n"))
    assert [p.kind for s in turn.steps for p in s.problems] == ["required_call_missing"] * 2
    assert "there was none" in driver.last(1)
    assert (turn.stop_reason, driver.executed) == ("failed", [])
    assert turn.answer.startswith("No answer: the model's call could not be used: ")


@MODES
def test_a_malformed_call_that_is_required_is_not_offered_an_answer_as_a_way_out(mode: str) -> None:
    wrong = calls("get_weather", '{"city": 4}')
    first = native(("get_weather", {"city": 4})) if mode == "native" else block(wrong)
    driver = Driver(mode=mode, tool_choice="required")
    turn = driver.play(first, oslo(mode), "Fine.")
    assert turn.answer == "Fine."
    assert "$.city" in driver.last(1)
    assert "plain answer" not in driver.last(1)


@MODES
def test_a_malformed_call_that_is_not_required_may_be_answered_in_words(mode: str) -> None:
    wrong = calls("get_weather", '{"city": 4}')
    first = native(("get_weather", {"city": 4})) if mode == "native" else block(wrong)
    driver = Driver(mode=mode)
    driver.play(first, oslo(mode), "Fine.")
    assert "plain answer" in driver.last(1)


ADD = Tool.from_dict(
    {
        "name": "add",
        "description": "Adds.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    },
    handler=lambda a, b: a + b,
)


@pytest.mark.parametrize("choice", ["required", "add"])
def test_a_whole_number_is_given_an_end_where_the_reply_is_held_to_a_schema(choice: str) -> None:
    driver = Driver(catalogue=Catalogue([ADD]), tool_choice=choice)
    driver.play(continued('{"name": "add", "arguments": {"a": 1, "b": 2}}'), "Three.")
    sent = driver.requests[0].request.format
    assert sent is not None
    assert sent["properties"]["arguments"]["properties"]["a"] == {
        "type": "integer",
        "minimum": -(2**62),
        "maximum": 2**62,
    }
    assert ADD.parameters["properties"]["a"] == {"type": "integer"}


@pytest.mark.parametrize("endless", [" 1." + "0" * 4000, " " * 4000], ids=["a number", "a gap"])
def test_what_runs_away_is_not_waited_for(endless: str) -> None:
    written = {
        "content": f'{{"name": "add", "arguments": {{"a": 1, "b":{endless}',
        "prefilled": True,
    }
    right = {"content": '{"name": "add", "arguments": {"a": 1, "b": 2}}', "prefilled": True}
    backend = ScriptedBackend([written, right, "Three."], chunk_size=5)
    turn = Session("any", [ADD], backend=backend, mode="prompt", tool_choice="add").run("1 + 2?")
    assert (turn.answer, turn.tools_used) == ("Three.", ("add",))
    assert len(backend.delivered[0]) < 200
    assert [p.kind for p in turn.steps[0].problems] == ["truncated"]


def test_digits_and_blanks_inside_a_text_do_not_run_away() -> None:
    say = Tool.from_function(lambda text: text, name="say")  # it needs a name
    written = {
        "content": '{"name": "say", "arguments": {"text": "a \\" ' + "7" * 400 + " " * 400 + '"}}',
        "prefilled": True,
    }
    backend = ScriptedBackend([written, "Said."], chunk_size=5)
    turn = Session("any", [say], backend=backend, mode="prompt", tool_choice="say").run("Say it.")
    assert turn.steps[0].results[0].value == 'a " ' + "7" * 400 + " " * 400
