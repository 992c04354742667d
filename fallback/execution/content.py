"""What a tool returned, as the text a model is shown: readable, encodable, and of bounded size."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, time
from enum import Enum
from typing import Any

__all__ = ["cap", "to_text"]

_SURROGATES = re.compile("[\ud800-\udfff]+")
_PLAIN = (bool, int, float, str)


def to_text(value: Any, *, none: str = "null") -> str:
    """Write any value for the model; never raises.

    A string stays as it is and everything else becomes JSON without ``\\uXXXX``. Dataclasses,
    pydantic models, enums, dates, sets and bytes are understood (fields that a dataclass keeps
    out of its ``repr`` stay out); what JSON cannot hold falls back to ``str``. Lone surrogates,
    which no UTF-8 text can carry, become U+FFFD.

    Args:
        value: what the tool returned.
        none: the text for ``None``: ``done`` reads better where a tool never returns anything.
    """
    if value is None:
        return none
    return _SURROGATES.sub("\ufffd", value if isinstance(value, str) else _json(value))


def _json(value: Any) -> str:
    if isinstance(value, bytes | bytearray | Enum | date | time):
        value = _plain(value)
        return value if isinstance(value, str) else _json(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except Exception:  # noqa: BLE001 # odd keys, cycles, endless nesting, foreign model_dump methods
        return _described(value)


def _plain(value: Any) -> Any:
    """One layer of a value that JSON does not know, as something it does."""
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", errors="replace")
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, _PLAIN) else value.name
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): inner for key, inner in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(value, key=str)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.repr}
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json")
    return _described(value)


def _described(value: Any) -> str:
    """``str(value)`` unless that would only be an address in memory."""
    kind = type(value)
    described: list[object] = [kind.__str__, kind.__repr__]
    if described == [object.__str__, object.__repr__]:
        return f"({kind.__name__})"
    try:
        return str(value)
    except Exception:  # noqa: BLE001 # foreign __str__ methods may do anything
        return f"({kind.__name__})"


def cap(text: str, limit: int) -> tuple[str, str | None]:
    """Keep the head and the tail of a text that is longer than ``limit`` characters.

    Returns:
        The text, no longer than ``limit``, with a note in its middle how much is missing; and the
        same note as a warning for the caller, or ``None`` where nothing is missing.
    """
    if len(text) <= limit:
        return text, None
    # The note's own length does not depend on how much is missing by more than a few digits.
    note = f"\n[... {len(text)} of {len(text)} characters left out; ask for less to see more ...]\n"
    room = max(0, limit - len(note))
    tail = room // 3
    missing = len(text) - room
    warning = f"{missing} of {len(text)} characters left out"
    kept = text[: room - tail] + f"\n[... {warning}; ask for less to see more ...]\n"
    return (kept + text[len(text) - tail :])[:limit], warning
