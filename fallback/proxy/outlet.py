"""What has gone out of an answer, and in which form: nothing is taken back or said twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fallback.messages import ToolCall
from fallback.proxy.ask import Ask
from fallback.proxy.events import ArgumentsDelta, CallBegun, CallReady, Event, TextDelta
from fallback.proxy.stops import StopFilter

__all__ = ["Outlet"]


class Outlet:
    """Lets text and calls out.

    Attributes:
        calls: complete calls that went out.
        said: whether any text did.
        broken: whether a call that was told while it was written has turned out to be none.
    """

    def __init__(self, ask: Ask, id_prefix: str) -> None:
        self._ask, self._prefix = ask, id_prefix
        self._stops = StopFilter(ask.stop)
        self._space = ""  # blank end of the text: goes out with more text, not before a call
        self._begun: dict[int, CallBegun] = {}
        self._index = 0
        self.calls = 0
        self.said = False
        self.broken = False

    @property
    def stop(self) -> str | None:
        """The client's stop string that has ended the text."""
        return self._stops.hit

    @property
    def begun(self) -> int:
        """Calls of which at least the beginning went out."""
        return self._index

    @property
    def full(self) -> bool:
        """Whether no further call may go out."""
        return self._stops.hit is not None or (self._index > 0 and not self._ask.parallel)

    def say(self, text: str) -> Iterator[Event]:
        """Text, up to a stop string; none behind a call, where a model makes up its results."""
        if self._index:
            return
        text = self._space + self._stops.feed(text)
        visible = text.rstrip()
        self._space = text[len(visible) :]
        if visible:
            self.said = True
            yield TextDelta(visible)

    def rest(self) -> Iterator[Event]:
        """What was held back at the end of the text."""
        rest = self._space + ("" if self._stops.hit else self._stops.close())
        if rest and not self._index:
            yield TextDelta(rest)

    def next_reply(self) -> None:
        """The model begins a new reply, whose calls are counted anew."""
        self._begun = {}

    def begin(self, number: int, name: str) -> Iterator[Event]:
        """The call of that number in the reply has begun."""
        if not self.full:
            event = CallBegun(self._index, self._identity(), name)
            self._begun[number], self._index = event, self._index + 1
            yield event

    def fragment(self, number: int, text: str) -> Iterator[Event]:
        """More of its arguments."""
        if number in self._begun:
            yield ArgumentsDelta(self._begun[number].index, text)

    def withdraw(self, number: int) -> None:
        """It is none that may run; its beginning cannot be taken back."""
        self.broken = self.broken or number in self._begun

    def call(self, number: int, call: ToolCall) -> Iterator[Event]:
        """A complete call, under an id of ours: those of servers come again and again."""
        begun = self._begun.get(number)
        if begun is None:
            if self.full:
                return
            begun = CallBegun(self._index, self._identity(), call.name)
            self._index += 1
        self.calls += 1
        yield CallReady(begun.index, replace(call, id=begun.id))

    def _identity(self) -> str:
        return f"{self._prefix}{self._index}"
