"""What a server's process writes on standard error: its last lines, for when it does not start."""

from __future__ import annotations

import os
import threading
from typing import TextIO

from fallback.execution.masking import mask_credentials

__all__ = ["Stderr"]

_KEPT = 4_096
_SHOWN = 300


class Stderr:
    """A pipe that is always read, so that no server waits for it, and whose end is kept."""

    def __init__(self) -> None:
        inlet, outlet = os.pipe()
        self.file: TextIO = os.fdopen(outlet, "w")
        self._kept = b""
        self._thread = threading.Thread(
            target=self._read, args=(inlet,), name="mcp-stderr", daemon=True
        )
        self._thread.start()

    def _read(self, inlet: int) -> None:
        with os.fdopen(inlet, "rb", buffering=0) as stream:
            while chunk := stream.read(_KEPT):
                self._kept = (self._kept + chunk)[-_KEPT:]

    def close(self) -> None:
        """Give back our end; the thread ends with the last process that holds the other one."""
        self.file.close()

    def last_line(self) -> str:
        """The last line that says something, cut and without credentials; empty if there is none.

        Waits a moment for what a process that has just ended still had to say.
        """
        self.close()
        self._thread.join(timeout=1.0)
        lines = self._kept.decode("utf-8", "replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return mask_credentials(said[-1])[:_SHOWN] if said else ""
