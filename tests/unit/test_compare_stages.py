from __future__ import annotations

from typing import Any

import pytest
from compare_kit import MAIL, WEATHER, case_of, fenced, model

from fallback.backend import ModelInfo
from fallback.compare.cases import Case
from fallback.compare.intervals import wilson
from fallback.compare.stages import STAGES, Judgement, judge
from fallback.compare.units import Unit, run_unit
from fallback.compare.verdicts import ALL_SUITES, judged, pairings, table
from fallback.errors import BackendProtocolError, ContextWindowError
from fallback.ways import ways_of

INFO = ModelInfo(name="m", digest="d1")
OSLO = {"name": "get_weather", "arguments": {"city": "Oslo"}}
RESULTS = [
    {"name": "get_weather", "content": "7 degrees"},
    {"name": "send_email", "content": "sent"},
]
CALLING = case_of(tools=[WEATHER, MAIL], results=RESULTS, answer={"has": ["7"]})
QUIET = case_of(tools=[WEATHER, MAIL], calls=[], question="Hello!")


def outcome(case: Case, *replies: Any, way: str = "prompt:fenced") -> Judgement:
    """What is said of the turn in which a model gives these replies, the last one for ever."""
    left = list(replies)
    backend = model(lambda _: left.pop(0) if len(left) > 1 else left[0])
    unit = Unit(model="m", way=ways_of([way])[0], case=case)
    return judge(run_unit(unit, backend, INFO), case)


def shown(judgement: Judgement) -> dict[str, Any]:
    """The stages that the turn can show."""
    return {name: value for name, value in judgement.stages.items() if value is not None}


def test_a_turn_in_which_all_is_right() -> None:
    judgement = outcome(CALLING, fenced(**OSLO), "It is 7 degrees.")
    assert shown(judgement) == {
        "right": True,
        "need": True,
        "selection": True,
        "calls": True,
        "arguments": True,
        "fields": 1.0,
        "schema": True,
        "unauthorised": False,
        "execution": True,
        "handled": True,
        "grounded": True,
    }
    assert judgement.faults == ()


def test_a_call_that_was_needed_and_not_made() -> None:
    judgement = outcome(CALLING, "I do not know.")
    assert shown(judgement) == {
        "right": False,
        "need": False,
        "selection": False,
        "calls": False,
        "fields": 0.0,
        "unauthorised": False,
        "grounded": False,
    }
    assert '`get_weather` was not called with {"city": "Oslo"}' in judgement.faults


def test_a_plain_answer_where_no_tool_fits() -> None:
    assert shown(outcome(QUIET, "Hello!")) == {"right": True, "need": True, "unauthorised": False}


def test_a_call_where_no_tool_fits() -> None:
    judgement = outcome(QUIET, fenced(**OSLO))
    assert shown(judgement) == {
        "right": False,
        "need": False,
        "schema": True,
        "unauthorised": True,
    }


@pytest.mark.parametrize("reply", ["", fenced("forecast", day="today")])
def test_a_turn_that_failed_is_not_right_because_nothing_was_called(reply: str) -> None:
    judgement = outcome(QUIET, reply)
    assert judgement.stages["right"] is False
    assert any(fault.startswith("there is no answer") for fault in judgement.faults)


def test_a_prompt_that_was_refused_says_nothing_of_the_need() -> None:
    refused = ContextWindowError("too long", status=400, prompt_tokens=9, num_ctx=8)
    stages = outcome(QUIET, refused).stages
    assert (stages["right"], stages["need"]) == (False, None)


def test_a_call_that_was_given_up_for_words_is_right_and_was_still_an_attempt() -> None:
    stages = outcome(QUIET, fenced("forecast", day="today"), "Hello!").stages
    assert (stages["right"], stages["need"]) == (True, False)


def test_the_wrong_tool() -> None:
    judgement = outcome(CALLING, fenced("send_email", to="a@b.example", body="x"), "It is 7.")
    found = shown(judgement)
    assert (found["need"], found["selection"], found["unauthorised"]) == (True, False, True)
    assert "arguments" not in found


def test_a_wrong_argument() -> None:
    found = shown(outcome(CALLING, fenced("get_weather", city="Rome"), "It is 7."))
    assert (found["selection"], found["arguments"], found["fields"]) == (True, False, 0.0)
    assert (found["grounded"], found["right"]) == (True, False)
    assert "handled" not in found


def test_a_call_that_had_to_be_corrected() -> None:
    judgement = outcome(CALLING, fenced("get_weather", town="Oslo"), fenced(**OSLO), "It is 7.")
    found = shown(judgement)
    assert (found["schema"], found["right"]) == (False, True)
    assert judgement.numbers["corrections"] == 1


def test_an_answer_that_does_not_use_the_result() -> None:
    judgement = outcome(CALLING, fenced(**OSLO), "It is warm.")
    found = shown(judgement)
    assert (found["calls"], found["handled"], found["grounded"]) == (True, True, False)
    assert judgement.faults == ("the answer does not say '7'",)


def test_a_tool_that_fails() -> None:
    other = case_of(
        results=[{"name": "get_weather", "arguments": {"city": "Rome"}, "content": "7"}]
    )
    assert shown(outcome(other, fenced(**OSLO), "Sorry."))["execution"] is False
    meant = case_of(results=[{"name": "get_weather", "error": "offline"}])
    assert "execution" not in shown(outcome(meant, fenced(**OSLO), "It is offline."))


def test_a_server_that_cannot_read_its_own_model() -> None:
    judgement = outcome(CALLING, BackendProtocolError("no tool call could be read"), way="native")
    assert judgement.stages["right"] is False
    assert judgement.faults[0] == "no tool call could be read"


