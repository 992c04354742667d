"""The ways a model can be asked to call tools, and how each is set up.

``native``
    The server is given the tools, and what it reports as calls is all that counts, as in most
    applications: nothing is read from the text, and nothing is corrected.
``native+read``
    The same request; a reply without reported calls goes through our parser, and our loop corrects.
``prompt:DIALECT``
    The tools stand in the system prompt and calls are read from the text. ``+chat`` sends it
    through ``/api/chat`` in place of ``/api/generate``; ``+no-example`` leaves the worked example
    out of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from fallback.dialects.record import PROMPTED, Dialect
from fallback.errors import ConfigurationError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import Mode

__all__ = ["ALL_WAYS", "USUAL_WAYS", "Way", "ways_of"]

Endpoint = Literal["generate", "chat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of calling tools; ``dialect``, ``endpoint`` and ``example`` are for ``prompt``."""

    kind: Literal["native", "native+read", "prompt"]
    dialect: str = ""
    endpoint: Endpoint = "generate"
    example: bool = True

    @property
    def name(self) -> str:
        """How the way is written, on the command line and in results."""
        if self.kind != "prompt":
            return self.kind
        chat = "+chat" if self.endpoint == "chat" else ""
        return f"prompt:{self.dialect}{chat}{'' if self.example else '+no-example'}"

    @property
    def mode(self) -> Mode:
        """The session's mode."""
        return "prompt" if self.kind == "prompt" else "native"

    @property
    def limits(self) -> Limits:
        """What a turn may cost. No clock ends it, so that a slow machine has the same results."""
        limits = replace(DEFAULT_LIMITS, turn_seconds=None, max_steps=6)
        return replace(limits, max_corrections=0) if self.kind == "native" else limits

    def settings(self) -> dict[str, Any]:
        """The arguments of a session that make it go this way."""
        given: dict[str, Any] = {"mode": self.mode, "limits": self.limits}
        if self.kind == "prompt":
            return given | {"dialect": self.record}
        return given | {"read_text": self.kind == "native+read"}

    @property
    def record(self) -> Dialect:
        """The dialect of a ``prompt`` way."""
        return replace(PROMPTED[self.dialect], example=self.example)


def _prompted(endpoint: Endpoint, *, example: bool) -> list[Way]:
    return [
        Way(kind="prompt", dialect=name, endpoint=endpoint, example=example) for name in PROMPTED
    ]


_NATIVE = (Way(kind="native"), Way(kind="native+read"))

USUAL_WAYS: tuple[Way, ...] = (*_NATIVE, *_prompted("generate", example=True))
"""What is compared unless somebody says otherwise."""

ALL_WAYS: tuple[Way, ...] = (
    *USUAL_WAYS,
    *_prompted("generate", example=False),
    *_prompted("chat", example=True),
    *_prompted("chat", example=False),
)

_BY_NAME = {way.name: way for way in ALL_WAYS}


def ways_of(names: Iterable[str]) -> tuple[Way, ...]:
    """The ways of these names, each once; ``all`` is every one, none at all are the usual ones.

    Raises:
        ConfigurationError: there is no such way.
    """
    chosen: dict[Way, None] = {}
    for name in names:
        if name == "all":
            chosen |= dict.fromkeys(ALL_WAYS)
        elif (way := _BY_NAME.get(name.replace("+generate", ""))) is not None:
            chosen[way] = None
        else:
            raise ConfigurationError(
                f"there is no way {name!r}; there are {', '.join(_BY_NAME)}, and all"
            )
    return tuple(chosen) or USUAL_WAYS
