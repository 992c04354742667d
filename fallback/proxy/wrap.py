"""A client of models, made anew so that its requests go through the adapter."""

from __future__ import annotations

import copy
import sys
from typing import Any, TypeVar

from fallback.limits import Limits
from fallback.proxy.settings import Settings
from fallback.proxy.transport import AsyncTransport, Transport

__all__ = ["wrap"]

C = TypeVar("C")

_COPIED = (
    "auth",
    "params",
    "headers",
    "cookies",
    "timeout",
    "follow_redirects",
    "max_redirects",
    "event_hooks",
    "base_url",
    "trust_env",
)


def wrap(
    client: C,
    *,
    upstream: str | None = None,
    settings: Settings | None = None,
    limits: Limits | None = None,
) -> C:
    """A client of the same class whose models can call tools, whether they can or not.

    Address, key, headers and timeouts are those of the one given, which stays as it is; both are to
    be closed. Connections are the adapter's own: proxies and certificates that the given client
    was made with are told to a :class:`~fallback.Transport` as ``network``.

    Args:
        client: ``Client`` or ``AsyncClient`` of ``ollama``; ``OpenAI`` or ``AsyncOpenAI``;
            ``Anthropic`` or ``AsyncAnthropic``.
        upstream, settings, limits: as for :class:`~fallback.Transport`.

    Raises:
        TypeError: it is none of these.
        ConfigurationError, BackendConnectionError: as for :class:`~fallback.Transport`.
    """
    given: Any = client
    options: dict[str, Any] = {"upstream": upstream, "settings": settings, "limits": limits}
    if _is(given, "ollama", "Client", "AsyncClient"):
        wrapped = copy.copy(given)
        wrapped._client = _through(given._client, options)
    elif _is(given, "openai", "OpenAI", "AsyncOpenAI") or _is(
        given, "anthropic", "Anthropic", "AsyncAnthropic"
    ):
        wrapped = given.copy(http_client=_through(given._client, options))
    else:
        raise TypeError(
            f"wrap takes a client of ollama, openai or anthropic, and not {type(given).__name__};"
            " others are given an HTTP client with transport=fallback.Transport()"
        )
    return wrapped  # type: ignore[no-any-return]  # a copy of what was given


def _is(client: object, library: str, *names: str) -> bool:
    """Whether it is one of these; nothing is imported, since who has one has its library too."""
    module = sys.modules.get(library)
    return module is not None and isinstance(client, tuple(getattr(module, n) for n in names))


def _through(inner: Any, options: dict[str, Any]) -> Any:
    """A plain HTTP client with the settings of another, through us."""
    kept = {name: getattr(inner, name) for name in _COPIED}
    for library in filter(None, map(sys.modules.get, ("httpx", "httpx2"))):
        if isinstance(inner, library.Client):
            return library.Client(**kept, transport=Transport(**options))
        if isinstance(inner, library.AsyncClient):
            return library.AsyncClient(**kept, transport=AsyncTransport(**options))
    raise TypeError(f"the client's HTTP client is {type(inner).__name__}, not one of httpx")
