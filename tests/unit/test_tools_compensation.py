from __future__ import annotations

from typing import Any

import pytest

from fallback import Tool, tool
from fallback.errors import InvalidToolError
from fallback.tools import bind_compensation

SCHEMA = {"type": "object", "properties": {"room": {"type": "string"}}}


def test_a_handler_that_wants_what_the_tool_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidToolError, match="compensate takes 'colour'; it may take parameters"):
        Tool(name="book", parameters=SCHEMA, compensate=lambda colour: None)


@pytest.mark.parametrize("compensate", ["cancel", 7])
def test_a_handler_is_a_function(compensate: Any) -> None:
    with pytest.raises(InvalidToolError, match="compensate is a function, got"):
        Tool(name="book", parameters=SCHEMA, compensate=compensate)


def test_a_handler_is_called_by_name() -> None:
    def cancel(room: str, /) -> None: ...

    with pytest.raises(InvalidToolError, match="takes 'room' by position"):
        Tool(name="book", parameters=SCHEMA, compensate=cancel)


def test_a_handler_may_take_everything_or_nothing() -> None:
    everything = Tool(name="book", parameters=SCHEMA, compensate=lambda **given: None)
    arguments = {"room": "blue"}
    assert bind_compensation(everything, arguments, {}, 7) == {"room": "blue", "result": 7}
    nothing = Tool(name="book", parameters=SCHEMA, compensate=lambda: None)
    assert bind_compensation(nothing, arguments, {}, 7) == {}
    of_its_own = Tool(name="book", parameters=SCHEMA, compensate=lambda colour="red": None)
    assert bind_compensation(of_its_own, arguments, {}, 7) == {}


def test_a_handler_is_given_the_types_and_defaults_of_the_tool() -> None:
    @tool(compensate=lambda days, room: None)
    def book(room: str, days: tuple[int, ...] = (1,)) -> None:
        """Book a room."""

    assert bind_compensation(book, {"room": "a", "days": [2, 3]}, {}, None) == {
        "room": "a",
        "days": (2, 3),
    }
    assert bind_compensation(book, {"room": "a"}, {}, None) == {"room": "a", "days": (1,)}


def test_another_tool_may_be_the_handler() -> None:
    @tool
    def cancel(room: str) -> str:
        """Cancel a booking."""
        return f"cancelled {room}"

    @tool(compensate=cancel)
    def book(room: str) -> None:
        """Book a room."""

    assert book.compensate is not None
    assert book.compensate(room="blue") == "cancelled blue"


def test_a_method_may_be_the_handler() -> None:
    class Desk:
        def __init__(self) -> None:
            self.rooms: list[str] = []

        def cancel(self, room: str) -> None:
            self.rooms.remove(room)

        @tool(compensate=cancel)
        def book(self, room: str) -> None:
            """Book a room."""
            self.rooms.append(room)

    desk = Desk()
    desk.book(room="blue")
    assert desk.rooms == ["blue"]
    bound = desk.book.compensate
    assert bound is not None
    bound(**bind_compensation(desk.book, {"room": "blue"}, {}, None))
    assert desk.rooms == []
