"""Which tool, or none: decided by two things that speak for a call.

One is how readily the model begins a call of itself: the odds of that against everything else
that its reply may begin with. A small model answers from memory what it had better look up, but
then a call is still nearly as probable; where no tool fits, it is out of the question.

The other is how much the question makes a tool's name more probable. A small model has its
favourites: some names are probable whatever is asked, and ``none`` is not one of them. So each
name's log-probability is taken against the one that it has when nothing is asked, and the gains are
compared (contextual calibration: Zhao et al., 2021, "Calibrate Before Use").

The names are scored where a call has them: behind the beginning of one. So the prompt is that of
the call which follows, and is evaluated once for all.

Behind a call the same two things speak for another one: by how much its beginning is more probable
than the end of the reply, and by how much more so than where nothing is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from fallback.catalogue import Catalogue
from fallback.dialects.record import Dialect
from fallback.errors import ConfigurationError
from fallback.rendering.opening import Opening, opening

__all__ = [
    "CONTENT_FREE",
    "Baseline",
    "Choices",
    "Decide",
    "Verdict",
    "another",
    "beginning",
    "decided",
    "decided_again",
    "first",
    "gained",
    "judge",
    "may_follow",
    "odds",
    "seen",
]

CONTENT_FREE = "N/A"
"""A question that asks for nothing."""

_EXTREME = 4.0
"""Logarithm of the odds that count as no more: beyond it they are nearly always certain, and would
leave nothing to be said by the names."""

_HOPELESS = -5.0
"""Another call that is so much less probable than the end of the reply is out of question, whatever
it would be where nothing is asked."""

_NONE = "none"
"""What stands for no tool at all, unless a tool is called so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    """How it is decided.

    Attributes:
        margin: what has to speak for a call at least, in natural logarithms: those of the odds
            that the reply begins with one, and of the probability that the likeliest tool's name
            gains by the question over ``none``. A higher margin calls less often.
        further: what has to speak for another call behind one at least, in the same unit: by how
            much its beginning is more probable than the end of the reply, and by how much more so
            than where nothing is asked.
        most: calls in one reply, at most.
        unasked: by how much the question has to raise the odds of a value for a parameter that may
            be left out, in the same unit; a value that gains less is left out, see
            :mod:`fallback.loop.unasked`. Minus infinity keeps all.
    """

    margin: float = -2.0
    further: float = 1.0
    most: int = 8
    unasked: float = 2.0

    def __post_init__(self) -> None:
        for name in ("margin", "further", "unasked"):
            if math.isnan(getattr(self, name)):
                raise ConfigurationError(f"{name} is a number, not nan")
        if self.most < 1:
            raise ConfigurationError(f"most is at least 1, got {self.most}")


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the names of a catalogue have when nothing is asked; one per catalogue will do."""

    catalogue: Catalogue
    logprobs: tuple[float, ...]


class Choices(NamedTuple):
    """What a reply that ends with ``prefill`` may go on with: where it is about tools a value for
    each, and last the one that stands for no call.

    ``whole`` is that of :class:`fallback.backend.Scorer`.
    """

    prefill: str
    values: tuple[str, ...]
    whole: bool = False


class Scored(Protocol):
    """How probable the values of a choice are, as a backend says it."""

    @property
    def logprobs(self) -> tuple[float, ...]: ...
    @property
    def unseen(self) -> frozenset[int]: ...


class Verdict(NamedTuple):
    """The tool that was decided on, ``""`` for none; which came nearest, and what speaks for it."""

    tool: str
    nearest: str
    lead: float


def beginning(dialect: Dialect) -> Choices:
    """The choice of a call at all, against whatever else a reply may begin with."""
    return Choices("", (opening(dialect).prefill,))


def first(names: Sequence[str], dialect: Dialect) -> Choices:
    """The choice of a tool, where a reply has begun with a call."""
    begun = opening(dialect).prefill
    none = _NONE
    while none in names:
        none = f"no_{none}"
    opened = (opening(dialect, name).prefill for name in (*names, none))
    return Choices(begun, tuple(text.removeprefix(begun) for text in opened))


def another(names: Sequence[str], dialect: Dialect, written: str, opened: Opening) -> Choices:
    """The choice behind a call: one of another tool, or the end of the block.

    Args:
        names: of the tools.
        dialect: how calls are written.
        written: the reply so far; ends with ``opened.closing``.
        opened: how its last call was opened.
    """
    kept = opened.kept(written)
    texts = [opening(dialect, name).behind(written) for name in names]
    return Choices(kept, tuple(text.removeprefix(kept) for text in (*texts, written)))


def decided(
    names: Sequence[str],
    settings: Decide,
    *,
    begun: Scored,
    asked: Scored,
    free: Sequence[float],
) -> tuple[Verdict, str]:
    """The first decision, and what to tell of it.

    Args:
        names: of the tools.
        settings: whose margin is to be passed.
        begun: the answer to :func:`beginning`.
        asked: the answer to :func:`first`.
        free: the logarithms of the latter when nothing is asked.
    """
    ready = odds(begun.logprobs[0])
    gains = gained(asked.logprobs, free, asked.unseen)
    verdict = judge(names, gains, settings.margin, ready=ready)
    told = f"{verdict.nearest} {verdict.lead:+.2f}, of which {ready:+.2f} for any call"
    return verdict, f"decided: {verdict.tool or 'no tool'} ({told})"


def may_follow(asked: Scored) -> bool:
    """Whether it is worth asking what of the answer to :func:`another` is so whatever is asked."""
    return max(_over_the_end(asked)) > _HOPELESS


def decided_again(
    names: Sequence[str], settings: Decide, asked: Scored, free: Scored | None
) -> tuple[Verdict, str]:
    """The decision behind a call, and what to tell of it.

    Args:
        names: of the tools.
        settings: whose ``further`` is to be passed.
        asked: the answer to :func:`another`.
        free: the same where nothing is asked; ``None`` where no other call may follow.
    """
    ready = _over_the_end(asked)
    if free is None:
        verdict = judge(names, [*ready, 0.0], math.inf)
        told = f"{verdict.nearest} {verdict.lead:+.2f} over the end"
    else:
        *gains, end = gained(asked.logprobs, free.logprobs, asked.unseen)
        both = [gain + own for gain, own in zip(gains, ready, strict=True)]
        verdict = judge(names, [*both, end], settings.further)
        own = ready[names.index(verdict.nearest)]
        told = f"{verdict.nearest} {verdict.lead:+.2f}, of which {own:+.2f} over the end"
    return verdict, f"decided again: {verdict.tool or 'no further call'} ({told})"


def _over_the_end(asked: Scored) -> list[float]:
    """How much more probable each tool is than the end of the reply."""
    *tools, end = seen(asked.logprobs, asked.unseen)
    return [tool - end for tool in tools]


def odds(logprob: float) -> float:
    """The logarithm of the odds of what has this log-probability, between two extremes."""
    against = -math.expm1(min(logprob, 0.0))
    if against <= 0:
        return _EXTREME
    return max(-_EXTREME, min(logprob - math.log(against), _EXTREME))


def gained(asked: Sequence[float], free: Sequence[float], unseen: frozenset[int]) -> list[float]:
    """What each value gains by the question, over what it has of itself; the last is for none.

    A tool that is not among the likeliest given the question gains nothing by it, whatever is known
    of it otherwise: the difference of two bounds says nothing.
    """
    gains = [given - nothing for given, nothing in zip(asked, free, strict=True)]
    tools = range(len(gains) - 1)
    return [
        -math.inf if index in unseen and index in tools else gain
        for index, gain in enumerate(gains)
    ]


def seen(logprobs: Sequence[float], unseen: frozenset[int]) -> list[float]:
    """The log-probabilities of values, the last of which ends the reply; a tool that is not among
    the likeliest cannot follow, whatever it might have at most.
    """
    return gained(logprobs, [0.0] * len(logprobs), unseen)


def judge(
    names: Sequence[str], gains: Sequence[float], margin: float, *, ready: float = 0.0
) -> Verdict:
    """Compare what speaks for each tool, and last for none, by a margin.

    Args:
        names: of the tools.
        gains: one for each, and one for none.
        margin: what has to speak for a tool at least.
        ready: what speaks for a call, of whichever tool.
    """
    nearest = max(range(len(names)), key=gains.__getitem__)
    lead = gains[nearest] - gains[-1] + ready
    return Verdict(names[nearest] if lead > margin else "", names[nearest], lead)
