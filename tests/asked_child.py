"""For tests with several processes: one that is told what to do, line by line, and answers so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent


class AskedChild:
    """A process that runs a script of this folder over a ledger and a file of effects."""

    def __init__(self, script: str, url: str, effects: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, script, url, effects],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}"},
        )

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> int:
        """Let it end by itself; returns how it did."""
        self.process.communicate()
        return self.process.returncode


@contextmanager
def two_children(script: str, url: str, effects: Path) -> Iterator[list[AskedChild]]:
    """Two of them over the same ledger; neither is left behind."""
    made = [AskedChild(script, url, effects) for _ in range(2)]
    try:
        yield made
    finally:
        ends = [child.end() for child in made]
    assert set(ends) <= {0, -9}, ends


def effects_of(effects: Path) -> Counter[str]:
    """How often each effect has happened."""
    return Counter(effects.read_text(encoding="utf-8").splitlines() if effects.exists() else [])
