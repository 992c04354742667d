"""Only what is declared is called, and nothing that the model only reports."""

from __future__ import annotations

import pytest

from fallback import Catalogue, parse


def catalogue(*names: str) -> Catalogue:
    return Catalogue([{"name": name, "parameters": {}} for name in names])


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        (["a.get_weather", "b.get_weather"], "get_weather"),
        (["history.get_monarchs"], "chess.get_monarchs"),
        (["history.get_monarchs"], "get_monarchs"),
        (["math.gcd"], "gdc"),
        (["math.gcd"], "cd"),
        (["x.go"], "go"),
    ],
)
def test_what_could_mean_two_tools_or_another_one_means_none(
    declared: list[str], written: str
) -> None:
    assert catalogue(*declared).resolve(written) is None


def test_a_null_for_a_name_that_is_not_declared_is_refused_and_raises_nothing() -> None:
    text = "<function=get_weather><parameter=nope>null</parameter></function>"
    tools = [{"name": "get_weather", "parameters": {"additionalProperties": False}}]
    reading = parse(text, tools)
    assert (reading.calls, [problem.kind for problem in reading.problems]) == (
        (),
        ["invalid_arguments"],
    )


def test_nothing_in_a_result_that_the_model_wrote_is_a_call() -> None:
    call = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    text = f"<tool_response>\n{call}\n</tool_response>\nDone."
    reading = parse(text, catalogue("now"))
    assert (reading.calls, reading.text) == ((), text)
    assert [found.reason for found in reading.suppressed] == ["in_result"]


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_list_that_ran_out_of_tokens_runs_none_of_its_calls(finish: str) -> None:
    text = '[now(), get(city="Oslo'
    reading = parse(text, catalogue("now", "get"), finish)  # type: ignore[arg-type] # both are finish reasons
    assert len(reading.calls) == (1 if finish == "stop" else 0)
    assert reading.problems[-1].kind == "truncated"
