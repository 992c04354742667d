"""The numbers and dates that a text names, however they are written.

Where a spelling can mean two numbers (``1,234``) it means both, so that what is reported as not
found really stands nowhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

__all__ = ["DATE", "NUMBER", "Day", "days", "is_number_of", "numbers", "spelled_numbers"]

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = "(?:" + "|".join(f"{m[:3]}(?:{m[3:]})?" for m in _MONTHS) + r"|sept)\.?"
_ORDINAL = r"(?:st|nd|rd|th)?"
DATE = re.compile(
    rf"""(?ix) (?<![\w.,/-]) (?:
        (?P<y1>\d{{4}}) (?P<s1>[-/.]) (?P<m1>\d{{1,2}}) (?P=s1) (?P<d1>\d{{1,2}})
      | (?P<a>\d{{1,2}}) (?P<s2>[-/.]) (?P<b>\d{{1,2}}) (?P=s2) (?P<y2>\d{{4}})
      | (?P<d3>\d{{1,2}}) {_ORDINAL}[ ](?:of[ ])? (?P<m3>{_MONTH}) (?:,?[ ](?P<y3>\d{{4}}))?
      | (?P<m4>{_MONTH})[ ](?P<d4>\d{{1,2}}) {_ORDINAL} (?:,?[ ](?P<y4>\d{{4}}))?
    ) (?![\d/-] | \.\d)"""
)
_GAPS = "'’\u00a0\u2009\u202f_"
_GROUPED = rf"\d{{1,3}}(?:[,.{_GAPS}]\d{{3}})+(?:[.,]\d+)?"
_SCALES = {"thousand": 3, "million": 6, "mio": 6, "billion": 9, "trillion": 12}
_SHORT_SCALES = {"k": 3, "m": 6, "bn": 9}
"""Letters that may be units as well: ``5 m`` are metres or millions."""

NUMBER = re.compile(
    rf"""(?ix) (?<![\w.]) (?P<digits>{_GROUPED}|\d+(?:[.,]\d+)?)
         (?: (?P<exponent>e[+-]?\d{{1,3}})
           | [ ]?(?P<scale>{"|".join((*_SCALES, *_SHORT_SCALES))}) (?![a-z/]) )? """
)
_GAP = re.compile(f"[{_GAPS}]")
_MOST_DIGITS = 40
_ROUNDED = Decimal("0.05")
_LEAST_ROUNDED = 1_000
_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six",
    "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_SPELLED = re.compile(rf"(?i)\b(?:{'|'.join((*_WORDS, 'once', 'twice'))})\b")


class Day(NamedTuple):
    """A day of the calendar; ``year`` is 0 where none is named."""

    year: int
    month: int
    day: int


def days(match: re.Match[str]) -> Iterator[Day]:
    """What a match of :data:`DATE` can mean: ``3/4/2031`` is in March or in April."""
    if match["y1"]:
        yield Day(int(match["y1"]), int(match["m1"]), int(match["d1"]))
    elif match["y2"]:
        a, b = int(match["a"]), int(match["b"])
        yield from (Day(int(match["y2"]), m, d) for m, d in ((a, b), (b, a)) if m <= 12)
    else:
        month, day = match["m3"] or match["m4"], match["d3"] or match["d4"]
        year = match["y3"] or match["y4"] or "0"
        number = next(i for i, m in enumerate(_MONTHS, 1) if m[:3] == month[:3].lower())
        yield Day(int(year), number, int(day))


def numbers(match: re.Match[str]) -> set[Decimal]:
    """What a match of :data:`NUMBER` can mean, without its sign: ``1.234`` may be a thousand."""
    text = _GAP.sub("", match["digits"])
    if len(text) > _MOST_DIGITS:
        return set()
    spellings = {text.replace(",", ""), text.replace(".", "").replace(",", ".")}
    if text.count(",") == 1 and "." not in text:
        spellings.add(text.replace(",", "."))
    scale = (match["scale"] or "").lower()
    exponents = {match["exponent"] or ""}
    if scale:
        exponents = {f"e{_SCALES.get(scale) or _SHORT_SCALES[scale]}"}
        exponents |= {""} if scale in _SHORT_SCALES else set()
    found = set()
    for spelling in spellings:
        for exponent in exponents:
            try:
                found.add(Decimal(spelling + exponent))
            except InvalidOperation:  # two points: only one of the two readings is a number
                continue
    return found


def spelled_numbers(text: str) -> set[Decimal]:
    """Small numbers that a text writes as words."""
    found = {match[0].lower() for match in _SPELLED.finditer(text)}
    more = {"once": 1, "twice": 2}
    return {Decimal(more[w] if w in more else _WORDS.index(w)) for w in found}


def is_number_of(number: Decimal, known: Sequence[Decimal]) -> bool:
    """Whether a number is one of those that are known, or one of them rounded as numbers are told.

    Rounding means fewer decimals, or zeros at the end of a number of four digits and more.

    Args:
        number: what is looked for.
        known: sorted.
    """
    exponent = number.normalize().as_tuple().exponent
    if not isinstance(exponent, int):
        return False
    reach = Decimal(1).scaleb(exponent) / 2
    if exponent > 0:
        reach = min(reach, abs(number) * _ROUNDED) if abs(number) >= _LEAST_ROUNDED else Decimal(0)
    at = bisect_left(known, number - reach)
    return at < len(known) and known[at] <= number + reach
