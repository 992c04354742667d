"""The criterion by which worked examples are kept."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback import Catalogue
from fallback.backend import GenerationRequest
from fallback.dialects.record import FENCED
from fallback.examples import Judged, Selection, read_examples, select
from fallback.examples.selecting import weighted_loss


def get_weather(city: str) -> str:
    """Weather in a city."""
    return city


def build(target: str) -> str:
    """Build something."""
    return target


TOOLS = Catalogue([get_weather, build])


def example(name: str, value: str, result: str | None = None) -> str:
    key = "city" if name == "get_weather" else "target"
    line: dict[str, Any] = {
        "question": f"{name} {value}?",
        "calls": [{"name": name, "arguments": {key: value}}],
    }
    return json.dumps(line | ({} if result is None else {"results": [result]}))


class Losses:
    """A backend whose loss depends on which questions stand in the prompt as examples."""

    def __init__(self, losses: dict[str, float], *, results: float = 0.0) -> None:
        self.losses, self.results = losses, results
        self.asked: list[tuple[str, str, str]] = []

    def forced(self, request: GenerationRequest, text: str) -> tuple[float, ...]:
        system, question = request.messages[0].content, request.messages[-1].content
        self.asked.append((question, request.prefill, text))
        shown = [loss for word, loss in self.losses.items() if f'Asked "{word}' in system]
        loss = shown[0] if shown else 1.0
        return (-(loss + (self.results if "tool_result" in system else 0.0)),) * 8


def selected(*lines: str, losses: Losses, **more: Any) -> Selection:
    candidates = read_examples(lines, TOOLS, "x")
    given = {"threshold": 0.1, "most": 9} | more
    return select(candidates, TOOLS, losses, model="m", dialect=FENCED, **given)


def test_the_weights_are_those_of_the_paper() -> None:
    assert weighted_loss([-1.0, 0, 0, 0, 0, -99.0]) == pytest.approx(1 / 3)
    assert weighted_loss([0, -1.0]) == pytest.approx(0.8 / 1.8)
    assert weighted_loss([-2.0, -4.0], decay=0.0) == 3.0
    assert weighted_loss([]) == 0.0


@given(st.lists(st.floats(-50, 0), min_size=1))
def test_a_loss_lies_between_those_of_the_tokens(logprobs: list[float]) -> None:
    loss = weighted_loss(logprobs)
    first = [-p for p in logprobs[:5]]
    assert min(first) - 1e-9 <= loss <= max(first) + 1e-9
    assert math.isfinite(loss)


def test_an_example_is_kept_if_it_lowers_the_loss_on_the_calls_of_other_questions() -> None:
    losses = Losses({"get_weather Rome": 0.4, "get_weather Oslo": 0.95})
    rome, oslo = selected(
        example("get_weather", "Rome"), example("get_weather", "Oslo"), losses=losses
    ).judged
    assert (rome.kept, rome.tried_on, rome.gain) == (True, 1, pytest.approx(0.6))
    assert (rome.without, rome.full) == (pytest.approx(1.0), pytest.approx(0.4))
    assert rome.bare is None  # there is no result to leave out
    assert (oslo.kept, oslo.gain) == (False, pytest.approx(0.05))
    assert losses.asked[0] == (
        "get_weather Oslo?",
        '```tool_call\n{"name": "',
        'get_weather", "arguments": {"city": "Oslo"}}\n```',
    )


def test_a_result_has_to_help_beyond_the_call() -> None:
    """The smaller of both alternatives counts: an example whose call alone does as well goes."""
    lines = (example("get_weather", "Rome", "20"), example("get_weather", "Oslo", "7"))
    useless = selected(*lines, losses=Losses({"get_weather": 0.4}))
    assert [(j.kept, j.gain, j.bare) for j in useless.judged] == [
        (False, 0.0, pytest.approx(0.4))
    ] * 2
    useful = selected(*lines, losses=Losses({"get_weather": 0.9}, results=-0.5))
    assert [(j.kept, j.gain) for j in useful.judged] == [(True, pytest.approx(0.5))] * 2


def test_an_example_is_tried_on_its_own_tools_only_and_never_on_itself() -> None:
    losses = Losses({"": 0.0})
    weather, again, alone = selected(
        example("get_weather", "Rome"),
        example("get_weather", "Rome"),
        example("build", "all"),
        losses=losses,
    ).judged
    assert [(j.tried_on, j.kept) for j in (weather, again, alone)] == [(0, False)] * 3
    assert losses.asked == []


def test_of_the_good_ones_the_best_are_kept_for_each_tool() -> None:
    losses = Losses({"get_weather Rome": 0.4, "get_weather Oslo": 0.2, "build": 0.5})
    lines = [
        *(example("get_weather", city) for city in ("Rome", "Oslo", "Paris")),
        *(example("build", target) for target in ("all", "docs")),
    ]
    selection = selected(*lines, losses=losses, most=1)
    asked = [kept.question for kept in selection.kept]
    assert asked == ["get_weather Oslo?", "build all?"]


def test_no_question_is_asked_twice_in_the_same_way_and_not_more_than_wanted() -> None:
    losses, told = Losses({}), list[Judged]()
    lines = [example("get_weather", city) for city in ("Rome", "Oslo", "Paris", "Bonn")]
    selected(*lines, losses=losses, tries=2, done=told.append)
    without = 4  # of the four questions at most, for each once
    assert len(losses.asked) <= without + 4 * 2
    assert [judged.tried_on for judged in told] == [2, 2, 2, 2]
