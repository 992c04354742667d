"""Arguments of a session as the turn wants them, or one line on what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable

from fallback.catalogue import Catalogue
from fallback.dialects.record import FENCED, PROMPTED, Dialect
from fallback.errors import ConfigurationError, UnknownDialectError
from fallback.execution.shown import Mask
from fallback.loop import Decide

__all__ = ["choice_of", "decide_of", "dialect_of", "masks_of"]


def decide_of(given: bool | Decide | None, mode: str, dialect: Dialect) -> Decide | None:
    """How it is decided which tool a reply calls; ``None`` where that is left to the reply."""
    if not given:
        return None
    if dialect.inline:
        raise ConfigurationError(
            "decide goes with dialects that have blocks: a call in running text begins anywhere"
        )
    if mode == "native":
        raise ConfigurationError("decide goes with prompt mode: in native mode the server decides")
    return given if isinstance(given, Decide) else Decide()


def masks_of(given: Iterable[Mask]) -> tuple[Mask, ...]:
    """The masks, one or several."""
    masks = (given,) if callable(given) else tuple(given)
    for mask in masks:
        if not callable(mask):
            raise ConfigurationError(f"a mask is a function of a text, got {type(mask).__name__}")
    return masks


def dialect_of(given: str | Dialect | None) -> Dialect:
    """The dialect of that name; fenced blocks where none is named."""
    if given is None:
        return FENCED
    if isinstance(given, Dialect):
        return given
    if given not in PROMPTED:
        known = ", ".join(sorted(PROMPTED))
        raise UnknownDialectError(f"there is no dialect {given!r}; there are {known}")
    return PROMPTED[given]


def choice_of(tool_choice: str, catalogue: Catalogue) -> str:
    """The choice, if the tools allow it."""
    if tool_choice in ("auto", "none"):
        return tool_choice
    if tool_choice == "required":
        if len(catalogue) == 0:
            raise ConfigurationError("tool_choice is 'required', but there are no tools")
        return tool_choice
    if catalogue.get(tool_choice) is None:
        names = ", ".join(catalogue.names) or "none at all"
        raise ConfigurationError(
            f"tool_choice {tool_choice!r} is neither auto, none, required nor one of the tools:"
            f" {names}"
        )
    return tool_choice
