"""Keeps Ctrl-C with Python while native code is loaded.

xllamacpp installs handlers of its own for SIGINT and SIGTERM (its ``src/xllamacpp/server.cpp``),
which would stop the model and leave the program running. What was there before is put back, at the
level of the system: Python's ``signal`` module may only be used from the main thread and does not
know the change.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Larger than `struct sigaction` on any system: 152 bytes on Linux x86-64, 16 on macOS.
_BUFFER = 512


@contextlib.contextmanager
def handlers_kept() -> Iterator[None]:
    """Restore the handlers of SIGINT and SIGTERM when the block ends; does nothing on Windows."""
    if sys.platform == "win32":
        yield
        return
    import ctypes

    library = ctypes.CDLL(None)
    saved = {number: ctypes.create_string_buffer(_BUFFER) for number in _SIGNALS}
    # Blocked meanwhile, so that a Ctrl-C in between waits for the right handler.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        for number, buffer in saved.items():
            library.sigaction(int(number), None, buffer)
        try:
            yield
        finally:
            for number, buffer in saved.items():
                library.sigaction(int(number), buffer, None)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
