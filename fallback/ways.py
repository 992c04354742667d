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
``decide``
    As ``prompt:fenced``, but before the reply to a question it is decided which tool it calls, or
    none, by probabilities (:mod:`fallback.loop.deciding`). ``decide:MARGIN`` is another margin than
    the usual one; ``decide:-inf`` always calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from fallback.dialects.record import FENCED, PROMPTED, Dialect
from fallback.errors import ConfigurationError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.loop import Decide
from fallback.messages import Mode

__all__ = ["ALL_WAYS", "DECIDE", "USUAL_WAYS", "Way", "way_of", "ways_of"]

Endpoint = Literal["generate", "chat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of calling tools.

    ``dialect``, ``endpoint`` and ``example`` are for ``prompt`` and ``decide``, ``margin`` is for
    ``decide``: ``None`` is the usual one.
    """

    kind: Literal["native", "native+read", "prompt", "decide"]
    dialect: str = ""
    endpoint: Endpoint = "generate"
    example: bool = True
    margin: float | None = None

    @property
    def name(self) -> str:
        """How the way is written, on the command line and in results."""
        if self.margin is not None:
            # The shortest text that is read back as this number: two margins are two names.
            return f"{self.kind}:{repr(self.margin).removesuffix('.0')}"
        if self.kind != "prompt":
            return self.kind
        chat = "+chat" if self.endpoint == "chat" else ""
        return f"prompt:{self.dialect}{chat}{'' if self.example else '+no-example'}"

    @property
    def mode(self) -> Mode:
        """The session's mode."""
        return "prompt" if self.prompted else "native"

    @property
    def prompted(self) -> bool:
        """Whether the tools stand in the prompt."""
        return self.kind in ("prompt", "decide")

    @property
    def decide(self) -> Decide | None:
        """How it is decided which tool is called."""
        if self.kind != "decide":
            return None
        return Decide() if self.margin is None else Decide(margin=self.margin)

    @property
    def limits(self) -> Limits:
        """What a turn may cost. No clock ends it, so that a slow machine has the same results."""
        limits = replace(DEFAULT_LIMITS, turn_seconds=None, max_steps=6)
        return replace(limits, max_corrections=0) if self.kind == "native" else limits

    def settings(self) -> dict[str, Any]:
        """The arguments of a session that make it go this way."""
        given: dict[str, Any] = {"mode": self.mode, "limits": self.limits}
        if self.prompted:
            return given | {"dialect": self.record, "decide": self.decide}
        return given | {"read_text": self.kind == "native+read"}

    @property
    def record(self) -> Dialect:
        """The dialect of a way that has its tools in the prompt."""
        return replace(PROMPTED[self.dialect], example=self.example)


def _prompted(endpoint: Endpoint, *, example: bool) -> list[Way]:
    return [
        Way(kind="prompt", dialect=name, endpoint=endpoint, example=example) for name in PROMPTED
    ]


DECIDE = Way(kind="decide", dialect=FENCED.name)
"""The way that decides first, with the usual margin."""

_NATIVE = (Way(kind="native"), Way(kind="native+read"))

USUAL_WAYS: tuple[Way, ...] = (*_NATIVE, *_prompted("generate", example=True))
"""What is compared unless somebody says otherwise."""

ALL_WAYS: tuple[Way, ...] = (
    *USUAL_WAYS,
    DECIDE,
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
        elif (way := way_of(name)) is not None:
            chosen[way] = None
        else:
            raise ConfigurationError(
                f"there is no way {name!r}; there are {', '.join(_BY_NAME)}, and all"
            )
    return tuple(chosen) or USUAL_WAYS


def way_of(name: str) -> Way | None:
    """The way of this name; ``None`` if there is no such way."""
    return _BY_NAME.get(name.replace("+generate", ""), _with_margin(name))


def _with_margin(name: str) -> Way | None:
    """The way ``decide:MARGIN``, if that is one."""
    kind, _, margin = name.partition(":")
    try:
        given = Decide(margin=float(margin) + 0.0)  # so that -0 is 0
    except ValueError:
        return None
    return replace(DECIDE, margin=given.margin) if kind == DECIDE.kind else None
