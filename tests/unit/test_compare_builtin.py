"""A model that does exactly what is expected is wholly right on every case of our own suite."""

from __future__ import annotations

import pytest
from compare_kit import oracle

from fallback.backend import ModelInfo
from fallback.compare.cases import Case
from fallback.compare.stages import judge
from fallback.compare.suites import load_suite
from fallback.compare.units import Unit, run_unit
from fallback.ways import ways_of

INFO = ModelInfo(name="m", digest="d1")


@pytest.mark.parametrize("way", ["native", "prompt:fenced"])
@pytest.mark.parametrize("case", load_suite("builtin"), ids=lambda case: case.id)
def test_the_case_can_be_got_wholly_right(case: Case, way: str) -> None:
    unit = Unit(model="m", way=ways_of([way])[0], case=case)
    judgement = judge(run_unit(unit, oracle(case, native=way == "native"), INFO), case)
    assert judgement.faults == ()
    wanted = {name: name != "unauthorised" for name in judgement.stages}
    shown = {name: value for name, value in judgement.stages.items() if value is not None}
    assert shown == {name: wanted[name] for name in shown}


@pytest.mark.parametrize("case", load_suite("builtin"), ids=lambda case: case.id)
def test_silence_is_right_only_where_nothing_is_expected(case: Case) -> None:
    unit = Unit(model="m", way=ways_of(["native"])[0], case=case)
    quiet = oracle(Case(suite="", id="", kind="", tools=(), question="", digest=""))
    judgement = judge(run_unit(unit, quiet, INFO), case)
    assert judgement.stages["right"] is (not case.calls and case.answer is None)
