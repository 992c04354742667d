"""Gateways inside the client's own process: which upstream is meant, and whose keys go there.

The upstream is the address that the client would have asked anyway, with whatever path stands
before ``/api/`` or ``/v1/``, unless another one is named. Credentials of the client go along when
its address is that of the upstream, and nowhere else.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Generator
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from fallback.errors import ConfigurationError
from fallback.hosts import parse_host, resolve_host
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.proxy.gateway import Gateway
from fallback.proxy.http import Incoming, Outgoing
from fallback.proxy.metrics import Uncounted
from fallback.proxy.observe import Observer
from fallback.proxy.relay import relayed
from fallback.proxy.settings import Settings
from fallback.proxy.upstream import Upstream

__all__ = ["Gateways", "Plan", "split"]

Headers = tuple[tuple[str, str], ...]

_ENDLESS = 1 << 62
_CREDENTIALS = frozenset({"authorization", "x-api-key", "api-key"})
"""What tells one client from another."""
# Of one request and its body, and so not for those that are made for its sake. All others are: an
# account, a team or a token may stand in a header of any name.
_OWN_TO_IT = frozenset(
    {
        *("accept", "accept-encoding", "connection", "expect", "host", "origin", "referer"),
        *("content-encoding", "content-length", "content-type", "te", "transfer-encoding"),
        *("keep-alive", "trailer", "upgrade", "user-agent"),
    }
)
# What a server learns that the request was not addressed to. A list of what may go, since nobody
# knows the names of all headers with secrets in them.
_HARMLESS = frozenset(
    {"accept", "accept-encoding", "content-length", "content-type", "user-agent", "x-request-id"}
)
_carried: ContextVar[Headers] = ContextVar("fallback_carried", default=())
"""Headers of the request that is being answered; each request has a context of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a transport was told.

    Attributes:
        upstream: a URL or ``embedded``; ``None`` for the address that a request is sent to.
        settings: of the gateway; those of a listening server (keys, hosts) mean nothing here.
        limits: of one reply.
        network: how upstreams are reached, in place of connections of our own.
    """

    upstream: str | None = None
    settings: Settings = field(default_factory=Settings)
    limits: Limits = DEFAULT_LIMITS
    network: httpx.AsyncBaseTransport | None = None

    @classmethod
    def of(
        cls,
        upstream: str | None,
        settings: Settings | None,
        limits: Limits | None,
        network: httpx.AsyncBaseTransport | None,
    ) -> Plan:
        """Check what was given.

        Raises:
            ConfigurationError: the upstream is no address, or a key has no upstream.
            BackendConnectionError: the engine is not installed.
        """
        settings = settings or Settings()
        named = upstream if upstream is not None else settings.upstream
        if named is not None:
            named = resolve_host(named).url
        elif settings.upstream_key:
            raise ConfigurationError(
                "upstream_key belongs to one server: name it with upstream=, or give the key to"
                " the client"
            )
        within = replace(
            settings,
            host="127.0.0.1",
            api_keys=(),
            api_keys_file="",
            forward_authorization=True,
            max_queue=_ENDLESS,  # threads and tasks of this program wait; nobody is turned away
        )
        return cls(
            upstream=named, settings=within, limits=limits or DEFAULT_LIMITS, network=network
        )


class Gateways:
    """The gateways of one event loop, one for each upstream. To be closed on that loop."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._made: dict[str, Gateway] = {}
        self._salt = secrets.token_bytes(16)

    async def handle(self, request: Any, body: AsyncIterator[bytes]) -> Outgoing:
        """The response to a request of httpx or httpx2.

        Raises:
            FallbackError: the address is none, or nobody answers there.
        """
        origin = f"{request.url.scheme}://{request.url.netloc.decode('ascii')}"
        prefix, path = split(request.url.path)
        asked = parse_host(origin + prefix)
        upstream = self._plan.upstream or asked
        has_own = bool(self._plan.settings.upstream_key) or _has_login(upstream)
        own = not has_own and _origin(upstream) == _origin(asked)
        headers = tuple((name.lower(), value) for name, value in request.headers.multi_items())
        incoming = Incoming(
            method=request.method,
            path=path,
            query=request.url.query.decode("ascii"),
            headers=tuple(h for h in headers if _goes(h[0], own=own)),
            body=body,
            client=self._name(tuple(h for h in headers if h[0] in _CREDENTIALS)),
        )
        gateway = self._gateway(upstream)
        token = _carried.set(tuple(h for h in headers if h[0] not in _OWN_TO_IT) if own else ())
        try:
            if path.startswith(("/api/", "/v1/")):
                return await gateway.handle(incoming)
            return await relayed(gateway.upstream, incoming, credentials=True)
        finally:
            _carried.reset(token)

    async def aclose(self) -> None:
        """Give back all connections, and unload the engine."""
        made, self._made = self._made, {}
        for gateway in made.values():
            await gateway.aclose()

    def _gateway(self, upstream: str) -> Gateway:
        found = self._made.get(upstream)
        if found is None:
            plan = self._plan
            settings = replace(plan.settings, upstream=upstream)
            found = self._made[upstream] = Gateway(
                settings,
                upstream=Upstream(
                    settings,
                    limits=plan.limits,
                    transport=plan.network,
                    auth=None if _has_login(upstream) else _Carry(),
                ),
                limits=plan.limits,
                observer=Observer(traces=settings.traces, metrics=Uncounted()),
            )
        return found

    def _name(self, credentials: Headers) -> str:
        """A name for whoever has these credentials, which tells nothing about them."""
        if not credentials:
            return ""
        return hashlib.sha256(self._salt + repr(credentials).encode()).hexdigest()[:12]


class _Carry(httpx.Auth):
    """Puts headers of the request being answered on what is asked for its sake."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """See :class:`httpx.Auth`."""
        for name, value in _carried.get():
            if name not in request.headers:
                request.headers[name] = value
        yield request


def split(path: str) -> tuple[str, str]:
    """What stands before ``/v1/`` or ``/api/``, and the rest; nothing, where neither is in it."""
    for mark in ("/v1/", "/api/"):
        head, found, rest = path.partition(mark)
        if found:
            return head, mark + rest
    return "", path


def _goes(name: str, *, own: bool) -> bool:
    # The gateway reads ``Host`` and ``Origin`` to keep web pages out; there are none in here.
    return name not in ("host", "origin") if own else name in _HARMLESS


def _origin(url: str) -> str:
    """Scheme, host and port of an address as :func:`fallback.hosts.parse_host` writes it."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"


def _has_login(url: str) -> bool:
    return "@" in url.partition("://")[2].partition("/")[0]
