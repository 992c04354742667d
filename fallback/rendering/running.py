"""A reply that goes on behind its results: calls and results inside one text of the assistant.

``[tool(args) → result]`` stands where the model wrote the call, and the model goes on from there,
so what it has said so far is the beginning of its next reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from fallback.catalogue import Catalogue
from fallback.dialects.record import ARROW, Dialect
from fallback.messages import Message, ToolCall, ToolResult
from fallback.rendering.fences import header_word
from fallback.rendering.text import call_text, result_text

__all__ = ["Place", "Running", "running_answer", "running_messages", "running_place"]

_LONGEST_WORD = 80
"""Characters of a result that can stand in a sentence."""
_JOINED = frozenset(" \n\t.,;:!?%)]}'’”…")
_OPENING = frozenset(" \n\t([{“‘")
_GOES_ON = re.compile(r"\w|[.,:]\d")  # behind ``7``, what makes another number of it


def running_messages(
    messages: Iterable[Message], catalogue: Catalogue, dialect: Dialect
) -> Iterator[Message]:
    """The messages with every call and its result inside the assistant's text.

    A result without its call is told as the user's words, since there is no place for it.
    """
    text, waiting = "", dict[str, ToolCall]()

    def unanswered() -> str:
        calls = tuple(waiting.values())
        waiting.clear()
        return _joined(text, call_text(calls, dialect))

    for message in messages:
        if message.role == "assistant":
            text = _joined(unanswered(), message.content)
            waiting |= {call.id: call for call in message.tool_calls}
        elif message.role == "tool" and message.result and message.result.call_id in waiting:
            call = call_text([waiting.pop(message.result.call_id)], dialect)
            text = _joined(text, f"{call} {result_text(message.result, dialect, catalogue)}")
        else:
            if text := unanswered():
                yield Message(role="assistant", content=text)
            text = ""
            shown = _theirs(message, catalogue, dialect)
            yield replace(message, role="user", content=shown, result=None)
    if text := unanswered():
        yield Message(role="assistant", content=text)


class Place(NamedTuple):
    """Between two parts of a running text.

    Attributes:
        last: the last character of what has been told.
        words: results behind it, which have not been told yet.
    """

    last: str = ""
    words: tuple[str, ...] = ()


_BEGIN = Place()


class Running:
    """What the user reads, while it grows: the text without the brackets.

    A short result stands where it was called for, unless the model has gone on by saying it. So the
    beginning of what follows a result is held back until that is known. However the text is cut
    into pieces, what is given for them adds up to the same.
    """

    def __init__(self, place: Place = _BEGIN) -> None:
        self._last = place.last
        self._words = list(place.words)
        self._held: str | None = ""  # ``None`` inside a part, where nothing has to be joined

    def result(self, result: ToolResult) -> None:
        """Take the result of a call that ended the text so far."""
        word = result.content.strip()
        if result.ok and word and len(word) <= _LONGEST_WORD and "\n" not in word:
            self._words.append(word)

    @property
    def place(self) -> Place:
        """Where it stands between two parts."""
        return Place(self._last, tuple(self._words))

    def says(self, text: str) -> str:
        """Take a piece of what the model says; returns what the answer grows by."""
        if self._held is None:
            return self._told(text)
        self._held += text
        begun = self._held.lstrip()
        if not begun or any(_may_say(begun, word) for word in self._words):
            return ""
        return self._settled()

    def pause(self) -> str:
        """The part is over, and what comes next is another one."""
        told = "" if self._held is None or not self._held.strip() else self._settled()
        self._held = ""
        return told

    def end(self) -> str:
        """The part is over, and nothing comes behind it."""
        told = self.pause()
        return told + self._with_words(len(self._words))

    def _settled(self) -> str:
        """The results that were not said, and what was held."""
        held, self._held = self._held or "", None
        begun = held.lstrip()
        said = (i for i, word in enumerate(self._words) if _says(begun, word))
        told = self._with_words(next(said, len(self._words)))
        return told + self._told(_joint(self._last, held))

    def _with_words(self, count: int) -> str:
        """The first results as a part of their own; the others are done with too."""
        words = ", ".join(self._words[:count])
        self._words.clear()
        return self._told(_joint(self._last, words))

    def _told(self, text: str) -> str:
        self._last = text[-1:] or self._last
        return text


def running_place(messages: Iterable[Message]) -> Place:
    """Where the next part of these messages begins."""
    running, _ = _read(messages)
    return running.place


def running_answer(messages: Iterable[Message]) -> str:
    """What the user reads of messages, see :class:`Running`."""
    running, told = _read(messages)
    return (told + running.end()).strip()


def _read(messages: Iterable[Message]) -> tuple[Running, str]:
    running, told = Running(), ""
    for message in messages:
        if message.role == "assistant":
            told += running.says(message.content) + running.pause()
        elif message.role == "tool" and message.result is not None:
            running.result(message.result)
    return running, told


def _says(text: str, word: str) -> bool:
    """Whether a text begins with a word, and not with a longer one."""
    if not text.startswith(word):
        return False
    return not (word[-1].isalnum() and _GOES_ON.match(text, len(word)))


def _may_say(text: str, word: str) -> bool:
    """Whether more of a text decides if it begins with a word."""
    return word.startswith(text) or (text.startswith(word) and len(text) < len(word) + 2)


def _theirs(message: Message, catalogue: Catalogue, dialect: Dialect) -> str:
    if message.role != "tool":
        return message.content if message.content.strip() else ""
    result = message.result or ToolResult(call_id="", name="", content=message.content)
    return f"[{header_word(result.name)} {ARROW} {result_text(result, dialect, catalogue)}"


def _joined(before: str, behind: str) -> str:
    """Two parts of a text, with a blank between them where one belongs."""
    return before + _joint(before[-1:], behind)


def _joint(last: str, behind: str) -> str:
    """A part as it stands behind one that ends with ``last``."""
    if not behind.strip():
        return ""
    if not last or last in _OPENING or behind[0] in _JOINED:
        return behind.lstrip(" ") if last in ("", " ") else behind
    return f" {behind}"
