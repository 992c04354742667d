"""Every route of the server, without a web framework.

``await gateway.handle(incoming)`` gives the response to any request; the ASGI application and an
in-process transport differ only in how they carry the two.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from fallback.errors import FallbackError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.proxy.answer import Answerer
from fallback.proxy.ask import Ask, Refused
from fallback.proxy.content import text_of
from fallback.proxy.delivery import BROKEN, Delivery, encoded
from fallback.proxy.discovery import Discovery, with_aliases
from fallback.proxy.events import Event, Failed, Failure, collected
from fallback.proxy.failures import failure_of, invalid
from fallback.proxy.gate import Gate
from fallback.proxy.guard import Guard, shared_headers
from fallback.proxy.http import Incoming, Outgoing, json_reply, read_json
from fallback.proxy.observe import Observation, Observer, request_id
from fallback.proxy.openapi import document
from fallback.proxy.recall import Recall
from fallback.proxy.relay import relayed
from fallback.proxy.settings import Settings
from fallback.proxy.toolset import Toolbox
from fallback.proxy.upstream import Upstream
from fallback.proxy.wires import Wire
from fallback.proxy.wires.anthropic import AnthropicMessages, models_page
from fallback.proxy.wires.ollama import OllamaChat, is_plain
from fallback.proxy.wires.openai_chat import OpenAIChat, error_body
from fallback.proxy.wires.responses import OpenAIResponses

__all__ = ["WIRES", "Gateway"]

_log = logging.getLogger("fallback.proxy")

WIRES: dict[str, Wire] = {
    "/api/chat": OllamaChat(),
    "/v1/chat/completions": OpenAIChat(),
    "/v1/messages": AnthropicMessages(),
    "/v1/responses": OpenAIResponses(),
}
"""The paths that are answered by the core, each with its wire."""
_COUNTS: dict[str, tuple[str, dict[str, Any]]] = {
    "/v1/messages/count_tokens": ("/v1/messages", {}),
    "/v1/responses/input_tokens": ("/v1/responses", {"object": "response.input_tokens"}),
}
"""The paths where a prompt is counted and nothing generated: the wire they belong to, and what the
answer has besides the figure."""
_VOICES = {"/api/": "/api/chat", "/v1/messages": "/v1/messages"}
"""How errors are told elsewhere, by the beginning of the path."""

_PASSED_ON = ("/api/", "/v1/")
_RUNNING = b"Ollama is running"
"""What some clients look for to know that they have found a server."""

Handler = Callable[[Incoming], Awaitable[Outgoing]]


class Gateway:
    """The server, apart from its socket.

    Args:
        settings: what it is told.
        upstream: the server behind; made from the settings if not given, and closed with this.
        limits: of one reply of a model.
        observer: what is told of the answers; made from the settings if not given.

    Raises:
        ConfigurationError: the keys cannot be read, or there is no upstream.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        upstream: Upstream | None = None,
        limits: Limits = DEFAULT_LIMITS,
        observer: Observer | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.upstream = upstream or Upstream(self.settings, limits=limits)
        self.observer = observer or Observer(traces=self.settings.traces)
        self._guard = Guard(self.settings)
        self._gate = self._make_gate()
        self._answerer = Answerer(self.upstream, self.settings, limits=limits)
        self._toolbox = Toolbox(limits)
        self._discovery = Discovery(self.upstream)
        self._recall = Recall()
        self._routes: dict[tuple[str, str], Handler] = {
            ("GET", "/"): self._root,
            ("HEAD", "/"): self._root,
            ("GET", "/api/hello"): self._root,
            ("HEAD", "/api/hello"): self._root,
            ("GET", "/healthz"): self._healthy,
            ("GET", "/health"): self._healthy,
            ("GET", "/readyz"): self._ready,
            ("GET", "/metrics"): self._metrics,
            ("GET", "/openapi.json"): self._openapi,
            ("GET", "/api/tags"): self._tags,
            ("POST", "/api/show"): self._show,
            ("GET", "/v1/models"): self._models,
            **{("POST", path): self._count for path in _COUNTS},
        }

    def reload(self, settings: Settings) -> None:
        """Take new settings for what comes next; the upstream stays the one it was.

        Raises:
            ConfigurationError: the keys, or a profile, cannot be read; everything is then as it
                was.
        """
        guard = Guard(settings)
        self._answerer.reload(settings)
        self._guard, self.settings = guard, settings
        self._gate.resize(concurrent=settings.max_concurrent, queue=settings.max_queue)

    async def handle(self, incoming: Incoming) -> Outgoing:
        """The response to a request. Never raises for what a client sends."""
        wire = WIRES.get(incoming.path)
        voice = wire or _voice(incoming.path)
        identity = request_id(incoming)
        shared: list[tuple[str, str]] = []
        try:
            incoming = self._guard.admit(incoming)
            shared = shared_headers(incoming)
            reply = await self._route(wire, incoming, identity)
        except Refused as refused:
            reply = self._refusal(voice, refused.failure)
        except FallbackError as error:
            reply = self._refusal(voice, failure_of(error))
        except Exception:  # noqa: BLE001 -- a bug of ours is still answered readably
            _log.exception("a request failed", extra={"fields": {"request": identity}})
            reply = self._refusal(voice, BROKEN)
        reply.headers += [("x-request-id", identity), *shared]
        return reply

    async def aclose(self) -> None:
        """Give back the connections to the upstream."""
        await self.upstream.aclose()

    async def _route(self, wire: Wire | None, incoming: Incoming, identity: str) -> Outgoing:
        if incoming.method == "OPTIONS":
            return Outgoing(204)
        if wire is not None and incoming.method == "POST":
            return await self._answer(wire, incoming, identity)
        handler = self._routes.get((incoming.method, incoming.path))
        if handler is not None:
            return await handler(incoming)
        if incoming.path.startswith(_PASSED_ON):
            self._discovery.changed(incoming.path)
            return await self._relay(incoming)
        return json_reply(404, {"error": f"there is nothing at {incoming.path[:200]}"})

    # Answers ------------------------------------------------------------------------------------

    async def _answer(self, wire: Wire, incoming: Incoming, identity: str) -> Outgoing:
        body, raw = await self._body(incoming)
        if wire.name == "ollama" and is_plain(body) and await self.upstream.kind() == "ollama":
            return await self._relay(incoming, raw)
        ask = self._recall.completed(self._decoded(wire, body), incoming.client)
        seen = self.observer.begin(ask, identity, incoming.client)
        events = self._events(ask, seen, incoming.client)
        return await (self._streamed if ask.stream else self._whole)(wire, ask, events)

    def _decoded(self, wire: Wire, body: dict[str, Any]) -> Ask:
        ask = wire.decode(body, self._toolbox)
        most = self.settings.max_messages
        if len(ask.messages) > most:
            raise Refused(invalid(f"more than {most} messages: send fewer", param="messages"))
        return ask

    async def _count(self, incoming: Incoming) -> Outgoing:
        """Tokens of a prompt; clients size their conversations by it."""
        body, _ = await self._body(incoming)
        wire, more = _COUNTS[incoming.path]
        tokens = await self._answerer.count(self._decoded(WIRES[wire], body))
        return json_reply(200, {**more, "input_tokens": tokens})

    async def _body(self, incoming: Incoming) -> tuple[dict[str, Any], bytes]:
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                return await read_json(incoming, self.settings.max_body)
        except TimeoutError:
            message = "the request did not arrive in time"
            raise Refused(Failure(kind="timeout", message=message, status=408)) from None

    async def _events(
        self, ask: Ask, seen: Observation, client: str
    ) -> AsyncGenerator[list[Event]]:
        """The answer's events, once it is its turn."""
        try:
            async with self._gate.slot(client):
                batches = seen.watch(self._answerer.answer(ask, told=seen.told))
                async with contextlib.aclosing(batches):
                    async for events in batches:
                        yield events
        except Refused as refused:
            yield [Failed(refused.failure)]

    async def _whole(self, wire: Wire, ask: Ask, batches: AsyncGenerator[list[Event]]) -> Outgoing:
        async with contextlib.aclosing(batches):
            answer = collected([event async for events in batches for event in events])
        if isinstance(answer, Failure):
            return self._refusal(wire, answer)
        return json_reply(200, wire.whole(ask, answer))

    async def _streamed(
        self, wire: Wire, ask: Ask, batches: AsyncGenerator[list[Event]]
    ) -> Outgoing:
        """A stream; an error that comes within the grace is answered with its own status."""
        delivery = Delivery(batches)
        try:
            first = await delivery.next(self.settings.grace_seconds) or []
            if first and isinstance(first[0], Failed):
                await delivery.aclose()
                return self._refusal(wire, first[0].failure)
        except BaseException:
            await delivery.aclose()
            raise
        pieces = encoded(delivery, wire.stream(ask), first, silence=self.settings.silence_seconds)
        headers = [("content-type", wire.content_type), ("cache-control", "no-cache")]
        # Proxies such as nginx would collect the stream otherwise.
        headers.append(("x-accel-buffering", "no"))
        return Outgoing(200, headers, pieces, delivery.aclose)

    # Everything else ----------------------------------------------------------------------------

    async def _relay(self, incoming: Incoming, body: bytes | None = None) -> Outgoing:
        credentials = self.settings.forward_authorization and not self.settings.has_keys
        return await relayed(self.upstream, incoming, credentials=credentials, body=body)

    async def _root(self, incoming: Incoming) -> Outgoing:
        return Outgoing(200, [("content-type", "text/plain; charset=utf-8")], _RUNNING)

    async def _healthy(self, incoming: Incoming) -> Outgoing:
        return json_reply(200, {"status": "ok"})

    async def _ready(self, incoming: Incoming) -> Outgoing:
        """Whether the upstream answers; a load balancer sends requests elsewhere meanwhile."""
        await self._discovery.tags()
        return json_reply(200, {"status": "ready"})

    async def _metrics(self, incoming: Incoming) -> Outgoing:
        text, kind = self.observer.metrics.text()
        return Outgoing(200, [("content-type", kind)], text)

    async def _openapi(self, incoming: Incoming) -> Outgoing:
        return json_reply(200, document())

    async def _tags(self, incoming: Incoming) -> Outgoing:
        listing = await self._discovery.tags()
        # Codex, which gives no name of its own, looks for a model by exactly what its user typed,
        # and otherwise downloads it; others would show a model twice.
        if not incoming.header("user-agent"):
            listing = with_aliases(listing)
        return json_reply(200, listing)

    async def _show(self, incoming: Incoming) -> Outgoing:
        body, raw = await self._body(incoming)
        model = text_of(body.get("model")) or text_of(body.get("name"))
        if await self.upstream.kind() == "openai":
            return json_reply(200, self._discovery.made_up_show(model))
        answer = await self._relay(incoming, raw)
        if answer.status != 200 or isinstance(answer.body, bytes):
            return answer
        try:
            shown = json.loads(b"".join([piece async for piece in answer.body]))
        finally:
            await answer.close()
        fixed = await self._answerer.window(model)
        return json_reply(200, self._discovery.shown(shown, fixed))

    async def _models(self, incoming: Incoming) -> Outgoing:
        listing = await self._discovery.models()
        if incoming.header("anthropic-version"):
            listing = models_page(listing)
        return json_reply(200, listing)

    def _make_gate(self) -> Gate:
        return Gate(concurrent=self.settings.max_concurrent, queue=self.settings.max_queue)

    def _refusal(self, wire: Wire | None, failure: Failure) -> Outgoing:
        body: dict[str, Any] = error_body(failure) if wire is None else wire.error(failure)
        headers = {}
        if failure.retry_after is not None:
            headers["retry-after"] = str(max(int(failure.retry_after), 1))
        if failure.kind == "unauthorized":
            headers["www-authenticate"] = "Bearer"
        reply = json_reply(failure.status, body, headers)
        reply.failure = failure
        return reply


def _voice(path: str) -> Wire | None:
    """The wire that a path belongs to although it is not answered by the core."""
    return next((WIRES[wire] for head, wire in _VOICES.items() if path.startswith(head)), None)
