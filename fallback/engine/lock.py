"""A lock between processes, held on a file and freed by the system when its holder dies."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def file_lock(path: Path, *, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold ``path`` against every other process and thread; waits for its turn.

    ``on_wait`` is called once if somebody else holds it. The file itself stays: removing it would
    let two processes hold two files of the same name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as handle:
        if not _try_lock(handle):
            if on_wait is not None:
                on_wait()
            _wait_lock(handle)
        yield  # closing the file frees the lock


if sys.platform == "win32":
    import msvcrt
    import time

    def _try_lock(handle: IO[bytes]) -> bool:
        handle.seek(0)
        try:
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _wait_lock(handle: IO[bytes]) -> None:
        # Windows itself gives up after ten tries, so the wait is written out.
        while not _try_lock(handle):
            time.sleep(0.2)

else:
    import fcntl

    def _try_lock(handle: IO[bytes]) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_lock(handle: IO[bytes]) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)
