"""What it gains to start a call that only reads while the model is still writing.

    python benchmarks/eager_calls.py [--json]

A scripted model writes three calls, each of which takes it 60 ms; the tools take as long as the
case says. Times are those of the whole turn, each the median of several, with and without `eager`,
in the same run. The bound is what arithmetic allows: the last call can only start when it is
written.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Generator
from typing import Any

from fallback import Risk, Session, Tool
from fallback.backend import Chunk, GenerationRequest, ModelInfo

WRITING = 0.06
PIECES = 6
CASES = {
    "the first call is slow": (0.18, 0.02, 0.02),
    "all take as long": (0.10, 0.10, 0.10),
    "the last call is slow": (0.02, 0.02, 0.18),
}


class Writer:
    """A model that writes three calls, piece by piece, and then an answer."""

    def __init__(self) -> None:
        self.asked = 0

    def describe(self, model: str) -> ModelInfo:
        """It claims nothing."""
        return ModelInfo(name=model, capabilities=frozenset({"completion"}))

    def stream(self, request: GenerationRequest) -> Generator[Chunk]:
        """Three calls, then an answer."""
        self.asked += 1
        for index in range(3 if self.asked % 2 else 0):
            call = json.dumps({"name": "fetch", "arguments": {"index": index}})
            text = f"<tool_call>{call}</tool_call>\n"
            size = -(-len(text) // PIECES)
            for start in range(0, len(text), size):
                time.sleep(WRITING / PIECES)
                yield Chunk(text=text[start : start + size])
        yield Chunk(text="" if self.asked % 2 else "Done.", done=True)

    def close(self) -> None:
        """There is nothing to give back."""


def seconds(durations: tuple[float, ...], *, eager: bool) -> float:
    def fetch(index: int) -> int:
        """Fetch."""
        time.sleep(durations[index])
        return index

    tool = Tool.from_function(fetch, risk=Risk.READ_ONLY)
    began = time.perf_counter()
    turn = Session("scripted", [tool], backend=Writer(), eager=eager).run("Go?")
    took = time.perf_counter() - began
    assert [result.value for result in turn.steps[0].results] == [0, 1, 2]
    return took


def measured(repeats: int) -> dict[str, dict[str, float]]:
    rows = {}
    for name, durations in CASES.items():
        pairs = [
            (seconds(durations, eager=False), seconds(durations, eager=True))
            for _ in range(repeats)
        ]
        plain, eager = (statistics.median(column) for column in zip(*pairs, strict=True))
        written = [WRITING * (index + 1) for index in range(3)]
        bound = max(w + d for w, d in zip(written, durations, strict=True))
        rows[name] = {
            "plain_seconds": plain,
            "eager_seconds": eager,
            "ratio": eager / plain,
            "bound": bound / (written[-1] + max(durations)),
        }
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--json", action="store_true")
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    rows: dict[str, Any] = measured(given.repeats)
    if given.json:
        print(json.dumps(rows))
        return
    print(f"{'case':<26}{'plain':>9}{'eager':>9}{'ratio':>8}{'bound':>8}")
    for name, row in rows.items():
        plain, eager = row["plain_seconds"] * 1000, row["eager_seconds"] * 1000
        print(f"{name:<26}{plain:>6.0f} ms{eager:>6.0f} ms{row['ratio']:>8.2f}{row['bound']:>8.2f}")


if __name__ == "__main__":
    main()
