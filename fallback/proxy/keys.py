"""The keys of clients: read from the settings and a file, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path

from fallback.errors import ConfigurationError
from fallback.proxy.http import Incoming

__all__ = ["Keys", "presented"]

_SHORTEST = 8


class Keys:
    """The accepted keys, each with a name that logs and limits know it by.

    Args:
        given: keys without names.
        path: file with one key a line, ``name: key`` or the key alone; ``#`` begins a comment.

    Raises:
        ConfigurationError: the file cannot be read, holds no key, or one that is easily guessed.
    """

    def __init__(self, given: Iterable[str] = (), path: str = "") -> None:
        named = [(f"key{number}", key) for number, key in enumerate(given, 1)]
        if path:
            named += _read(Path(path))
        for name, key in named:
            if len(key) < _SHORTEST:
                raise ConfigurationError(
                    f"the API key {name!r} is shorter than {_SHORTEST} characters; make a longer"
                    " one, for example with `openssl rand -hex 24`"
                )
        # Digests have one length, so that comparing them tells nothing about the key.
        self._digests = [(name, _digest(key)) for name, key in named]

    def __len__(self) -> int:
        return len(self._digests)

    def name_of(self, key: str) -> str | None:
        """The name of a key that is accepted; takes equally long for every key."""
        digest = _digest(key)
        found = None
        for name, known in self._digests:
            if hmac.compare_digest(known, digest):
                found = name
        return found


def presented(incoming: Incoming) -> str:
    """The key that a request shows, as any of the wires carries it; empty for none."""
    kind, _, token = incoming.header("authorization").partition(" ")
    if kind.lower() == "bearer" and token.strip():
        return token.strip()
    return incoming.header("x-api-key").strip()


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _read(path: Path) -> list[tuple[str, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the file of API keys cannot be read: {error}") from None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()  # noqa: PLW2901 -- without its comment
        name, colon, key = line.partition(":")
        if line:
            found.append((name.strip(), key.strip()) if colon else (f"line{number}", line))
    if not found:
        raise ConfigurationError(f"{path} holds no API key: write one on a line")
    return found
