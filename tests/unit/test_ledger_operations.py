from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from databases import Clock

from fallback.errors import ConfigurationError, LedgerError
from fallback.ledger import Begun, Finished, InProgress, Ledger, Operation, Unknown
from fallback.messages import ToolResult

PAY = Operation(tool="pay", arguments={"amount": 5}, user="ann", seconds=30)
PAID = ToolResult(call_id="c1", name="pay", content="paid", value={"id": 7}, warnings=("slow",))


def begin(ledger: Ledger, key: str = "k", operation: Operation = PAY) -> Begun:
    begun = ledger.begin(key, operation)
    assert isinstance(begun, Begun)
    return begun


def test_the_same_key_gives_the_first_result(ledger: Ledger) -> None:
    ledger.finish(begin(ledger), PAID)
    assert ledger.begin("k", PAY) == Finished(key="k", id=ledger.list()[0].id, result=PAID)


def test_a_started_operation_is_in_progress_for_everybody_else(ledger: Ledger) -> None:
    begun = begin(ledger)
    found = ledger.begin("k", PAY)
    assert isinstance(found, InProgress)
    assert found.id == begun.id


def test_a_holder_that_is_not_heard_of_leaves_an_unknown_operation(
    ledger: Ledger, clock: Clock
) -> None:
    begin(ledger)
    clock.now += 30 + 59
    assert isinstance(ledger.begin("k", PAY), InProgress)
    clock.now += 2
    found = ledger.begin("k", PAY)
    assert isinstance(found, Unknown)
    assert "has not been heard of since its deadline" in found.detail


def test_a_holder_that_was_given_up_too_early_still_counts(ledger: Ledger, clock: Clock) -> None:
    begun = begin(ledger)
    clock.now += 1000
    assert isinstance(ledger.begin("k", PAY), Unknown)
    ledger.finish(begun, PAID)
    assert isinstance(ledger.begin("k", PAY), Finished)


def test_what_surely_had_no_effect_may_be_begun_again(ledger: Ledger) -> None:
    begun = begin(ledger)
    ledger.fail(begun, "no connection", effect="none")
    again = begin(ledger)
    assert (again.id, again.attempt) == (begun.id, 2)


def test_a_failure_in_the_middle_is_unknown_and_stays_so(ledger: Ledger) -> None:
    ledger.fail(begin(ledger), "timed out; password=hunter2")
    found = ledger.begin("k", PAY)
    assert isinstance(found, Unknown)
    assert found.detail == "timed out; password=***"
    assert isinstance(ledger.begin("k", PAY), Unknown)


def test_a_person_says_that_it_was_done(ledger: Ledger) -> None:
    begun = begin(ledger)
    ledger.fail(begun, "timed out")
    stored = ledger.resolve(begun.id, "done", by="ann", detail="it is on the statement")
    assert stored.state == "finished"
    found = ledger.begin("k", PAY)
    assert isinstance(found, Finished)
    assert found.result.content == "Done, as ann says. it is on the statement"


def test_a_person_says_that_it_was_not_done(ledger: Ledger) -> None:
    ledger.fail(begin(ledger), "timed out")
    assert ledger.resolve("k", "not_done", by="ann").state == "failed"
    assert begin(ledger).attempt == 2


def test_only_an_unknown_operation_can_be_resolved(ledger: Ledger) -> None:
    begun = begin(ledger)
    with pytest.raises(LedgerError, match="is started; only an unknown one"):
        ledger.resolve("k", "done", by="ann")
    ledger.finish(begun, PAID)
    with pytest.raises(LedgerError, match="is finished; only an unknown one"):
        ledger.resolve("k", "not_done", by="ann")
    with pytest.raises(LedgerError, match="no operation 'nothing'"):
        ledger.resolve("nothing", "done", by="ann")


