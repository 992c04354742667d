"""The margin of the way ``decide``, chosen for one model from turns that it has done. Values only.

The notes of a turn that was decided on say what spoke for a call. So turns with one margin show
where any other would have called a tool, and whether one was needed the case says. A margin is
found on one half of the cases and judged on the other: on the cases that it was found on every
margin looks better than it is. Which half a case is in, its name alone decides.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from fallback.loop import Decide

__all__ = ["Decision", "Margin", "best_margin", "decided_alike", "lead_of", "margin_for", "tuning"]

_LEAD = re.compile(r"decided: .* ([+-](?:\d+\.\d+|inf)), of which ")

_ROUNDED = 0.005
"""How far a lead in a note may be from what was compared: it has two decimals there."""

_FEWEST = 4
"""Cases of either sort, with and without a call that is needed, that a half has to have."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A case that was decided on.

    Attributes:
        suite, case: its names.
        lead: what spoke for a call, in natural logarithms.
        needed: whether a call is needed.
    """

    suite: str
    case: str
    lead: float
    needed: bool

    @property
    def tuning(self) -> bool:
        """See :func:`tuning`."""
        return tuning(self.suite, self.case)

    def good_at(self, margin: float) -> bool:
        """Whether it would have been decided to call just when a call is needed."""
        return (self.lead > margin) == self.needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """A margin that was found for a model.

    Attributes:
        value: in natural logarithms.
        found_on: cases of the half that it was found on.
        judged_on: cases of the other half; ``good`` of them it decides well, ``usual`` of them the
            usual margin does.
    """

    value: float
    found_on: int
    judged_on: int
    good: int
    usual: int


def tuning(suite: str, case: str) -> bool:
    """Whether a case is in the half that a margin is found on."""
    return hashlib.sha256(f"half\0{suite}\0{case}".encode()).digest()[0] % 2 == 0


def lead_of(record: Mapping[str, Any]) -> float | None:
    """What spoke for a call in the turn of a record; ``None`` if it was not decided on."""
    notes = (note for step in record["steps"][:1] for note in step["notes"])
    found = next(filter(None, map(_LEAD.match, notes)), None)
    return float(found[1]) if found else None


def decided_alike(record: Mapping[str, Any], one: float, other: float) -> bool:
    """Whether two margins decide the same in the turn of a record; not if it is too close to tell.

    Args:
        record: of a turn that was done with one of them.
        one, other: the margins.
    """
    lead = lead_of(record)
    if lead is None or any(abs(lead - margin) <= _ROUNDED for margin in (one, other)):
        return False
    return (lead > one) == (lead > other)


def best_margin(decisions: Sequence[Decision]) -> float | None:
    """The margin with which most decisions are good; of several the one in the middle.

    ``None`` where no margin would change any of them.
    """
    leads = sorted({d.lead for d in decisions if math.isfinite(d.lead)})
    if not leads:
        return None
    gains = dict.fromkeys(leads, 0)  # of a margin that has passed the lead
    for decision in decisions:
        if decision.lead in gains:
            gains[decision.lead] += -1 if decision.needed else 1
    places = [leads[0] - 1, *((a + b) / 2 for a, b in pairwise(leads)), leads[-1] + 1]
    scores = list(accumulate(gains.values(), initial=0))
    most = max(scores)
    best = [place for place, score in zip(places, scores, strict=True) if score == most]
    return round(best[len(best) // 2], 1)


def margin_for(decisions: Sequence[Decision]) -> Margin | None:
    """The margin that a model should have, if that is another one than the usual.

    It has to decide more cases well than the usual one does in the half that it is found on, and no
    fewer in the other. ``None`` also where either half has too few cases to say anything.
    """
    halves = [[d for d in decisions if d.tuning], [d for d in decisions if not d.tuning]]
    for half in halves:
        needed = sum(decision.needed for decision in half)
        if min(needed, len(half) - needed) < _FEWEST:
            return None
    ours, theirs = halves
    value, usual = best_margin(ours), Decide().margin
    if value is None:
        return None
    if _good(ours, value) <= _good(ours, usual) or _good(theirs, value) < _good(theirs, usual):
        return None
    return Margin(
        value=value,
        found_on=len(ours),
        judged_on=len(theirs),
        good=_good(theirs, value),
        usual=_good(theirs, usual),
    )


def _good(decisions: Iterable[Decision], margin: float) -> int:
    return sum(decision.good_at(margin) for decision in decisions)
