"""One at a time, first come, first served."""

from __future__ import annotations

import math
import threading
from collections import deque

from fallback.engine.cancel import Cancellation


class QueueFullError(Exception):
    """Too many are waiting already."""


class Turns:
    """A fair lock: whoever asked first gets it first, and one who gives up does not hold up the
    rest.

    Unlike ``threading.Lock`` it may be released by another thread than the one that took it, for
    the thread that waits for a turn is not the one that generates.
    """

    def __init__(self, max_waiting: int) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._taken = False
        self._max_waiting = max_waiting

    @property
    def waiting(self) -> int:
        """How many are in line."""
        return len(self._waiting)

    def take(self, cancellation: Cancellation | None = None) -> None:
        """Wait for the turn; raises ``CancelledError``, or at once :class:`QueueFullError`.

        Without a ``cancellation`` the queue is never too long: the engine itself asks so.
        """
        limit = self._max_waiting if cancellation is not None else math.inf
        cancellation = Cancellation() if cancellation is None else cancellation
        cancellation.check()
        ready = threading.Event()
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            if len(self._waiting) >= limit:
                raise QueueFullError
            self._waiting.append(ready)
        cancellation.on_cancel(ready.set)
        try:
            ready.wait()
            cancellation.check()
        except BaseException:  # given up, or the user pressed Ctrl-C while waiting
            self._give_up(ready)
            raise

    def try_take(self) -> bool:
        """Take the turn if nobody has it."""
        with self._lock:
            if self._taken:
                return False
            self._taken = True
            return True

    def release(self) -> None:
        """Hand the turn to the one who has waited longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False

    def _give_up(self, ready: threading.Event) -> None:
        with self._lock:
            if ready in self._waiting:
                self._waiting.remove(ready)
                return
        self.release()  # the turn had come already: pass it on