def test_a_report_after_the_matter_was_settled_is_kept_but_changes_nothing(ledger: Ledger) -> None:
    first = begin(ledger)
    ledger.fail(first, "timed out")
    ledger.resolve("k", "not_done", by="ann")
    second = begin(ledger)
    with pytest.raises(LedgerError, match="already started"):
        ledger.finish(first, PAID)
    assert isinstance(ledger.begin("k", PAY), InProgress)
    ledger.finish(second, PAID)
    events = [(entry.body["event"], entry.body.get("outcome")) for entry in ledger.entries()]
    assert events[-2:] == [("late", "ok"), ("finished", "ok")]


def test_a_key_names_one_call(ledger: Ledger) -> None:
    begin(ledger)
    other = Operation(tool="pay", arguments={"amount": 6})
    with pytest.raises(ConfigurationError, match="was used for another call, of 'pay'"):
        ledger.begin("k", other)


@pytest.mark.parametrize("key", ["", "a\nb", "\0", "\ud800", "x" * 501])
def test_an_unusable_key_is_refused(ledger: Ledger, key: str) -> None:
    with pytest.raises(ConfigurationError, match="printable characters"):
        ledger.begin(key, PAY)


def test_any_text_can_be_stored(ledger: Ledger) -> None:
    odd = "\0 \ud800 é 🎉 ' \" \x1b"
    operation = Operation(tool="pay", arguments={"note": odd, "deep": [{"x": odd}]})
    result = ToolResult(call_id="c", name="pay", content=odd, value=[odd, 1.5, None])
    begun = begin(ledger, "k", operation)
    ledger.finish(begun, result, resource=odd)
    stored = ledger.get(begun.id)
    assert stored is not None
    assert (stored.arguments, stored.result) == (operation.arguments, result)
    assert ledger.verify() is None


def test_a_text_that_looks_like_json_stays_a_text(ledger: Ledger) -> None:
    ledger.finish(begin(ledger), ToolResult(call_id="c", name="pay", value="12"))
    found = ledger.begin("k", PAY)
    assert isinstance(found, Finished)
    assert found.result.value == "12"


def test_of_many_threads_one_begins(ledger: Ledger) -> None:
    ready = threading.Barrier(8)

    def race(key: str) -> type:
        ready.wait()
        return type(ledger.begin(key, PAY))

    with ThreadPoolExecutor(8) as pool:
        for round_ in range(10):
            kinds = list(pool.map(race, [f"k{round_}"] * 8))
            assert sorted(k.__name__ for k in kinds) == ["Begun"] + ["InProgress"] * 7


def test_the_newest_operations_are_listed_first(ledger: Ledger, clock: Clock) -> None:
    for number in range(3):
        begin(ledger, f"k{number}")
        clock.now += 1
    ledger.finish(begin(ledger, "k3"), PAID)
    assert [stored.key for stored in ledger.list(limit=3)] == ["k3", "k2", "k1"]
    assert [stored.key for stored in ledger.list("finished")] == ["k3"]
    clock.now += 1000
    assert [stored.key for stored in ledger.list("unknown")] == ["k2", "k1", "k0"]


def test_an_operation_ends_once(ledger: Ledger) -> None:
    begun = begin(ledger)
    ledger.finish(begun, PAID)
    with pytest.raises(LedgerError, match="is already finished, so its outcome 'error'"):
        ledger.finish(begun, ToolResult(call_id="c1", name="pay", status="error"))
    with pytest.raises(LedgerError, match="is already finished"):
        ledger.fail(begun, "no", effect="none")
    with pytest.raises(LedgerError, match="is already finished"):
        ledger.fail(begun, "no")
    found = ledger.begin("k", PAY)
    assert isinstance(found, Finished)
    assert found.result == PAID
    assert ledger.verify() is None


def test_an_operation_may_be_called_unknown_twice(ledger: Ledger) -> None:
    begun = begin(ledger)
    ledger.fail(begun, "timed out")
    ledger.fail(begun, "timed out again")
    assert isinstance(ledger.begin("k", PAY), Unknown)


def test_an_id_counts_for_more_than_a_key_that_looks_like_it(ledger: Ledger) -> None:
    begun = begin(ledger)
    begin(ledger, begun.id, Operation(tool="other"))
    stored = ledger.get(begun.id)
    assert stored is not None
    assert stored.tool == "pay"
