"""Who may ask: the checks that come before a request is looked at.

``Host`` and ``Origin`` keep a web page that a user has open from reaching the server, by a
cross-site request or by a name that suddenly resolves to this machine; the key keeps others out.
"""

from __future__ import annotations

from dataclasses import replace

from fallback.engine.guard import host_allowed, origin_allowed
from fallback.proxy.ask import Refused
from fallback.proxy.events import Failure
from fallback.proxy.http import Incoming
from fallback.proxy.keys import Keys, presented
from fallback.proxy.settings import Settings

__all__ = ["OPEN_PATHS", "Guard", "shared_headers"]

OPEN_PATHS = frozenset({"/", "/api/hello", "/health", "/healthz", "/readyz"})
"""What may be asked without a key: whether the server is there, and nothing else."""

_METHODS = "GET, HEAD, POST, PUT, DELETE, OPTIONS"


class Guard:
    """Checks every request.

    Raises:
        ConfigurationError: the keys cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._keys = Keys(settings.api_keys, settings.api_keys_file) if settings.has_keys else None

    def admit(self, incoming: Incoming) -> Incoming:
        """The request with the client that it counts for.

        Raises:
            Refused: it may not be answered.
        """
        self._check_size(incoming)
        self._check_host(incoming)
        if self._keys is None or incoming.path in OPEN_PATHS or incoming.method == "OPTIONS":
            return incoming
        name = self._keys.name_of(presented(incoming))
        if name is None:
            message = "a valid API key is needed: send it as `Authorization: Bearer <key>`"
            raise Refused(Failure(kind="unauthorized", message=message, status=401))
        return replace(incoming, client=name)

    def _check_size(self, incoming: Incoming) -> None:
        size = sum(len(name) + len(value) + 4 for name, value in incoming.headers)
        if size > self._settings.max_headers:
            message = f"the headers have more than {self._settings.max_headers:,} bytes"
            raise Refused(Failure(kind="too_large", message=message, status=431))

    def _check_host(self, incoming: Incoming) -> None:
        settings = self._settings
        host, origin = incoming.header("host"), incoming.header("origin")
        known = host in settings.allowed_hosts or host.partition(":")[0] in settings.allowed_hosts
        # Under a public address the names are the operator's business; a list makes it ours.
        checked = settings.only_here or bool(settings.allowed_hosts)
        if checked and not known and not host_allowed(host):
            message = "this server does not answer under that name; see allowed_hosts"
            raise Refused(Failure(kind="forbidden", message=message, status=403))
        if origin not in settings.allowed_origins and not origin_allowed(origin, host):
            message = "this server does not answer that web page; see allowed_origins"
            raise Refused(Failure(kind="forbidden", message=message, status=403))


def shared_headers(incoming: Incoming) -> list[tuple[str, str]]:
    """What a browser has to read before its page may see the answer; the origin was checked."""
    origin = incoming.header("origin")
    if not origin:
        return []
    shared = [("access-control-allow-origin", origin), ("vary", "Origin")]
    if incoming.method == "OPTIONS":
        asked = incoming.header("access-control-request-headers")
        shared.append(("access-control-allow-methods", _METHODS))
        shared.append(("access-control-allow-headers", asked or "Content-Type, Authorization"))
    return shared
