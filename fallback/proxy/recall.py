"""The tools of a conversation whose client stops sending them half-way.

Continue's IDE extension sends ``tools`` only while the last message is the user's
(continuedev/continue#13254); behind a result the field is missing, and the model is still meant to
be able to call. ``"tools": []`` is another matter: that client wants none. What is remembered here
is a convenience: a server that has forgotten it answers without tools.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from fallback.catalogue import Catalogue
from fallback.proxy.ask import Ask
from fallback.proxy.kept import Kept

__all__ = ["Recall"]


class Recall:
    """Remembers the tools of the last conversations."""

    def __init__(self) -> None:
        self._kept = Kept[bytes, Catalogue]()

    def completed(self, ask: Ask, client: str) -> Ask:
        """The ask with the tools of its conversation, should they be missing."""
        if len(ask.catalogue):
            self._kept.keep(_key(ask, client), ask.catalogue)
            return ask
        if not ask.extra.get("tools_left_out") or ask.messages[-1].role != "tool":
            return ask
        known = self._kept.get(_key(ask, client))
        return ask if known is None else replace(ask, catalogue=known)


def _key(ask: Ask, client: str) -> bytes:
    """A conversation is known by its first question."""
    said = next((message.content for message in ask.messages if message.role == "user"), "")
    text = f"{client}\0{ask.wire}\0{ask.model}\0{said}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
