"""Which way a model is asked to call tools, decided from what its server says. No I/O, no memory.

Where the model was measured (:mod:`fallback.profiles`), the result is handed in as :class:`Advice`,
and goes before what the server claims. What a server said *later*, such as that it refuses tools
after all, is remembered by the backend, which then describes the model without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fallback.backend import ModelInfo
from fallback.dialects.record import Dialect
from fallback.errors import CapabilityError
from fallback.messages import Mode

__all__ = ["Advice", "Route", "choose", "refuse_without_completion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """How a model is best asked, as somebody has measured; ``None`` where nothing is said.

    Attributes:
        mode: native or prompt.
        why: one clause for people.
        dialect: how calls are written in prompt mode.
        endpoint: where prompts are sent in prompt mode.
        read_text: whether, in native mode, calls are also read from the text.
        think: for models that think.
        num_ctx: window in tokens.
        decide: the margin with which it is decided before a reply whether it calls a tool.
        otherwise: how it is best asked by whoever cannot decide.
    """

    mode: Mode
    why: str
    dialect: Dialect | None = None
    endpoint: Literal["generate", "chat"] | None = None
    read_text: bool | None = None
    think: bool | str | None = None
    num_ctx: int | None = None
    decide: float | None = None
    otherwise: Advice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A mode, and one clause for people that says why it was taken.

    ``advice`` is what was gone by; what the caller has set himself goes before it.
    """

    mode: Mode
    why: str
    advice: Advice | None = None


def choose(
    info: ModelInfo,
    mode: Literal["auto", "native", "prompt"] = "auto",
    advice: Advice | None = None,
) -> Route:
    """Choose the mode for a model.

    Args:
        info: from the backend.
        mode: ``auto`` decides by the capability ``tools``; a server too old to list capabilities is
            tried natively, since its refusal is cheap and clear. A forced mode is obeyed.
        advice: what ``auto`` goes by, if it can: a server that refuses tools is not asked for them.

    Raises:
        CapabilityError: the model does not write text at all.
    """
    refuse_without_completion(info)
    if mode != "auto":
        return Route(mode=mode, why="asked for")
    if advice is not None and not (advice.mode == "native" and _refuses_tools(info)):
        return Route(mode=advice.mode, why=advice.why, advice=advice)
    if info.capabilities is None:
        return Route(mode="native", why="the server does not list capabilities; it is asked")
    if "tools" in info.capabilities:
        return Route(mode="native", why="the server says that the model takes tools")
    return Route(mode="prompt", why="the server says nothing of tools for this model")


def _refuses_tools(info: ModelInfo) -> bool:
    return info.capabilities is not None and "tools" not in info.capabilities


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
