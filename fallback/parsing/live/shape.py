"""The brackets, keys and values of an object or of a Python call, told one by one as they arrive.

Only what is written as JSON or Python have it is told. At the first thing that is neither, and so
for a repair to explain, this stops: the rest is told when the whole is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, Protocol

_Expected = Literal["start", "key", "colon", "value", "item", "after", "argument", "name", "splat"]
_CLOSERS = {"}": "{*", "]": "[", ")": "("}  # a star stands for a brace around arguments
_NEXT: dict[str, _Expected] = {"{": "key", "*": "key", "[": "item", "(": "argument"}
_MAY_CLOSE = frozenset(("key", "item", "after", "argument"))
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
LITERALS = {
    "true": True, "false": False, "null": None, "True": True, "False": False, "None": None,
}  # fmt: skip
_LONGEST_KEY = 128


class Sink(Protocol):
    """Takes what is read; see :class:`~fallback.parsing.live.arguments.Arguments`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The declared parameters in order, for values without a name."""
        ...

    @property
    def stopped(self) -> bool:
        """Whether nothing more is taken."""
        ...

    def key(self, key: str) -> None:
        """The name of the next value."""

    def scalar(self, value: Any) -> None:
        """A number or a literal."""

    def open(self, opener: str) -> None:
        """An object or an array begins."""

    def close(self) -> None:
        """The innermost one ends; one more than were opened ends it all."""

    def string(self) -> Callable[[str], None]:
        """A string begins; returns what takes its pieces."""
        ...

    def end_string(self) -> None:
        """The string ends."""

    @property
    def direct(self) -> Callable[[str], None] | None:
        """What takes plain characters of the open string without any delay, if there is one."""
        ...

    def stop(self) -> None:
        """What follows cannot be told."""

    def flush(self) -> None:
        """A piece of the text has been read."""


class Shape:
    """Follows one object, or the arguments of one Python call, from its opening bracket on."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.done = False
        self._stack: list[str] = []
        self._expected: _Expected = "start"
        self._text: list[str] | None = None  # a string that may be a key
        self._size = 0
        self._named = False  # whether an argument with its name has been seen
        self._alone = False  # whether one object without a name is all the arguments
        self._place = 0  # how many arguments without their names
        self._first = (False, "")  # whether what may be a key is quoted, and what it is

    def stop(self) -> None:
        """Read no more."""
        self.done = True
        self.sink.stop()

    @property
    def direct(self) -> Callable[[str], None] | None:
        """See :class:`Sink`."""
        return self.sink.direct if self._text is None else None

    def mark(self, char: str) -> None:
        """A bracket or a separator."""
        if char in "{[(":
            self._opens(char)
        elif char in _CLOSERS:
            self._closes(char)
        elif char == ",":
            self._settle_place()
            if self._expected != "after":
                self.stop()
            else:
                self._expected = _NEXT[self._stack[-1]]
        else:
            self._colon(char)
        if self.sink.stopped:
            self.done = True

    def _opens(self, char: str) -> None:
        if self._expected == "start":
            self._stack.append(char)
            self._expected = _NEXT[char]
            return
        if self._expected == "splat" and char == "{":
            self._named, self._alone = True, False
            self._stack.append("*")
            self._expected = "key"
            return
        if self._expected == "argument":
            if char == "{" and not (self._place or self._named):
                # One object without a name is all the arguments, if its keys are theirs.
                self._alone = True
                self._stack.append("*")
                self._expected = "key"
                return
            self._begin_place()
        if self.done or char == "(" or self._expected not in ("value", "item"):
            self.stop()
            return
        self.sink.open(char)
        self._stack.append(char)
        self._expected = _NEXT[char]

    def _closes(self, char: str) -> None:
        self._settle_place()
        if self._expected not in _MAY_CLOSE or self._stack[-1] not in _CLOSERS[char]:
            self.stop()
            return
        if self._stack.pop() != "*":
            self.sink.close()
        self._expected = "after"
        self.done = self.done or not self._stack

    def _colon(self, char: str) -> None:
        if self._expected == "name":
            quoted, word = self._first
            if not (quoted or word.isidentifier()):
                self.stop()
                return
            self._named = True
            self.sink.key(word)
            self._expected = "value"
        elif self._expected == "colon" and char == ":":
            self._expected = "value"
        else:
            self.stop()

    def word(self, text: str) -> None:
        """A number, a literal, or a key without quotes."""
        if self._expected == "key":
            self.key(text if text.isidentifier() else "")
        elif self._expected == "argument" and text == "**":
            self._expected = "splat"
        elif self._expected == "argument":
            self._first, self._expected = (False, text), "name"
        elif self._expected in ("value", "item"):
            self._value(text)
        else:
            self.stop()

    def _value(self, text: str) -> None:
        number = NUMBER.fullmatch(text)
        if number:
            self.sink.scalar(float(text) if number.lastindex else int(text))
        elif text in LITERALS:
            self.sink.scalar(LITERALS[text])
        else:
            self.stop()
        self._expected = "after"
        self.done = self.done or self.sink.stopped

    def string(self) -> Callable[[str], None]:
        """A string begins; returns what takes its pieces, decoded."""
        if self._expected in ("value", "item"):
            return self.sink.string()
        self._text, self._size = [], 0
        if self._expected not in ("key", "argument"):
            self.stop()
        return self._collect

    def _collect(self, piece: str) -> None:
        if self._text is None:
            return
        self._text.append(piece)
        self._size += len(piece)
        if self._size > _LONGEST_KEY:
            self.stop()

    def end_string(self) -> None:
        """The string ends."""
        if self._text is None:
            self.sink.end_string()
            self._expected = "after"
        else:
            text, self._text = "".join(self._text), None
            if self._expected == "key":
                self.key(text)
            else:
                self._first, self._expected = (True, text), "name"
        self.done = self.done or self.sink.stopped

    @property
    def at_key(self) -> bool:
        """Whether the next word is a key."""
        return self._expected == "key"

    def key(self, key: str) -> None:
        """A key, whole."""
        alone = self._alone and self._stack[-1] == "*"
        if not key or (alone and not self._is_argument(key)):
            self.stop()
            return
        self.sink.key(key)
        self._expected = "colon"
        self.done = self.done or self.sink.stopped

    def _is_argument(self, key: str) -> bool:
        """Whether a key shows that the object is the arguments and not the only one of them."""
        return key in self.sink.names and len(self.sink.names) > 1

    # -- arguments without a name

    def _begin_place(self) -> None:
        """The value of the next declared parameter begins."""
        if self._named or self._place >= len(self.sink.names):
            self.stop()
            return
        self.sink.key(self.sink.names[self._place])
        self._place += 1
        self._expected = "value"

    def _settle_place(self) -> None:
        """A word behind which no colon came was a value."""
        if self._expected != "name":
            return
        quoted, value = self._first
        self._begin_place()
        if not self.done:
            self.text(value) if quoted else self._value(value)

    def text(self, text: str) -> None:
        """A string, whole; anywhere but where a value is expected it stops everything."""
        if self._expected not in ("value", "item"):
            self.stop()
            return
        self.sink.string()(text)
        self.sink.end_string()
        self._expected = "after"
        self.done = self.done or self.sink.stopped
