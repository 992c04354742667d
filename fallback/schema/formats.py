"""The ``format`` keyword, for the few formats that can be told beyond doubt.

JSON Schema 2020-12 (validation, section 7.2.1) leaves it to the application whether formats are
checked. Here a format is checked where a wrong value is always a mistake of the model (``"next
Friday"`` as a ``date``), and then as liberally as handlers read it: a date-time without an offset
passes. All other formats, known to the validator or not, say something to the reader only.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
import uuid
from collections.abc import Callable

EXAMPLES = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T09:00:00Z",
    "time": "09:00:00",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "email": "name@example.com",
    "uri": "https://example.com",
}
"""A valid value of each format that is checked, for corrections and skeletons."""

HINTS = {"duration": "PT1H", "hostname": "example.com", "uri-reference": "https://example.com"}
"""Good values of formats that are not checked."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z")
_TIME = re.compile(r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?\Z")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\Z")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+\Z")


def _reads(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _date(text: str) -> bool:
    return bool(_DATE.match(text)) and _reads(datetime.date.fromisoformat, text)


def _time(text: str) -> bool:
    # Hours and minutes are looked at alone: fractions may be longer than Python reads.
    return bool(_TIME.match(text)) and _reads(datetime.time.fromisoformat, text[:5])


def _date_time(text: str) -> bool:
    return text[10:11] in ("T", "t", " ") and _date(text[:10]) and _time(text[11:])


def _uuid(text: str) -> bool:
    return _reads(uuid.UUID, text)


def _anything(text: str) -> bool:
    return True


_CHECKED: dict[str, Callable[[str], bool]] = {
    "date": _date,
    "date-time": _date_time,
    "time": _time,
    "uuid": _uuid,
    "ipv4": lambda text: _reads(ipaddress.IPv4Address, text),
    "ipv6": lambda text: _reads(ipaddress.IPv6Address, text),
    "email": lambda text: bool(_EMAIL.match(text)),
    "uri": lambda text: bool(_URI.match(text)),
}
# What jsonschema-rs would check by itself in draft 2020-12.
_LEFT_ALONE = (
    *("duration", "hostname", "idn-email", "idn-hostname", "iri", "iri-reference", "json-pointer"),
    *("regex", "relative-json-pointer", "unknown", "uri-reference", "uri-template"),
)

CHECKERS: dict[str, Callable[[str], bool]] = {**dict.fromkeys(_LEFT_ALONE, _anything), **_CHECKED}
"""One function for every format that the validator knows."""
