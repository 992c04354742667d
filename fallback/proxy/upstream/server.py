"""One upstream, fixed when the server starts: no request can lead anywhere else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from fallback.backend import AsyncBackend, ModelInfo
from fallback.errors import BackendError, BackendStatusError
from fallback.hosts import EMBEDDED, resolve_host, without_login
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.ollama import OllamaBackend
from fallback.ollama.failures import mapped
from fallback.ollama.transport import is_loopback, no_certificates
from fallback.proxy.settings import Settings
from fallback.proxy.upstream.openai import OpenAIBackend
from fallback.proxy.upstream.plain import PlainClient, plain_client

__all__ = ["Relayed", "Upstream"]

_FRESH_SECONDS = 5.0
"""Some clients ask for the list and every model again before each turn."""
_POOL = 1024
"""Connections at once; what limits generations is the gate, not this."""


@dataclass(slots=True)
class Relayed:
    """An answer of the upstream, passed on as it comes. To be closed."""

    status: int
    headers: list[tuple[str, str]]
    response: httpx.Response

    def header(self, name: str) -> str:
        """A header of the answer; empty if it is not there."""
        return str(self.response.headers.get(name, ""))

    def pieces(self) -> AsyncIterator[bytes]:
        """The body, byte for byte."""
        return self.response.aiter_raw()

    async def aclose(self) -> None:
        """Let the connection go; a generation ends with it."""
        await self.response.aclose()


class Upstream:
    """The server behind.

    Args:
        settings: ``upstream`` and ``upstream_kind`` of them, and the key that belongs to it.
        limits: timeouts.
        transport: for tests and for in-process servers, in place of the network.
        auth: puts credentials on each request.

    Attributes:
        url: the address, without a slash at its end.
        where: the same for people to read, without whatever secret it may carry.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        limits: Limits = DEFAULT_LIMITS,
        transport: httpx.AsyncBaseTransport | None = None,
        auth: httpx.Auth | None = None,
    ) -> None:
        self._settings, self._limits = settings, limits
        self._transport, self._auth = transport, auth
        self.url = resolve_host(settings.upstream, limits=limits).url.rstrip("/")
        self.where = without_login(self.url)
        self._kind = settings.upstream_kind
        self._client: httpx.AsyncClient | None = None
        self._plain: PlainClient | None = None
        self._engine: Any = None
        self._backends: dict[str, AsyncBackend] = {}
        self._known: dict[str, tuple[float, ModelInfo]] = {}
        self._asking: dict[str, asyncio.Lock] = {}
        self._finding = asyncio.Lock()

    # Generations --------------------------------------------------------------------------------

    async def describe(self, model: str) -> ModelInfo:
        """What the server says of a model, at most some seconds old; asked once at a time."""
        known = self._known.get(model)
        if known is not None and time.monotonic() - known[0] < _FRESH_SECONDS:
            return known[1]
        async with self._asking.setdefault(model, asyncio.Lock()):
            known = self._known.get(model)
            if known is not None and time.monotonic() - known[0] < _FRESH_SECONDS:
                return known[1]
            try:
                info = await (await self.backend("auto")).adescribe(model)
            except BackendError:
                self._known.pop(model, None)
                raise
            finally:
                self._asking.pop(model, None)
            self._known[model] = (time.monotonic(), info)
        return info

    async def backend(self, endpoint: str) -> AsyncBackend:
        """The backend whose prompt mode uses that endpoint."""
        if await self.kind() == "openai":
            endpoint = "openai"
        found = self._backends.get(endpoint)
        if found is None:
            made = self._openai() if endpoint == "openai" else self._ollama(endpoint)
            found = self._backends[endpoint] = made
        return found

    async def kind(self) -> str:
        """``ollama`` or ``openai``; asked of the server once."""
        if self._kind == "auto":
            async with self._finding:
                self._kind = await self._found_kind()
        return self._kind

    async def _found_kind(self) -> Any:
        if self.url == EMBEDDED or self._kind != "auto":
            return "ollama" if self._kind == "auto" else self._kind
        if self.url.endswith("/v1"):
            return "openai"
        with mapped(self.where):
            answer = await self.client().get(f"{self.url}/api/version")
        ollama = answer.status_code == 200 and b'"version"' in answer.content
        return "ollama" if ollama else "openai"

    def _ollama(self, endpoint: Any) -> OllamaBackend:
        client = self._generating()
        return OllamaBackend(self.url, endpoint=endpoint, aclient=client, limits=self._limits)

    def _openai(self) -> OpenAIBackend:
        return OpenAIBackend(self.base, client=self.client(), limits=self._limits, where=self.where)

    def _generating(self) -> Any:
        """The client for Ollama's generations: the plain one where nothing speaks against it."""
        if self._transport is not None or self._auth is not None or self.url == EMBEDDED:
            return self.client()
        if self._plain is None:
            direct = is_loopback(self.url)
            headers = self._headers()
            self._plain = plain_client(self.url, headers=headers, most=_POOL, direct=direct)
        return self._plain or self.client()

    def _headers(self) -> dict[str, str]:
        key = self._settings.upstream_key
        return {"Authorization": f"Bearer {key}"} if key else {}

    # Everything else ----------------------------------------------------------------------------

    @property
    def base(self) -> str:
        """The address without the ``/v1`` of OpenAI's wire."""
        return self.url.removesuffix("/v1")

    def client(self) -> httpx.AsyncClient:
        """The one client of this server; made when it is first needed, in its event loop."""
        if self._client is None:
            settings: dict[str, Any] = {
                "headers": self._headers(),
                "limits": httpx.Limits(max_connections=_POOL, max_keepalive_connections=_POOL),
                "timeout": self._timeout(),
                "auth": self._auth,
            }
            self._client = httpx.AsyncClient(**settings, **self._reached())
        return self._client

    def _reached(self) -> dict[str, Any]:
        if self._transport is not None:
            return {"transport": self._transport}
        if self.url == EMBEDDED:
            from fallback.engine.core import Engine
            from fallback.engine.transport import AsyncEngineTransport

            self._engine = Engine(local_files=False)
            return {"transport": AsyncEngineTransport(self._engine)}
        if is_loopback(self.url):
            verify = no_certificates() if self.url.startswith("http://") else True
            return {"trust_env": False, "verify": verify}
        return {}

    def _timeout(self) -> httpx.Timeout:
        limits = self._limits
        return httpx.Timeout(limits.read_seconds, connect=limits.connect_seconds)

    async def relay(
        self,
        method: str,
        path: str,
        headers: Sequence[tuple[str, str]],
        body: bytes | AsyncIterator[bytes],
    ) -> Relayed:
        """Send a request on as it is; the answer has to be closed.

        Raises:
            BackendError: nobody answers.
        """
        base = "http://embedded" if self.url == EMBEDDED else self.base
        client = self.client()
        with mapped(self.where):
            request = client.build_request(
                method, base + path, content=body or None, headers=list(headers)
            )
            response = await client.send(request, stream=True)
        return Relayed(response.status_code, response.headers.multi_items(), response)

    async def json(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """A short exchange in JSON.

        Raises:
            BackendError: no answer, or one that is none.
        """
        base = "http://embedded" if self.url == EMBEDDED else self.base
        with mapped(self.where):
            answer = await self.client().request(method, base + path, json=body)
        if answer.status_code != 200:
            raise BackendStatusError(
                f"{self.where} answered {answer.status_code} to {path}", status=answer.status_code
            )
        try:
            return answer.json()
        except ValueError:
            return None

    async def aclose(self) -> None:
        """Give back the connections, and the engine if it is in this process."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None
        if self._plain is not None:
            await self._plain.aclose()
            self._plain = None
        if self._engine is not None:
            self._engine.close()
            self._engine = None
