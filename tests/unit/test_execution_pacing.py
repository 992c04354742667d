from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback.errors import InvalidToolError
from fallback.execution import Pace, Rates
from fallback.execution.pacing import attempts
from fallback.limits import Limits
from fallback.loop import Job
from fallback.messages import ToolCall, ToolResult
from fallback.tools import Risk, Tool


def a_job(**declared: Any) -> Job:
    told = {"name": "find", "description": "Finds.", "parameters": {}}
    tool = Tool.from_dict(told, handler=dict, **declared)
    return Job(call=ToolCall(id="c1", name="find", arguments={}), tool=tool, seconds=60.0)


class Played:
    """Plays the attempts of a call: pauses pass at once, and move the clock."""

    def __init__(self, *, left: float | None = None, **limits: Any) -> None:
        self.now = 0.0
        self.left = left
        self.pauses: list[float] = []
        self.runs: list[Job] = []
        self.disturbed = False
        set_limits = Limits(**limits)
        self.pace = Pace(
            rates=Rates(),
            clock=lambda: self.now,
            left=lambda: None if self.left is None else self.left - self.now,
            limits=set_limits,
            retries=set_limits.max_transient_retries,
        )

    def play(self, job: Job, *kinds: Any) -> ToolResult:
        script = iter(kinds)
        tries = attempts(job, self.pace)
        try:
            asked = next(tries)
            while True:
                asked = tries.send(self.answer(asked, script))
        except StopIteration as stop:
            result: ToolResult = stop.value
            return result

    def answer(self, asked: float | Job, script: Any) -> ToolResult | bool:
        if isinstance(asked, Job):
            self.runs.append(asked)
            kind = next(script, None)
            status = "error" if kind else "ok"
            return ToolResult(call_id="c1", name="find", status=status, kind=kind)
        self.pauses.append(asked)
        self.now += asked
        return not self.disturbed


def test_calls_beyond_the_rate_wait_for_their_place() -> None:
    played, job = Played(), a_job(rate=(2, 3.0))
    assert [played.play(job).status for _ in range(5)] == ["ok"] * 5
    assert played.pauses == [3.0, 3.0]


def test_a_place_that_is_too_far_away_is_told_and_not_taken() -> None:
    played, job = Played(rate_wait_seconds=10.0), a_job(rate=(1, 60.0))
    assert played.play(job).ok
    refused = played.play(job)
    assert (refused.status, refused.kind) == ("denied", "not_run")
    assert "1 times in 60 seconds" in refused.content
    assert "in 60 seconds" in refused.content
    played.now = 60.0
    assert played.play(job).ok
    assert played.pauses == []


def test_the_end_of_the_turn_bounds_the_wait() -> None:
    played, job = Played(left=2.0), a_job(rate=(1, 5.0))
    assert played.play(job).ok
    assert played.play(job).status == "denied"


def test_a_wait_that_is_disturbed_runs_nothing() -> None:
    played, job = Played(), a_job(rate=(1, 5.0))
    played.play(job)
    played.disturbed = True
    assert played.play(job).status == "denied"
    assert len(played.runs) == 1


def test_what_failed_for_now_is_tried_again_with_growing_pauses() -> None:
    played = Played(retry_seconds=1.0)
    result = played.play(a_job(risk=Risk.READ_ONLY), "transient", "transient", None)
    assert result.ok
    assert played.pauses == [1.0, 2.0]
    assert result.warnings == ("tried 3 times",)


def test_a_write_is_tried_again_only_if_it_says_that_twice_is_once() -> None:
    played = Played()
    assert played.play(a_job(risk=Risk.REVERSIBLE_WRITE), "transient").kind == "transient"
    assert played.play(a_job(), "transient").kind == "transient"
    assert len(played.runs) == 2
    same = Tool(name="find", handler=dict, risk=Risk.REVERSIBLE_WRITE, idempotent=True)
    job = Job(call=ToolCall(id="c1", name="find", arguments={}), tool=same)
    assert played.play(job, "transient", None).ok


def test_a_try_that_did_nothing_says_nothing_about_the_slow_one_before_it() -> None:
    same = Tool(name="find", handler=dict, risk=Risk.REVERSIBLE_WRITE, idempotent=True)
    job = Job(call=ToolCall(id="c1", name="find", arguments={}), tool=same)
    result = Played(max_transient_retries=1).play(job, "timeout", "transient")
    assert result.kind == "timeout", "the ledger must not note that nothing has happened"
    assert result.warnings == ("tried 2 times",)


@pytest.mark.parametrize("kind", ["failed", "internal", "denied", "conflict", "invalid_arguments"])
def test_other_failures_are_the_model_s_to_judge(kind: str) -> None:
    played = Played()
    assert played.play(a_job(risk=Risk.READ_ONLY), kind).kind == kind
    assert played.pauses == []


def test_what_was_too_slow_gets_one_more_try() -> None:
    played = Played()
    assert played.play(a_job(risk=Risk.READ_ONLY), "timeout", None).ok
    slow = Played()
    assert slow.play(a_job(risk=Risk.READ_ONLY), "timeout", "timeout").kind == "timeout"
    assert len(slow.runs) == 2
    write = Played()
    assert write.play(a_job(risk=Risk.REVERSIBLE_WRITE), "timeout").kind == "timeout"
    assert len(write.runs) == 1


def test_the_retries_of_a_turn_are_shared_by_its_calls() -> None:
    played, job = Played(max_transient_retries=3), a_job(risk=Risk.READ_ONLY)
    assert not played.play(job, "transient", "transient", "transient").kind
    assert played.play(job, "transient", "transient").kind == "transient"
    assert len(played.runs) == 5


def test_no_retry_begins_that_the_turn_has_no_time_for() -> None:
    played = Played(left=1.0, retry_seconds=1.0)
    assert played.play(a_job(risk=Risk.READ_ONLY), "transient").kind == "transient"
    assert played.pauses == []


def test_every_run_has_the_time_that_is_left() -> None:
    played = Played(left=50.0, retry_seconds=10.0)
    played.play(a_job(risk=Risk.READ_ONLY), "transient", None)
    assert [run.seconds for run in played.runs] == [50.0, 40.0]


@given(
    count=st.integers(1, 4),
    seconds=st.floats(0.5, 10.0),
    gaps=st.lists(st.floats(0.0, 5.0), max_size=30),
    patience=st.floats(0.0, 20.0),
)
def test_never_do_more_calls_begin_in_the_time_than_the_rate_allows(
    count: int, seconds: float, gaps: list[float], patience: float
) -> None:
    rates, tool = Rates(), a_job(rate=(count, seconds)).tool
    now, begun = 0.0, []
    for gap in gaps:
        now += gap
        claimed, wait = rates.claim(tool, now, patience)
        assert wait >= 0.0
        if claimed:
            assert wait <= patience
            begun.append(now + wait)
    # A start is told as the wait until it, which costs a last digit.
    for start, other in pairwise(begun):
        assert other >= start - 1e-6
    for start, other in zip(begun, begun[count:], strict=False):
        assert other - start >= seconds - 1e-6


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), "5", True])
def test_a_timeout_is_a_number_of_seconds(timeout: Any) -> None:
    with pytest.raises(InvalidToolError, match="timeout"):
        a_job(timeout=timeout)


@pytest.mark.parametrize("rate", [(0, 1), (1, 0), (1.5, 1), (1,), "1/s", (1, float("inf"))])
def test_a_rate_is_a_count_and_a_time(rate: Any) -> None:
    with pytest.raises(InvalidToolError, match="rate"):
        a_job(rate=rate)
