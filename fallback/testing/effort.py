"""Work, counted instead of timed: the same on every machine and in every run.

What is counted are function calls, those of C functions included: each chunk that wakes a reader,
each search and each slice is at least one. A C function that passes over text counts once however
far it goes, so a scan that is repeated needlessly shows only through the calls that repeat it; the
benchmark of the parser measures the rest, as ratios of times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def effort(work: Callable[[], object]) -> int:
    """How many functions are called while ``work`` runs, in Python and in C.

    A profiler that is active keeps its place afterwards, but does not see this part.
    """
    count = 0

    def seen(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
