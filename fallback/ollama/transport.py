"""The HTTP clients of a backend: ours, somebody else's, or the engine in this process."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from fallback.hosts import EMBEDDED, without_login
from fallback.limits import Limits
from fallback.ollama.exchange import Exchange, encoded

if TYPE_CHECKING:
    from fallback.engine.core import Engine

__all__ = ["Clients", "is_loopback", "no_certificates"]


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


def no_certificates() -> ssl.SSLContext:
    """A TLS context that trusts nobody, for plain HTTP: loading the usual one takes 40 ms."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Clients:
    """Makes a client when it is first needed. One that was given is used and never closed."""

    def __init__(self, host: str, *, client: Any, aclient: Any, headers: Mapping[str, str]) -> None:
        self.host = host.rstrip("/")
        self._headers = dict(headers)
        self._client, self._aclient = client, aclient
        self._own_client = client is None
        self._own_aclient = aclient is None
        self._engine: Engine | None = None

    @property
    def where(self) -> str:
        """The server, for people to read; without whatever secret a URL may carry."""
        if self.host == EMBEDDED:
            return "the embedded engine"
        return without_login(self.host)

    def arguments(self, request: Exchange, limits: Limits) -> dict[str, Any]:
        """Keyword arguments for ``stream`` of either client.

        Timeouts are a plain tuple (connect, read, write, pool), which clients of httpx and of its
        fork take alike. Writing waits as long as reading: a server that loads does not read.
        """
        connect, read = limits.connect_seconds, limits.read_seconds
        return {
            "method": request.method,
            "url": ("http://embedded" if self.host == EMBEDDED else self.host) + request.path,
            "content": None if request.body is None else encoded(request.body),
            "headers": {"Content-Type": "application/json"},
            "timeout": (connect, read, read, read),
        }

    def sync(self) -> Any:
        """The blocking client."""
        if self._client is None:
            self._client = httpx.Client(**self._settings("EngineTransport"))
        return self._client

    def asynchronous(self) -> Any:
        """The asynchronous client."""
        if self._aclient is None:
            self._aclient = httpx.AsyncClient(**self._settings("AsyncEngineTransport"))
        return self._aclient

    def close(self) -> None:
        """Close what is ours."""
        if self._own_client and self._client is not None:
            self._client.close()
            self._client = None
        self._close_engine()

    async def aclose(self) -> None:
        """Close what is ours, of both kinds."""
        if self._own_aclient and self._aclient is not None:
            await self._aclient.aclose()
            self._aclient = None
        self.close()

    def _settings(self, transport: str) -> dict[str, Any]:
        settings: dict[str, Any] = {"headers": self._headers}
        if self.host == EMBEDDED:
            from fallback.engine import transport as engine_transport
            from fallback.engine.core import Engine

            self._engine = self._engine or Engine()
            settings["transport"] = getattr(engine_transport, transport)(self._engine)
        elif is_loopback(self.host):
            # A proxy from the environment cannot know this machine's own loopback.
            settings["trust_env"] = False
            settings["verify"] = no_certificates() if self.host.startswith("http://") else True
        return settings

    def _close_engine(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None
