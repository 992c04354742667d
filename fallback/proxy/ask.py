"""One request in our own words, whichever wire it came on, and the refusal of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fallback.catalogue import Catalogue
from fallback.errors import FallbackError
from fallback.messages import Message
from fallback.proxy.events import Failure

__all__ = ["Ask", "Refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a client wants.

    Attributes:
        wire: name of the wire it came on; for logs and metrics.
        model: as the client wrote it, and as it is told back.
        messages: the whole conversation; system messages may stand anywhere.
        catalogue: the tools on offer; empty for none.
        tool_choice: ``auto``, ``none``, ``required`` or the name of one tool of the catalogue.
        parallel: whether one reply may hold several calls.
        stream: whether the client wants the answer as it is written.
        options: Ollama's names (``temperature``, ``seed`` ...); ``num_predict`` is the most tokens
            the client wants, ``num_ctx`` the window it would like, both hints.
        stop: strings that end the visible text; they never cut a call.
        format: JSON Schema of the final text.
        think: whether, or how hard, a thinking model should think; ``None`` for its own default.
        keep_alive: how long the server should keep the model, in Ollama's form.
        include_usage: whether a stream ends with the figures, on wires where that is asked for.
        extra: what only the wire's own encoder needs, such as the names it has to give back.
        ignored: what was left out of account, for the log.
    """

    wire: str
    model: str
    messages: tuple[Message, ...]
    catalogue: Catalogue = field(default_factory=Catalogue)
    tool_choice: str = "auto"
    parallel: bool = True
    stream: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    stop: tuple[str, ...] = ()
    format: Mapping[str, Any] | None = None
    think: bool | str | None = None
    keep_alive: str | float | None = None
    include_usage: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()


class Refused(FallbackError):
    """The request cannot be served; ``failure`` says why, and each wire has its own form for it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure
