"""How long a model stays loaded, as requests write it.

Source: Ollama's ``keep_alive`` (a number of seconds, or a string in the form of Go's durations).
"""

from __future__ import annotations

import math
import re
from typing import Any

from fallback.engine.reply import WireError

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PIECE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")


def keep_alive_seconds(value: Any) -> float | None:
    """Seconds that a model stays loaded; infinite for a negative value, ``None`` if not given.

    Raises :class:`WireError` 400 with Ollama's texts.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise WireError(400, f"Unsupported type: '{_go_type(value)}'")
    seconds = _go_duration(value) if isinstance(value, str) else float(value)
    return math.inf if seconds < 0 else seconds


def _go_duration(text: str) -> float:
    body = text[1:] if text[:1] in {"+", "-"} else text
    if body == "0":
        return 0.0
    total, position = 0.0, 0
    for match in _PIECE.finditer(body):
        if match.start() != position:
            break
        total += float(match[1]) * _UNITS[match[2]]
        position = match.end()
    if not body or position != len(body):
        reason = "missing unit in" if _NUMBER.fullmatch(text) else "invalid"
        raise WireError(400, f'time: {reason} duration "{text}"')
    return -total if text.startswith("-") else total


def _go_type(value: Any) -> str:
    return {bool: "bool", list: "[]interface {}", dict: "map[string]interface {}"}[type(value)]
