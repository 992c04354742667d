"""Who may talk to a served engine: the checks of ``Host`` and ``Origin`` that Ollama makes.

They keep a web page that a user has open from reaching the engine: by a cross-site request
(``Origin``) or by a name that suddenly resolves to this machine (``Host``). Refused is 403 with an
empty body. Source: Ollama's ``OLLAMA_ORIGINS`` and its check of allowed hosts, version 0.33.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

_WEB_HOSTS = frozenset({"localhost", "127.0.0.1", "0.0.0.0"})  # noqa: S104 - compared, not bound
_APP_SCHEMES = frozenset({"app", "file", "tauri", "vscode-webview", "vscode-file"})
_LOCAL_SUFFIXES = (".localhost", ".local", ".internal")


def origin_allowed(origin: str, host: str) -> bool:
    """Whether a page from ``origin`` may ask; ``host`` is the request's own ``Host``.

    No ``Origin`` at all is a program, not a page, and is allowed.
    """
    if not origin or origin in {f"http://{host}", f"https://{host}"}:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    if parts.scheme in {"http", "https"}:
        return parts.hostname in _WEB_HOSTS
    return parts.scheme in _APP_SCHEMES


def host_allowed(host: str) -> bool:
    """Whether ``Host`` names this machine or its own network."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        named = name in {"", "localhost", socket.gethostname().lower()}
        return named or name.endswith(_LOCAL_SUFFIXES)
    return address.is_loopback or address.is_private or address.is_unspecified


def is_loopback(address: str) -> bool:
    """Whether a server bound to ``address`` can be reached from this machine only."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