def test_a_call_that_the_server_swallowed() -> None:
    class Swallowing:
        """Tokens, and nothing to show for them."""

        def describe(self, name: str) -> ModelInfo:
            return INFO

        def stream(self, request: Any) -> Any:
            from fallback.backend import Chunk
            from fallback.messages import Usage

            yield Chunk(done=True, finish_reason="stop", usage=Usage(completion_tokens=20))

        def close(self) -> None:
            pass

    unit = Unit(model="m", way=ways_of(["native"])[0], case=QUIET)
    judgement = judge(run_unit(unit, Swallowing(), INFO), QUIET)
    assert judgement.numbers["swallowed"] == 2  # asked once more, and swallowed again


def test_repairs_are_counted() -> None:
    judgement = outcome(CALLING, 'get_weather(city: "Oslo")', "It is 7.")
    assert judgement.numbers["repairs"] == 1


def test_the_leaderboards_cases_end_with_the_first_calls() -> None:
    found = shown(outcome(case_of(), fenced(**OSLO)))
    assert found["right"] is True
    assert "handled" not in found
    assert "execution" not in found


def test_equal_calls_of_one_reply_count_where_nothing_runs() -> None:
    twice = "\n\n".join([fenced(**OSLO)] * 2)
    assert outcome(CALLING, twice, "It is 7.").stages["right"] is True
    assert outcome(case_of(), twice).stages["right"] is False
    assert outcome(case_of(calls=[OSLO, OSLO]), twice).stages["right"] is True


# Many turns --------------------------------------------------------------------------------------


def folder(right: dict[str, list[bool]], *, suites: int = 1, repeats: int = 1) -> Any:
    """Judged results: for each way, which of its cases are wholly right."""
    records, cases = [], {}
    for way, flags in right.items():
        for number, flag in enumerate(flags):
            case = case_of(id=f"c{number}")
            suite = f"s{number % suites}"
            reply = fenced(**OSLO) if flag else "No."
            unit = Unit(model="m", way=ways_of([way])[0], case=case)
            record = run_unit(unit, model(lambda _, reply=reply: reply), INFO)  # type: ignore[misc]  # mypy sees no type of a default
            cases[case.digest] = {"suite": "tests", "case": case.source}
            records += [record | {"suite": suite, "repeat": again} for again in range(repeats)]
    return judged(records, cases)


def test_a_row_has_an_interval_for_each_stage_that_can_be_seen() -> None:
    (row,) = table(folder({"prompt:fenced": [True] * 8 + [False] * 2}))
    assert (row.model, row.way, row.suite, row.n) == ("m", "prompt:fenced", "s0", 10)
    right = row.stages["right"]
    assert (right.value, right.n) == (0.8, 10)
    assert (right.low, right.high) == (
        pytest.approx(0.4902, abs=1e-4),
        pytest.approx(0.9433, abs=1e-4),
    )
    assert row.stages["schema"].n == 8
    assert "grounded" not in row.stages
    assert row.measures["corrections"].value == 0


def test_several_suites_are_also_taken_together() -> None:
    rows = table(folder({"prompt:fenced": [True, False, True, False]}, suites=2))
    assert [(row.suite, row.n) for row in rows] == [("s0", 2), ("s1", 2), (ALL_SUITES, 4)]


def test_repeats_are_no_new_cases() -> None:
    flags = [True, False] * 10
    (once,) = table(folder({"prompt:fenced": flags}))
    (often,) = table(folder({"prompt:fenced": flags}, repeats=10))
    width = [row.stages["right"].high - row.stages["right"].low for row in (once, often)]
    assert width[1] > 0.8 * width[0]


@pytest.mark.parametrize("flag", [True, False])
def test_what_came_out_alike_each_time_is_as_sure_as_its_number_of_cases(flag: bool) -> None:
    (once,) = table(folder({"prompt:fenced": [flag] * 3}))
    (often,) = table(folder({"prompt:fenced": [flag] * 3}, repeats=3))
    for row in (once, often):
        assert row.stages["right"] == wilson(3 * flag, 3)
        assert row.stages["fields"] == wilson(3 * flag, 3)


def pairing(first: list[bool], second: list[bool]) -> Any:
    found = pairings(folder({"native+read": first, "prompt:fenced": second}))
    return next(p for p in found if p.stage == "right")


def test_a_way_that_is_better_is_said_to_be() -> None:
    found = pairing([True] * 12, [False] * 9 + [True] * 3)
    assert (found.better, found.worse, found.n) == (9, 0, 12)
    assert found.p == pytest.approx(0.0039, abs=1e-4)
    assert found.verdict == "better"
    assert found.sentence.startswith("native+read is better than prompt:fenced (100% against 25%")
    assert pairing([False] * 9 + [True] * 3, [True] * 12).verdict == "worse"


def test_few_cases_say_that_they_are_too_few() -> None:
    found = pairing([True] * 3, [False] * 3)
    assert "is not distinguishable from prompt:fenced at this n" in found.sentence
    assert found.verdict == "not distinguishable"


def test_only_cases_that_both_have_done_are_compared() -> None:
    assert pairing([True] * 5, [True] * 3).n == 3


def test_fewer_unauthorised_calls_are_better() -> None:
    from fallback.compare.stages import Stage
    from fallback.compare.verdicts import _signs

    unauthorised = next(stage for stage in STAGES if stage.name == "unauthorised")
    assert _signs([0.0, 0.0], [1.0, 1.0], unauthorised) == (2, 0)
    assert _signs([1.0], [0.0], Stage("x", "x", "x")) == (1, 0)
