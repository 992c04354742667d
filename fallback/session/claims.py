"""The claim of one session to a turn that waited: while it is held, nobody else goes on with it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fallback.errors import LedgerError
from fallback.ledger.paused import Claimed, Paused
from fallback.loop.paused import Paused as Waiting

__all__ = ["Claim", "Resumption", "Taken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What is to be gone on with.

    Attributes:
        claim: to the turn; not taken yet.
        results: what calls returned that the application has run itself, by the call's id.
    """

    claim: Claim
    results: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What is gone on with.

    Attributes:
        claim: to the turn; held.
        paused: the turn.
        after: why whoever held it before is taken for lost; empty if nobody did.
    """

    claim: Claim
    paused: Waiting
    after: str


class Claim:
    """Taken once, and ended once. Used by one session, whose calls may come from several threads.

    Args:
        paused: where the turn is kept.
        turn_id: names the turn.
    """

    def __init__(self, paused: Paused, turn_id: str) -> None:
        self._paused, self.turn_id = paused, turn_id
        self._token = secrets.token_hex(16)
        # Whoever cancels a task does not end the thread that is taking the claim for it: giving
        # back waits for the taking, and what comes after it takes nothing.
        self._lock = threading.Lock()
        self._held = self._over = False

    def take(self, seconds: float | None) -> Claimed | None:
        """Claim the turn for some seconds; ``None`` if it waits no more.

        Raises:
            LedgerError: somebody else holds it.
        """
        with self._lock:
            if self._over:
                return None
            # Asked for before it is known to be held: Ctrl-C may come between the two.
            self._held = True
            claimed = self._paused.claim(self.turn_id, self._token, seconds=seconds)
            self._held = claimed is not None
            return claimed

    def renew(self, seconds: float | None, content: Mapping[str, Any] | None) -> None:
        """Hold on to it for some seconds; with ``content``, the turn has come so far.

        Raises:
            LedgerError: it has been lost.
        """
        self._paused.renew(self.turn_id, self._token, seconds=seconds, content=content)

    def wait(self, content: Mapping[str, Any]) -> None:
        """The turn waits anew, for anybody.

        Raises:
            LedgerError: it has been lost.
        """
        with self._lock:
            held = self._paused.release(self.turn_id, self._token, content=content)
            self._held, self._over = False, True
        if not held:
            raise LedgerError(f"turn {self.turn_id} has been taken over by somebody else")

    def end(self) -> None:
        """The turn has ended. One that was taken over is left to whoever has it."""
        with self._lock:
            self._paused.drop(self.turn_id, self._token)
            self._held, self._over = False, True

    def give_back(self) -> None:
        """Let others go on with the turn, unless it has ended; never raises for the ledger's sake.

        Where it cannot be given back, it ends with this process or with its lease.
        """
        with self._lock:
            held, self._held, self._over = self._held, False, True
            if held:
                with suppress(LedgerError):
                    self._paused.release(self.turn_id, self._token)
