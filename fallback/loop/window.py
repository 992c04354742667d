"""What of a conversation is shown once it outgrows the window.

Strategy. The conversation itself is never cut; a :class:`Cut` says what of it is left out of
requests. First old results are shortened, then the oldest whole turns go, last the results of the
latest calls are shortened too. A cut only grows, and grows in large steps, so that the beginning
of the prompt stays the same for many steps and a server can keep what it has evaluated.

What must stay true: system messages, the last message of the user, and everything behind it stay;
a call is never without its result, nor a result without its call.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from fallback.messages import Message

__all__ = ["Cut", "Fitted", "fit", "shorten", "shown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What is left out.

    Attributes:
        dropped: messages at the beginning that are not shown: whole turns.
        shortened: pairs of an index and a size: results before that message have so many
            characters at most.
    """

    dropped: int = 0
    shortened: tuple[tuple[int, int], ...] = ()

    def within(self, length: int) -> Cut:
        """The cut for a conversation of which only so many messages were kept."""
        return Cut(
            dropped=min(self.dropped, length),
            shortened=tuple((min(end, length), size) for end, size in self.shortened),
        )


@dataclass(frozen=True, slots=True)
class Fitted:
    """A cut, how large it leaves the request, and whether that fits."""

    cut: Cut
    size: int
    fits: bool


def shown(messages: Sequence[Message], cut: Cut) -> tuple[Message, ...]:
    """The messages as they are shown under a cut."""
    kept = []
    for index, message in enumerate(messages):
        if index < cut.dropped and message.role != "system":
            continue
        sizes = [size for end, size in cut.shortened if index < end]
        kept.append(_short(message, min(sizes)) if sizes else message)
    return tuple(kept)


def shorten(text: str, size: int) -> str:
    """Keep the head and the tail of a text, and say between them how much is missing."""
    if len(text) <= size:
        return text
    # The note's own length does not depend on how much is missing by more than a few digits.
    longest = len(_note(len(text), len(text)))
    room = max(0, size - longest)
    tail = room // 3
    note = _note(len(text) - room, len(text))
    return (text[: room - tail] + note + text[len(text) - tail :])[:size]


def _note(missing: int, whole: int) -> str:
    return f"\n[... {missing} of {whole} characters left out, to save room ...]\n"


def fit(
    messages: Sequence[Message],
    cut: Cut,
    *,
    size: Callable[[tuple[Message, ...]], int],
    room: int,
    goal: int,
    short: int,
) -> Fitted:
    """Cut as much as is needed.

    Args:
        messages: the whole conversation.
        cut: what was left out before; it only grows.
        size: how large a request with these messages is; less for fewer or shorter messages.
        room: how large it may be.
        goal: how large it should be once something has to be cut; at most ``room``.
        short: characters that a shortened result keeps.

    Returns:
        The smallest cut that reaches the goal; failing that, the smallest that fits the room;
        failing that, the largest that makes a difference.
    """
    now = size(shown(messages, cut))
    if now <= room:
        return Fitted(cut, now, fits=True)
    cuts = list(_larger(messages, cut, short))
    sizes = _Sizes(messages, cuts, size)
    for wanted in (goal, room):
        found = bisect_left(sizes, -wanted)
        if found < len(cuts):
            return Fitted(cuts[found], -sizes[found], fits=True)
    smallest = -sizes[len(cuts) - 1]
    return Fitted(cuts[-1] if smallest < now else cut, smallest, fits=False)


class _Sizes(Sequence[int]):
    """The sizes that cuts leave, negative so that they rise; each is found out when asked for."""

    def __init__(
        self,
        messages: Sequence[Message],
        cuts: list[Cut],
        size: Callable[[tuple[Message, ...]], int],
    ) -> None:
        self._messages, self._cuts, self._size = messages, cuts, size

    def __len__(self) -> int:
        return len(self._cuts)

    def __getitem__(self, index: int) -> int:  # type: ignore[override] # slices are not needed
        return -self._size(shown(self._messages, self._cuts[index]))


def _larger(messages: Sequence[Message], cut: Cut, short: int) -> Iterator[Cut]:
    """Ever larger cuts, the first of them the given one."""
    yield cut
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    latest = _latest(messages)
    cut = _with(cut, latest, short)
    yield cut
    for boundary in users:
        if boundary > cut.dropped:
            yield replace(cut, dropped=boundary)
    cut = replace(cut, dropped=max(cut.dropped, users[-1] if users else 0))
    largest = max((len(message.content) for message in messages[latest:]), default=0)
    size = largest // 2
    while size > short:
        yield _with(cut, len(messages), size)
        size //= 2
    yield _with(cut, len(messages), short)


def _with(cut: Cut, end: int, size: int) -> Cut:
    """The cut with one more mark, without those that it makes superfluous."""
    marks = [mark for mark in cut.shortened if mark[0] > end or mark[1] < size]
    if not any(mark[0] >= end and mark[1] <= size for mark in marks):
        marks.append((end, size))
    return replace(cut, shortened=tuple(marks))


def _latest(messages: Sequence[Message]) -> int:
    """Where the results begin that the model has not been able to use yet."""
    index = len(messages)
    while index and messages[index - 1].role == "tool":
        index -= 1
    return index


def _short(message: Message, size: int) -> Message:
    if message.role != "tool":
        return message
    result = message.result
    if result is not None:
        result = replace(result, content=shorten(result.content, size))
    return replace(message, content=shorten(message.content, size), result=result)
