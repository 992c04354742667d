"""Which way a model is asked to call tools, decided from what its server says. No I/O, no memory.

What a server said *later*, such as that it refuses tools after all, is remembered by the backend,
which then describes the model without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fallback.backend import ModelInfo
from fallback.errors import CapabilityError
from fallback.messages import Mode

__all__ = ["Route", "choose", "refuse_without_completion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A mode, and one clause for people that says why it was taken."""

    mode: Mode
    why: str


def choose(info: ModelInfo, mode: Literal["auto", "native", "prompt"] = "auto") -> Route:
    """Choose the mode for a model.

    Args:
        info: from the backend.
        mode: ``auto`` decides by the capability ``tools``; a server too old to list capabilities is
            tried natively, since its refusal is cheap and clear. A forced mode is obeyed.

    Raises:
        CapabilityError: the model does not write text at all.
    """
    refuse_without_completion(info)
    if mode != "auto":
        return Route(mode=mode, why="asked for")
    if info.capabilities is None:
        return Route(mode="native", why="the server does not list capabilities; it is asked")
    if "tools" in info.capabilities:
        return Route(mode="native", why="the server says that the model takes tools")
    return Route(mode="prompt", why="the server says nothing of tools for this model")


def refuse_without_completion(info: ModelInfo) -> None:
    """Raise ``CapabilityError`` for a model that only embeds or draws."""
    capabilities = info.capabilities
    if capabilities is None or "completion" in capabilities:
        return
    can = ", ".join(sorted(capabilities)) or "nothing"
    raise CapabilityError(
        f"{info.name!r} does not write text (it can: {can}); choose a model for chat",
        status=400,
        missing="completion",
    )
