"""A request that can be given up from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable


class CancelledError(Exception):
    """The request was given up by the one who made it."""


class Cancellation:
    """Tells everything that works for one request to stop; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._actions: list[Callable[[], None]] = []
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Run every action that was registered, once each; later ones run at once."""
        with self._lock:
            self._cancelled = True
            actions, self._actions = self._actions, []
        for action in actions:
            action()

    def on_cancel(self, action: Callable[[], None]) -> None:
        """Have ``action`` run when the request is given up; it must neither block nor raise."""
        with self._lock:
            if not self._cancelled:
                self._actions.append(action)
                return
        action()

    def check(self) -> None:
        """Raise :class:`CancelledError` if the request was given up."""
        if self._cancelled:
            raise CancelledError
