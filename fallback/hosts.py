"""Where the model server is: ``--host``, ``OLLAMA_HOST``, this machine, the embedded engine.

The value of ``OLLAMA_HOST`` is read as Ollama's own clients read it: a bare host, ``host:port``, a
URL, an IPv6 address. Without a scheme the port is 11434, with ``http`` it is 80 and with ``https``
443. For a *server* ``0.0.0.0`` and ``[::]`` mean "listen everywhere"; a client, which shares the
variable, goes to this machine.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fallback.errors import BackendConnectionError, ConfigurationError
from fallback.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from fallback.ollama import Endpoint, OllamaBackend

__all__ = [
    "DEFAULT_URL", "EMBEDDED", "Address", "connect", "parse_host", "resolve_host", "without_login",
]  # fmt: skip

EMBEDDED = "embedded"
"""The host that means the engine in this process."""

DEFAULT_URL = "http://127.0.0.1:11434"
"""Where Ollama listens unless it is told otherwise."""

_INSTALL = "pip install 'toolcall-fallback[embedded]'"
_DEFAULT_PORTS = {"http": 80, "https": 443}
_OLLAMA_PORT = 11434
_LOGIN = re.compile(r"\A((?:[^/?#]*://)?)[^/?#]*@")


@dataclass(frozen=True, slots=True)
class Address:
    """A server: a URL without a slash at its end, or ``embedded``; and why it was taken."""

    url: str
    why: str


def without_login(url: str) -> str:
    """A URL for people to read, without the user and password that it may carry."""
    return _LOGIN.sub(r"\1", url)


def parse_host(value: str) -> str:
    """Read a host as ``OLLAMA_HOST`` has it; returns a URL with a port and without a final slash.

    Raises:
        ConfigurationError: it is no address.
    """
    try:
        return _parsed(value.strip().strip("\"'").strip())
    except ValueError as error:
        if "@" in value:  # nobody can say where the password ends
            raise ConfigurationError(
                "the host with a login in it is no address of a model server; a sign such as @ or /"
                " in a user or password is written %40 or %2F"
            ) from None
        raise ConfigurationError(f"{value!r} is no address of a model server: {error}") from error


def _parsed(text: str) -> str:
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = "http", f"[{text}]" if _is_ipv6(text) else text
    scheme = scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        raise ValueError("the scheme must be http or https")
    if any(char.isspace() or not char.isprintable() for char in rest):
        raise ValueError("it has spaces in it")
    parts = urlsplit(f"{scheme}://{rest}")
    host, port = parts.hostname or "127.0.0.1", parts.port
    port = port or (_DEFAULT_PORTS[scheme] if separator else _OLLAMA_PORT)
    login = parts.netloc.rpartition("@")[0]
    path = parts.path.strip("/")
    return (
        f"{scheme}://{login}{'@' if login else ''}{_reachable(host)}:{port}"
        f"{'/' if path else ''}{path}"
    )


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False


def _reachable(host: str) -> str:
    """Brackets for IPv6; this machine for "every address of this machine"."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"
    return f"[{host}]" if address.version == 6 else host


def resolve_host(
    host: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    limits: Limits = DEFAULT_LIMITS,
    answers: Callable[[str, Limits], bool] | None = None,
    has_engine: Callable[[], bool] | None = None,
) -> Address:
    """Find the server to use.

    Args:
        host: what the user named: as for ``OLLAMA_HOST``, or ``embedded``.
        environ: where ``OLLAMA_HOST`` is looked up.
        limits: ``probe_seconds``, the time to see whether Ollama runs on this machine.
        answers, has_engine: how to find out; for tests and for unusual installations.

    Raises:
        ConfigurationError: the host named is no address.
        BackendConnectionError: there is neither a server nor an engine.
    """
    if host is not None and host.strip():
        if host.strip().lower() == EMBEDDED:
            if not (has_engine or _has_engine)():
                raise BackendConnectionError(f"the embedded engine is not installed: {_INSTALL}")
            return Address(EMBEDDED, "named with --host")
        return Address(parse_host(host), "named with --host")
    if environ.get("OLLAMA_HOST", "").strip():
        return Address(parse_host(environ["OLLAMA_HOST"]), "OLLAMA_HOST is set")
    if (answers or _answers)(DEFAULT_URL, limits):
        return Address(DEFAULT_URL, "Ollama answers on this machine")
    if (has_engine or _has_engine)():
        return Address(EMBEDDED, "no Ollama answers on this machine; the embedded engine is here")
    raise BackendConnectionError(
        f"no model server: nothing answers at {DEFAULT_URL}, and the embedded engine is not"
        " installed. Either start Ollama (`ollama serve`, or name one with --host or OLLAMA_HOST),"
        f" or install the engine: {_INSTALL}"
    )


def _answers(url: str, limits: Limits) -> bool:
    """Whether something that looks like Ollama answers."""
    import httpx

    from fallback.ollama.transport import no_certificates

    try:
        reply = httpx.get(
            f"{url}/api/version",
            timeout=limits.probe_seconds,
            trust_env=False,
            verify=no_certificates(),
        )
        return reply.status_code == 200 and "version" in reply.json()
    except (httpx.HTTPError, ValueError):
        return False


def _has_engine() -> bool:
    return find_spec("xllamacpp") is not None


def connect(
    host: str | None = None,
    *,
    endpoint: Endpoint = "auto",
    limits: Limits = DEFAULT_LIMITS,
    keep_alive: str | float | None = None,
    environ: Mapping[str, str] = os.environ,
) -> OllamaBackend:
    """Find the server and make its backend; nothing is asked of a server that was named.

    ``OLLAMA_API_KEY`` goes along as a bearer token, to this machine or over https only.

    Raises:
        ConfigurationError, BackendConnectionError: as :func:`resolve_host`.
    """
    from fallback.ollama import OllamaBackend
    from fallback.ollama.transport import is_loopback

    url = resolve_host(host, environ=environ, limits=limits).url
    key = environ.get("OLLAMA_API_KEY", "")
    safe = url.startswith("https://") or (url != EMBEDDED and is_loopback(url))
    headers = {"Authorization": f"Bearer {key}"} if key and safe else {}
    return OllamaBackend(
        url, endpoint=endpoint, limits=limits, keep_alive=keep_alive, headers=headers
    )
