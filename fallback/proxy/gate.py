"""How many answers may be under way at once, for each client, and how many may wait."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from fallback.proxy.ask import Refused
from fallback.proxy.events import Failure

__all__ = ["Gate"]

_RETRY_SECONDS = 5.0


@dataclass(slots=True)
class _Client:
    running: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)


class Gate:
    """Lets so many of a client's requests through, keeps some waiting, and refuses the rest."""

    def __init__(self, *, concurrent: int, queue: int) -> None:
        self._concurrent, self._queue = concurrent, queue
        self._clients: dict[str, _Client] = {}

    @property
    def running(self) -> int:
        """Answers under way."""
        return sum(client.running for client in self._clients.values())

    def resize(self, *, concurrent: int, queue: int) -> None:
        """Change the limits; what is under way is not touched."""
        self._concurrent, self._queue = concurrent, queue

    @contextlib.asynccontextmanager
    async def slot(self, name: str) -> AsyncIterator[None]:
        """Wait for a place, in the order of arrival.

        Raises:
            Refused: too many are waiting already.
        """
        client = self._clients.setdefault(name, _Client())
        if client.running < self._concurrent:
            client.running += 1
        else:
            await self._wait(client)
        try:
            yield
        finally:
            self._leave(name, client)

    async def _wait(self, client: _Client) -> None:
        if len(client.waiting) >= self._queue:
            raise Refused(
                Failure(
                    kind="busy",
                    message="too many requests at once: wait for some of them to end",
                    status=429,
                    retry_after=_RETRY_SECONDS,
                    code="rate_limit_exceeded",
                )
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        client.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on(client)  # the place came in the same moment as the end
            elif turn in client.waiting:
                client.waiting.remove(turn)
            raise

    def _leave(self, name: str, client: _Client) -> None:
        self._pass_on(client)
        if not client.running and not client.waiting:
            self._clients.pop(name, None)

    def _pass_on(self, client: _Client) -> None:
        """Give the place to the next one, who then counts as running."""
        while client.waiting:
            turn = client.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        client.running -= 1
