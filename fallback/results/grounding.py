"""Which numbers, dates and ids of an answer stand in nothing that the model was given.

A model that has the result before it still writes ``14`` for ``41``, or a booking number that
nobody issued. What is found here is a hint for the application, not a proof: sums and conversions
that the model has worked out itself are reported as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal

from fallback.results.numbers import (
    DATE,
    NUMBER,
    Day,
    days,
    is_number_of,
    numbers,
    spelled_numbers,
)

__all__ = ["GroundingCheck", "ungrounded"]

GroundingCheck = Callable[[str, Sequence[str]], Iterable[str]]
"""Takes the answer, and the texts that it may rest on; gives what stands in none of them."""

_MOST_FOUND = 20
_MOST_SEARCHES = 500
"""Passages that are looked for in the whole of the sources, which takes a while each."""

_READ_CHARS = 2_000_000
_ID = re.compile(r"(?<![\w-])(?=[\w-]{0,64}\d)(?=[\w-]{0,64}[^\W\d_])\w+(?:-\w+)*")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]]+|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_TIME = re.compile(
    r"(?i)(?:(?<![\w:.])|(?<=\dt))(\d{1,2}):(\d{2})(?::\d{2})?(?: ?([ap])\.?m\b\.?)?(?![\d:])"
)
_NUMBER_WITH_UNIT = re.compile(r"(?i)\d+(?:st|nd|rd|th|[a-zµ°]{1,3}\d?)")
_DIGITS = re.compile(r"(?<!\d)\d{1,40}(?!\d)")
_LIST_MARK = re.compile(r"(?m)^\s{0,8}\d{1,3}[.)](?=\s)")


def ungrounded(answer: str, sources: Sequence[str]) -> tuple[str, ...]:
    """Numbers, dates, times, addresses and ids of ``answer`` that are in none of the ``sources``.

    ``1,234`` is found as ``1234``, ``December 24, 2031`` as ``2031-12-24``, ``2:30 pm`` as
    ``14:30``, ``some 720,000`` as ``717710``: spellings count for nothing, and rounding is allowed.
    Numbers that the answer writes as words, and those of a numbered list, are not looked at. Of the
    sources the first two million characters are read.

    Args:
        answer: what the model says in the end.
        sources: the question and the results, whole.

    Returns:
        At most 20 passages as the answer writes them, in its order, each once.
    """
    known = _Known(sources)
    found = dict.fromkeys(passage for _, passage in sorted(_missing(answer, known)))
    return tuple(found)[:_MOST_FOUND]


class _Known:
    """Everything that the sources name."""

    def __init__(self, sources: Sequence[str]) -> None:
        self.text = "\n".join(sources)[:_READ_CHARS].casefold()
        named = {day for match in DATE.finditer(self.text) for day in days(match)}
        self.days = named | {Day(0, day.month, day.day) for day in named}
        self.times = {_time(match) for match in _TIME.finditer(self.text)}
        found = spelled_numbers(self.text)
        for match in NUMBER.finditer(self.text):
            found |= numbers(match)
        # Parts of dates and ids, too: a year alone, the digits of an order.
        found |= {Decimal(match[0]) for match in _DIGITS.finditer(self.text)}
        self.numbers = sorted(found)
        self.ids = {match[0] for match in _ID.finditer(self.text)}
        self._searches = _MOST_SEARCHES

    def holds(self, passage: str) -> bool:
        """Whether a passage stands anywhere; yes, too, once too many have been looked for."""
        self._searches -= 1
        return self._searches < 0 or passage in self.text


def _missing(answer: str, known: _Known) -> Iterator[tuple[int, str]]:
    """Where each passage stands, and the passage."""
    # Each kind is taken out before the next is looked for: a date has numbers in it.
    rest = _LIST_MARK.sub(lambda match: " " * len(match[0]), answer)
    for pattern, judge in _KINDS:
        kept, at = [], 0
        for match in pattern.finditer(rest):
            verdict = judge(match, known)
            if verdict is None:
                continue
            if not verdict:
                yield match.start(), match[0].strip().rstrip(".,")
            kept += [rest[at : match.start()], " " * len(match[0])]
            at = match.end()
        rest = "".join([*kept, rest[at:]])


_Judge = Callable[[re.Match[str], _Known], bool | None]
"""Whether what was matched is known; ``None`` where it is something else after all."""


def _address_known(match: re.Match[str], known: _Known) -> bool:
    return known.holds(match[0].rstrip(".,;:!?").casefold())


def _date_known(match: re.Match[str], known: _Known) -> bool | None:
    meant = list(days(match))
    return any(day in known.days for day in meant) if meant else None


def _time(match: re.Match[str]) -> tuple[int, int]:
    """Hour and minute on a clock of 24 hours."""
    hour, minute, half = int(match[1]), int(match[2]), (match[3] or "").lower()
    return (hour % 12 + 12 * (half == "p") if half else hour), minute


def _time_known(match: re.Match[str], known: _Known) -> bool:
    return _time(match) in known.times


def _id_known(match: re.Match[str], known: _Known) -> bool | None:
    if _NUMBER_WITH_UNIT.fullmatch(match[0]):
        return None
    wanted = match[0].casefold()
    return wanted in known.ids or known.holds(wanted)


def _number_known(match: re.Match[str], known: _Known) -> bool | None:
    meant = numbers(match)
    if match.string[match.end() : match.end() + 2].lstrip()[:1] == "%":
        meant |= {number / 100 for number in meant}
    return any(is_number_of(number, known.numbers) for number in meant) if meant else None


_KINDS: tuple[tuple[re.Pattern[str], _Judge], ...] = (
    (_ADDRESS, _address_known),
    (DATE, _date_known),
    (_TIME, _time_known),
    (_ID, _id_known),
    (NUMBER, _number_known),
)
