"""How long a call may take, and how often a tool may be called."""

from __future__ import annotations

import math
from typing import Any

from fallback.errors import InvalidToolError

__all__ = ["check_pace"]


def check_pace(name: str, timeout: Any, rate: Any) -> None:
    """Check ``timeout`` and ``rate`` of a tool; ``None`` stands for no limit of its own.

    Raises:
        InvalidToolError: neither a time nor a pair of a count and a time.
    """
    if timeout is not None and not _is_time(timeout):
        raise InvalidToolError(
            f"tool {name!r}: timeout is a number of seconds above 0, not {timeout!r}"
        )
    if rate is not None and not _is_rate(rate):
        raise InvalidToolError(
            f"tool {name!r}: rate is (calls, seconds), such as (10, 60), not {rate!r}"
        )


def _is_time(value: Any) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and 0 < value < math.inf


def _is_rate(value: Any) -> bool:
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    count, seconds = value
    whole = isinstance(count, int) and not isinstance(count, bool)
    return whole and count >= 1 and _is_time(seconds)
