"""How many characters fit the window, learnt from what the server counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fallback.errors import ContextWindowError
from fallback.limits import Limits
from fallback.loop.actions import Generation
from fallback.loop.window import Cut
from fallback.messages import Message

__all__ = ["Gauge", "Window", "characters"]

_SPARSEST, _DENSEST = 1 / 10, 4.0
"""Tokens per character that a count can mean: text has at most ten characters a token, and one
character is at most four bytes. What lies outside was counted without what a server had cached."""

_USUAL = 1 / 4
_MARGIN = 1.05
"""A request that was refused without numbers is taken to be at least so much too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """What is known of a model's window.

    Attributes:
        num_ctx: its size in tokens, the reply included; ``None`` until the backend has said.
        density: tokens per character of a request, as last counted.
    """

    num_ctx: int | None = None
    density: float | None = None

    def heard(self, size: int, generation: Generation) -> Gauge:
        """Learn from a reply to a request of so many characters."""
        counted = generation.usage.prompt_tokens / max(size, 1)
        density = counted if _SPARSEST <= counted <= _DENSEST else self.density
        return Gauge(num_ctx=generation.num_ctx or self.num_ctx, density=density)

    def refused(self, size: int, error: ContextWindowError) -> Gauge:
        """Learn from a request of so many characters that did not fit."""
        num_ctx = error.num_ctx or self.num_ctx
        if error.prompt_tokens is not None:
            return Gauge(num_ctx=num_ctx, density=error.prompt_tokens / max(size, 1))
        least = _MARGIN * num_ctx / max(size, 1) if num_ctx else 0.0
        return Gauge(num_ctx=num_ctx, density=max(self.density or _USUAL, least))

    def room(self, limits: Limits) -> int | None:
        """Characters that a request may have, with room left for the reply; ``None``: not known.

        A quarter of the window is kept for the reply, or what one may write if that is less.
        """
        if self.num_ctx is None or self.density is None:
            return None
        reply = min(limits.num_predict, self.num_ctx // 4)
        return int((self.num_ctx - reply) / self.density)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What a conversation has found out about the window, and what is left out because of it."""

    cut: Cut = field(default_factory=Cut)
    gauge: Gauge = field(default_factory=Gauge)

    def within(self, length: int) -> Window:
        """The same for a conversation of which only so many messages were kept."""
        return replace(self, cut=self.cut.within(length))


def characters(messages: tuple[Message, ...]) -> int:
    """Size of what is sent, calls included."""
    return sum(
        len(message.content) + sum(len(repr(call.arguments)) for call in message.tool_calls)
        for message in messages
    )
