from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest

from fallback import Injected, Tool, tool
from fallback.errors import LedgerError, ToolFailed, ToolRetry
from fallback.ledger import Begun, Ledger, Operation
from fallback.messages import ToolResult


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    with Ledger.open(ledger_url) as ledger:
        yield ledger


def booked(ledger: Ledger, **arguments: Any) -> str:
    operation = Operation(tool="book", arguments={"room": "blue", **arguments}, user="ann")
    begun = ledger.begin("k", operation)
    assert isinstance(begun, Begun)
    ledger.finish(begun, ToolResult(call_id="c", name="book", value={"id": 7}))
    return begun.id


def book_with(compensate: Callable[..., Any]) -> Tool:
    @tool(compensate=compensate)
    def book(room: str, days: int = 2) -> dict[str, int]:
        """Book a room."""
        return {"id": 7}

    return book


def test_undoing_runs_the_handler_once_with_what_it_asks_for(ledger: Ledger) -> None:
    calls = []

    def cancel(result: dict[str, int], room: str, days: int) -> str:
        calls.append((result, room, days))
        return "cancelled"

    id_ = booked(ledger)
    tools = [book_with(cancel)]
    first = ledger.undo(id_, tools, by="bob")
    assert (first.ok, first.content) == (True, "cancelled")
    assert ledger.undo("k", tools) == first
    assert calls == [({"id": 7}, "blue", 2)]
    stored = ledger.get(id_)
    assert stored is not None
    assert stored.undone_by is not None
    undo = ledger.get(stored.undone_by)
    assert undo is not None
    assert (undo.undoes, undo.user) == (id_, "ann")
    assert ledger.verify() is None


def test_a_handler_may_be_async(ledger: Ledger) -> None:
    async def cancel(result: dict[str, int]) -> str:
        return f"cancelled {result['id']}"

    assert ledger.undo(booked(ledger), [book_with(cancel)]).content == "cancelled 7"


def test_a_handler_that_breaks_leaves_the_undoing_unknown(ledger: Ledger) -> None:
    def cancel() -> None:
        raise OSError("the line broke")

    id_ = booked(ledger)
    tools = [book_with(cancel)]
    assert not ledger.undo(id_, tools).ok
    with pytest.raises(LedgerError, match="was started before and is unknown"):
        ledger.undo(id_, tools)
    stored = ledger.get(id_)
    assert stored is not None
    assert stored.undone_by is None
    ledger.resolve(f"undo:{id_}", "done", by="ann")
    assert ledger.undo(id_, tools).content == "Done, as ann says."


def test_a_handler_that_says_it_did_nothing_may_be_run_again(ledger: Ledger) -> None:
    tries = []

    def cancel() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ToolRetry("the desk is closed")
        return "cancelled"

    id_ = booked(ledger)
    tools = [book_with(cancel)]
    assert not ledger.undo(id_, tools).ok
    assert ledger.undo(id_, tools).ok


def test_a_handler_that_cannot_says_so_for_good(ledger: Ledger) -> None:
    def cancel() -> None:
        raise ToolFailed("the guest has arrived")

    id_ = booked(ledger)
    tools = [book_with(cancel)]
    first = ledger.undo(id_, tools)
    assert "the guest has arrived" in first.content
    assert ledger.undo(id_, tools) == first
    stored = ledger.get(id_)
    assert stored is not None
    assert stored.undone_by is None


def test_a_handler_that_is_interrupted_leaves_the_undoing_unknown(ledger: Ledger) -> None:
    def cancel() -> None:
        raise KeyboardInterrupt

    id_ = booked(ledger)
    with pytest.raises(KeyboardInterrupt):
        ledger.undo(id_, [book_with(cancel)])
    with pytest.raises(LedgerError, match="is unknown"):
        ledger.undo(id_, [book_with(cancel)])


def test_a_handler_is_given_injected_values(ledger: Ledger) -> None:
    seen = []

    @tool(compensate=lambda room, desk: seen.append((room, desk)))
    def book(room: str, desk: Annotated[str, Injected]) -> None:
        """Book a room."""

    id_ = booked(ledger)
    with pytest.raises(LedgerError, match="needs a value for its injected parameter 'desk'"):
        ledger.undo(id_, [book])
    ledger.undo(id_, [book], context={"desk": "north", "other": 1})
    assert seen == [("blue", "north")]


def test_what_cannot_be_undone_is_said_before_anything_is_recorded(ledger: Ledger) -> None:
    plain = Tool(name="book", handler=lambda: None)
    id_ = booked(ledger)
    tools = [book_with(lambda: None)]
    before = ledger.head()
    with pytest.raises(LedgerError, match="no operation 'op_none' in the ledger"):
        ledger.undo("op_none", tools)
    with pytest.raises(LedgerError, match="no compensate"):
        ledger.undo(id_, [plain])
    with pytest.raises(LedgerError, match="ran 'book'"):
        ledger.undo(id_, [])
    assert ledger.head() == before
    ledger.undo(id_, tools)
    stored = ledger.get(id_)
    assert stored is not None
    with pytest.raises(LedgerError, match="that cannot be undone"):
        ledger.undo(str(stored.undone_by), tools)


def test_only_what_went_well_is_undone(ledger: Ledger) -> None:
    tools = [book_with(lambda: None)]
    begun = ledger.begin("k", Operation(tool="book"))
    assert isinstance(begun, Begun)
    with pytest.raises(LedgerError, match="is started; only a finished one"):
        ledger.undo("k", tools)
    ledger.finish(begun, ToolResult(call_id="c", name="book", status="error", content="full"))
    with pytest.raises(LedgerError, match="is error; only a finished one"):
        ledger.undo("k", tools)
