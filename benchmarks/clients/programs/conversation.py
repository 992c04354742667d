"""The protocol between the runner and the program that uses one client. Standard library only.

A line of standard input is one case, ``{"model", "prompt"}``; the answer is one line that begins
with ``OUTCOME``: the text that the client shows, the sums that its tool has done, and the
error that it reports instead.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

URL = os.environ.get("ADAPTER_URL", "")
VARIANT = sys.argv[1] if len(sys.argv) > 1 else ""
ran: list[list[int]] = []


def add(a: int, b: int) -> str:
    """Add two numbers."""
    ran.append([a, b])
    return f"{a}+{b}={a + b}"


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}


def serve(answer: Callable[[str, str], str]) -> None:
    """Answer cases until standard input ends; ``answer`` is given the model and the question."""
    for line in sys.stdin:
        case = json.loads(line)
        ran.clear()
        text, error = "", None
        try:
            text = answer(case["model"], case["prompt"])
        except Exception as failure:  # noqa: BLE001 -- whatever a client raises is its report
            error = f"{type(failure).__name__}: {failure}"[:500] or "error"
        print("OUTCOME " + json.dumps({"text": text, "ran": ran, "error": error}), flush=True)
