"""What commands that serve say: where they are reached, and that they have stopped."""

from __future__ import annotations

import sys
from typing import IO

from fallback.cli.output import complain

__all__ = ["started", "stopped"]


def started(url: str, *, hint: str = "", out: IO[bytes] | None = None) -> None:
    """Tell the address on a line of its own, which scripts read, and what to do with it.

    Args:
        url: where the server is reached, with the port that was found for a port of 0.
        hint: for a person, on standard error.
        out: what scripts read; standard output by default.
    """
    out = out or sys.stdout.buffer
    out.write(f"{url}\n".encode())
    out.flush()
    if hint:
        complain(f"{hint}; Ctrl-C stops it")


def stopped() -> None:
    """Tell a person that the server was told to stop, and has."""
    complain("stopped")
