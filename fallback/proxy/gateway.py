"""Every route of the server, without a web framework.

``await gateway.handle(incoming)`` gives the response to any request; the ASGI application and an
in-process transport differ only in how they carry the two.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from fallback.errors import FallbackError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.proxy.answer import Answerer
from fallback.proxy.ask import Ask, Refused
from fallback.proxy.events import Event, Failed, Failure, collected
from fallback.proxy.failures import failure_of
from fallback.proxy.flow import BROKEN, Flow, encoded
from fallback.proxy.http import Incoming, Outgoing, json_reply, read_json
from fallback.proxy.settings import Settings
from fallback.proxy.toolset import Toolbox
from fallback.proxy.upstream import Upstream
from fallback.proxy.wires import Wire
from fallback.proxy.wires.openai_chat import OpenAIChat, error_body

__all__ = ["WIRES", "Gateway"]

_log = logging.getLogger("fallback.proxy")

WIRES: dict[str, Wire] = {
    "/v1/chat/completions": OpenAIChat(),
}
"""The paths that are answered by the core, each with its wire."""

Handler = Callable[[Incoming], Awaitable[Outgoing]]


class Gateway:
    """The server, apart from its socket.

    Args:
        settings: what it is told.
        upstream: the server behind; made from the settings if not given, and closed with this.
        limits: of one reply of a model.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        upstream: Upstream | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.settings = settings or Settings()
        self.upstream = upstream or Upstream(self.settings, limits=limits)
        self._answerer = Answerer(self.upstream, self.settings, limits=limits)
        self._toolbox = Toolbox(limits)

    async def handle(self, incoming: Incoming) -> Outgoing:
        """The response to a request. Never raises for what a client sends."""
        wire = WIRES.get(incoming.path)
        try:
            if wire is not None and incoming.method == "POST":
                return await self._answer(wire, incoming)
            return await self._otherwise(incoming)
        except Refused as refused:
            return self._refusal(wire, refused.failure)
        except FallbackError as error:
            return self._refusal(wire, failure_of(error))
        except Exception:  # noqa: BLE001 -- a bug of ours is still answered readably
            _log.exception("a request failed inside the server")
            return self._refusal(wire, BROKEN)

    async def aclose(self) -> None:
        """Give back the connections to the upstream."""
        await self.upstream.aclose()

    # Answers ------------------------------------------------------------------------------------

    async def _answer(self, wire: Wire, incoming: Incoming) -> Outgoing:
        body, _ = await read_json(incoming, self.settings.max_body)
        ask = wire.decode(body, self._toolbox)
        events = self._answerer.answer(ask)
        return await (self._streamed if ask.stream else self._whole)(wire, ask, events)

    async def _whole(self, wire: Wire, ask: Ask, events: AsyncGenerator[Event]) -> Outgoing:
        async with contextlib.aclosing(events):
            answer = collected([event async for event in events])
        if isinstance(answer, Failure):
            return self._refusal(wire, answer)
        return json_reply(200, wire.whole(ask, answer))

    async def _streamed(self, wire: Wire, ask: Ask, events: AsyncGenerator[Event]) -> Outgoing:
        """A stream; an error that comes within the grace is answered with its own status."""
        flow = Flow(events)
        try:
            first = await flow.next(self.settings.grace_seconds) or []
            if first and isinstance(first[0], Failed):
                await flow.aclose()
                return self._refusal(wire, first[0].failure)
        except BaseException:
            await flow.aclose()
            raise
        pieces = encoded(flow, wire.stream(ask), first, silence=self.settings.silence_seconds)
        headers = [("content-type", wire.content_type), ("cache-control", "no-cache")]
        # Proxies such as nginx would collect the stream otherwise.
        headers.append(("x-accel-buffering", "no"))
        return Outgoing(200, headers, pieces, flow.aclose)

    # Everything else ----------------------------------------------------------------------------

    async def _otherwise(self, incoming: Incoming) -> Outgoing:
        return json_reply(404, {"error": f"there is nothing at {incoming.path}"})

    def _refusal(self, wire: Wire | None, failure: Failure) -> Outgoing:
        body: dict[str, Any] = error_body(failure) if wire is None else wire.error(failure)
        headers = {}
        if failure.retry_after is not None:
            headers["retry-after"] = str(max(int(failure.retry_after), 1))
        return json_reply(failure.status, body, headers)
