"""The protocol between the runner and the program that uses one client. Standard library only.

A line of standard input is one case, ``{"model", "prompt", "task"}``; the answer is one line that
begins with ``OUTCOME``: the text that the client shows, the sums that its tool has done, and the
error that it reports instead. A ``task`` is what the client does besides asking and running tools,
such as demanding a call; the runner puts only those that the registry names for the client.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable

URL = os.environ.get("ADAPTER_URL", "")
VARIANT = sys.argv[1] if len(sys.argv) > 1 else ""
ROUNDS = 12
IMPATIENCE = 5.0  # seconds without a word after which an impatient client gives up
PICTURE = (  # a PNG of one red pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
ran: list[list[int]] = []
_case: dict[str, str] = {}


def task() -> str:
    """What the case asks of the client besides; empty for nothing."""
    return _case.get("task", "")


def add(a: int, b: int) -> str:
    """Add two numbers."""
    ran.append([a, b])
    if a == 13:
        raise ValueError("thirteen is refused")
    return "" if b == 0 else f"{a}+{b}={a + b}"


def is_picture(a: int, b: int) -> bool:
    """Whether the tool shows its result as a picture, where the client's tools can."""
    return (a, b) == (7, 7)


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}


def serve(answer: Callable[[str, str], str]) -> None:
    """Answer cases until standard input ends; ``answer`` is given the model and the question."""
    for line in sys.stdin:
        _case.clear()
        _case.update(json.loads(line))
        ran.clear()
        text, error = "", None
        try:
            # Some clients draw on the terminal, and leave the line that our answer begins with.
            with contextlib.redirect_stdout(sys.stderr):
                text = answer(_case["model"], _case["prompt"])
        except Exception as failure:  # noqa: BLE001 -- whatever a client raises is its report
            error = f"{type(failure).__name__}: {failure}"[:500] or "error"
        print("OUTCOME " + json.dumps({"text": text, "ran": ran, "error": error}), flush=True)
