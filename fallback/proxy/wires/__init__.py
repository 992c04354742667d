"""The wires: what clients send, read into an ``Ask``, and events written as they expect them.

One module per wire; nothing in here does I/O. A class that fulfils :class:`Wire` is all that the
gateway needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from fallback.proxy.ask import Ask
from fallback.proxy.events import Answer, Event, Failure

__all__ = ["StreamEncoder", "Wire"]


class StreamEncoder(Protocol):
    """Writes one streamed answer. Each method returns what goes out next, perhaps nothing.

    ``Finished`` and ``Failed`` are encoded with everything that ends the stream on this wire.
    """

    def open(self) -> bytes:
        """The opening, sent before the first event is known."""
        ...

    def encode(self, event: Event) -> bytes:
        """One event."""
        ...

    def keep_alive(self) -> bytes:
        """Something that clients count as progress and that changes nothing."""
        ...


class Wire(Protocol):
    """One wire. It has no state; an encoder has that of its stream."""

    name: str
    content_type: str

    def decode(self, body: Mapping[str, Any], toolbox: Any) -> Ask:
        """Read a request; ``toolbox`` is a :class:`fallback.proxy.toolset.Toolbox`.

        Raises:
            Refused: and nothing else, whatever the body holds.
        """
        ...

    def stream(self, ask: Ask) -> StreamEncoder:
        """Begin to write a streamed answer."""
        ...

    def whole(self, ask: Ask, answer: Answer) -> dict[str, Any]:
        """Write a whole answer."""
        ...

    def error(self, failure: Failure) -> dict[str, Any]:
        """The body of an error before any answer; the status is the failure's own."""
        ...
