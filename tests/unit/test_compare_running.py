from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compare_kit import Watch, case_of, fenced, host_of, run

from fallback.backend import GenerationRequest
from fallback.compare.hosts import describe
from fallback.compare.running import Outcome, Work, run_missing, units_of
from fallback.compare.store import Store, open_store, read_records
from fallback.compare.units import Sampling
from fallback.errors import (
    BackendConnectionError,
    BackendError,
    BackendProtocolError,
    BackendStatusError,
    BackendTimeoutError,
    CapabilityError,
    ConfigurationError,
    ModelNotFoundError,
)
from fallback.ways import ways_of

CASES = [case_of(id=f"c{number}", question=f"Question {number}?") for number in range(4)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as opened:
        yield opened


def hello(request: GenerationRequest) -> str:
    return "Hello."


class After:
    """Says hello some times and then something else."""

    def __init__(self, times: int, then: Any) -> None:
        self.times, self.then = times, then

    def __call__(self, request: GenerationRequest) -> Any:
        self.times -= 1
        return "Hello." if self.times >= 0 else self.then


def test_a_block_of_cases_is_asked_one_way_and_then_the_next_and_each_is_kept(store: Store) -> None:
    watch = Watch()
    summary = run(store, CASES, [host_of(hello)], watch=watch)
    assert (summary.done, summary.failed, summary.skipped, summary.error) == (8, 0, 0, None)
    ways = ("native+read", "prompt:fenced")
    assert watch.finished == [f"c{number} {way}" for way in ways for number in range(4)]
    assert len(list(read_records(store.folder))) == 8


def test_a_second_run_does_only_what_is_missing(store: Store) -> None:
    run(store, CASES[:3], [host_of(hello)])
    watch = Watch()
    assert run(store, CASES, [host_of(hello)], watch=watch).done == 2
    assert watch.finished == ["c3 native+read", "c3 prompt:fenced"]
    assert run(store, CASES, [host_of(hello)], repeats=2).done == 8
    assert run(store, CASES, [host_of(hello)], repeats=2).done == 0


def test_an_interrupt_keeps_what_is_finished(store: Store) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(store, CASES, [host_of(After(3, KeyboardInterrupt()))])
    assert len(store) == 3
    assert run(store, CASES, [host_of(hello)]).done == 5


def test_a_host_that_dies_ends_the_run_and_loses_nothing(store: Store) -> None:
    watch = Watch()
    gone = BackendConnectionError("nothing answers at http://127.0.0.1:1")
    dying = host_of(After(3, gone), url="http://me:secret@127.0.0.1:1")
    summary = run(store, CASES, [dying], watch=watch)
    assert (summary.done, summary.failed) == (3, 5)
    assert isinstance(summary.error, BackendConnectionError)
    assert watch.lines == ["http://127.0.0.1:1 is lost: nothing answers at http://127.0.0.1:1"]
    assert run(store, CASES, [host_of(hello)]).done == 5


def test_the_units_of_a_lost_host_go_to_the_others(store: Store) -> None:
    lost = host_of(After(1, BackendConnectionError("gone")), url="http://127.0.0.1:1")
    good = host_of(hello, url="http://127.0.0.1:2")
    summary = run(store, CASES, [lost, good])
    assert (summary.done, summary.failed, summary.error) == (8, 0, None)


class Together:
    """Two hosts of which one fails with its first unit, when the other has done all the rest."""

    def __init__(self, error: Exception, units: int) -> None:
        self.error, self.left = error, units
        self.asked = threading.Event()
        self.rest_done = threading.Event()
        self.failed: list[str] = []

    def failing(self, request: GenerationRequest) -> Any:
        self.failed.append(request.messages[-1].content)
        self.asked.set()
        assert self.rest_done.wait(10)
        return self.error

    def good(self, request: GenerationRequest) -> Any:
        assert self.asked.wait(10)
        self.left -= 1
        if self.left == 0:
            self.rest_done.set()
        return "Hello."


@pytest.mark.parametrize(
    "error", [BackendConnectionError("gone"), BackendProtocolError("broke off in the middle")]
)
def test_a_unit_that_failed_at_one_host_is_done_at_the_end_by_the_other(
    store: Store, error: Exception
) -> None:
    both = Together(error, units=3)
    hosts = [
        host_of(both.failing, url="http://127.0.0.1:1"),
        host_of(both.good, url="http://127.0.0.1:2"),
    ]
    watch = Watch()
    summary = run(store, CASES, hosts, ways=["prompt:fenced"], watch=watch)
    assert (summary.done, summary.failed, summary.error) == (4, 0, None)
    assert len(both.failed) == 1
    assert len(watch.lines) == 1


def test_a_unit_that_failed_is_tried_once_more_when_the_others_are_done(store: Store) -> None:
    asked: list[str] = []

    def rule(request: GenerationRequest) -> Any:
        asked.append(request.messages[-1].content)
        if "Question 1" in asked[-1] and len(asked) < 3:
            return BackendTimeoutError("too slow")
        return "Hello."

    watch = Watch()
    summary = run(store, CASES, [host_of(rule)], ways=["prompt:fenced"], watch=watch)
    assert (summary.done, summary.failed, summary.error) == (4, 0, None)
    assert [int(question.split()[1][0]) for question in asked] == [0, 1, 2, 3, 1]
    assert watch.lines == ["c1 by way of prompt:fenced failed and is put off: too slow"]


@pytest.mark.parametrize("hosts", [1, 2])
def test_a_unit_that_always_fails_is_left_after_its_second_try(store: Store, hosts: int) -> None:
    tried: list[str] = []

    def rule(request: GenerationRequest) -> Any:
        if "Question 1" not in request.messages[-1].content:
            return "Hello."
        tried.append(request.messages[-1].content)
        return BackendTimeoutError("too slow")

    there = [host_of(rule, url=f"http://127.0.0.1:{number}") for number in range(1, hosts + 1)]
    watch = Watch()
    summary = run(store, CASES, there, ways=["prompt:fenced"], watch=watch)
    assert (summary.done, summary.failed, len(tried)) == (3, 1, 2)
    assert isinstance(summary.error, BackendTimeoutError)
    assert watch.lines[-1] == "c1 by way of prompt:fenced failed: too slow"


@pytest.mark.parametrize(("last", "tries"), [(True, 4), (False, 8)])
def test_whoever_has_tries_of_its_own_has_the_last_word(
    store: Store, last: bool, tries: int
) -> None:
    taken: list[str] = []

    def outcomes(work: Work, infos: object) -> Iterator[Outcome]:
        work.serving.add("a worker")
        while (unit := work.take("a worker")) is not None:
            taken.append(unit.case.id)
            yield Outcome("a worker", unit, error=BackendError("lost"), last=last)

    units = units_of(["m"], ways_of(["prompt:fenced"]), CASES, sampling=Sampling())
    summary = run_missing(units, {}, (), store, Watch(), outcomes=outcomes)
    assert (summary.failed, len(taken)) == (4, tries)
    assert all(taken.count(case.id) == tries // 4 for case in CASES)


def test_a_model_that_is_gone_is_told_though_all_else_was_made_good(store: Store) -> None:
    gone = ModelNotFoundError("the server has no model 'a'", status=404)
    slow = [BackendTimeoutError("too slow")]

    def rule(request: GenerationRequest) -> Any:
        if request.model == "a":
            return gone
        return slow.pop() if slow else "Hello."

    summary = run(store, CASES, [host_of(rule)], models=["b", "a"])
    assert (summary.done, summary.skipped, summary.failed) == (8, 8, 0)
    assert summary.error is gone


def test_a_model_that_disappears_leaves_the_others_alone(store: Store) -> None:
    gone = ModelNotFoundError("the server has no model 'a'", status=404)
    seen: dict[str, int] = {}

    def rule(request: GenerationRequest) -> Any:
        seen[request.model] = seen.get(request.model, 0) + 1
        return gone if request.model == "a" and seen["a"] > 2 else "Hello."

    watch = Watch()
    summary = run(store, CASES, [host_of(rule)], models=["a", "b"], watch=watch)
    assert (summary.done, summary.skipped) == (2 + 8, 6)
    assert summary.error is gone
    assert watch.lines == ["a is left out from here on: the server has no model 'a'"]


def test_a_way_that_a_model_cannot_go_is_left_out_and_no_error(store: Store) -> None:
    def rule(request: GenerationRequest) -> Any:
        refused = CapabilityError("it does not support tools", status=400, missing="tools")
        return refused if request.mode == "native" else "Hello."

    watch = Watch()
    summary = run(store, CASES, [host_of(rule)], watch=watch)
    assert (summary.done, summary.skipped, summary.error) == (4, 4, None)
    assert watch.left_out == [f"c{number} native+read" for number in range(4)]
    assert "cannot be asked by way of native+read" in watch.lines[0]


@pytest.mark.parametrize(
    "error", [BackendTimeoutError("too slow"), BackendStatusError("out of memory", status=507)]
)
def test_trouble_puts_a_unit_off_and_three_in_a_row_end_the_run(
    store: Store, error: Exception
) -> None:
    def rule(request: GenerationRequest) -> Any:
        good = ("Question 0", "Question 3") if request.mode == "native" else ("Question 0",)
        return "Hello." if request.messages[-1].content.startswith(good) else error

    # Right, wrong, wrong, right; right, wrong, wrong, wrong: only the last three are in a row.
    watch = Watch()
    summary = run(store, CASES, [host_of(rule)], watch=watch)
    assert (summary.done, summary.failed) == (3, 5)
    assert len(watch.lines) == 5
    assert run(store, CASES, [host_of(hello)]).done == 5
    assert summary.error is error


def test_no_way_finds_the_prompt_of_the_one_before_in_the_cache() -> None:
    from fallback.compare.running import BLOCK, units_of
    from fallback.compare.units import Sampling
    from fallback.ways import USUAL_WAYS

    cases = [case_of(id=str(number)) for number in range(3 * BLOCK + 1)]
    units = list(units_of(["m"], USUAL_WAYS, cases, sampling=Sampling()))
    assert len(set(units)) == len(units) == len(USUAL_WAYS) * len(cases)
    places: dict[str, list[int]] = {}
    for place, unit in enumerate(units):
        places.setdefault(unit.case.id, []).append(place)
    for found in places.values():
        assert min(b - a for a, b in itertools.pairwise(found)) >= BLOCK


def test_cases_with_another_window_stand_together() -> None:
    from fallback.compare.running import units_of
    from fallback.compare.units import Sampling
    from fallback.ways import USUAL_WAYS

    cases = [case_of(id="a"), case_of(id="b", num_ctx=9000), case_of(id="c")]
    units = units_of(["m"], USUAL_WAYS[:1], cases, sampling=Sampling())
    assert [unit.case.id for unit in units] == ["a", "c", "b"]


def test_hosts_have_to_have_the_same_model() -> None:
    first, second = host_of(hello), host_of(hello, url="http://me:secret@127.0.0.1:2")
    assert describe([first, second], ["m"])["m"].digest == "scripted"

    class Other:
        def describe(self, model: str) -> Any:
            from fallback.backend import ModelInfo

            return ModelInfo(name=model, digest="another")

    second.backends["generate"].describe = Other().describe  # type: ignore[method-assign]  # a stand-in for one host
    with pytest.raises(ConfigurationError, match="'m' is not the same model at") as caught:
        describe([first, second], ["m"])
    assert "secret" not in str(caught.value)


def test_a_bug_in_one_of_several_hosts_is_not_swallowed(store: Store) -> None:
    broken = host_of(lambda _: ZeroDivisionError("a bug"), url="http://127.0.0.1:1")
    with pytest.raises(ZeroDivisionError):
        run(store, CASES, [broken, host_of(hello, url="http://127.0.0.1:2")])


def test_two_runs_give_the_same_records(tmp_path: Path) -> None:
    def rule(request: GenerationRequest) -> str:
        return fenced("get_weather", city="Oslo")

    kept = []
    for name in ("one", "two"):
        with open_store(tmp_path / name) as opened:
            run(opened, CASES, [host_of(rule)])
            kept.append([_timeless(record) for record in read_records(tmp_path / name)])
    assert kept[0] == kept[1]


def _timeless(record: dict[str, Any]) -> dict[str, Any]:
    steps = [step | {"usage": None} for step in record["steps"]]
    return record | {"steps": steps, "at": ""}
