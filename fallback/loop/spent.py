"""What a turn has used up: kept with one that waits, so that going on begins no budget anew.

How often calls have run is not here: the steps of the turn say so. Nor is its time: whoever goes
on with a turn waits for it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from fallback.messages import Problem, ProblemKind

__all__ = ["UNSPENT", "Seen", "Spent"]

Seen = tuple[str, str, str]
"""A call that was answered: its canonical text, and the result's status and content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Counts of one turn.

    Attributes:
        pauses: how often a busy server was waited for.
        retries: how often a call was made again by the application.
        failures: replies whose calls all failed.
        corrected: the problems that the model was told of; of each kind, tool and message.
        nudged: the slips that it was told of, with the text of its reply.
        repeated: how often in a row the last calls have come back with the same results.
        last: those calls.
    """

    pauses: int = 0
    retries: int = 0
    failures: int = 0
    corrected: tuple[Problem, ...] = ()
    nudged: Mapping[str, str] = field(default_factory=dict)
    repeated: int = 0
    last: tuple[Seen, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        told = [{"kind": p.kind, "tool": p.tool, "message": p.message} for p in self.corrected]
        return {**asdict(self), "corrected": told, "nudged": dict(self.nudged)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Spent:
        """What :meth:`to_json` wrote.

        Raises:
            TypeError, ValueError, KeyError: it is damaged.
        """
        counts = {name: _count(stored[name]) for name in _COUNTS}
        return cls(
            **counts,
            corrected=tuple(_problem(**problem) for problem in stored["corrected"]),
            nudged={_text(what): _text(said) for what, said in dict(stored["nudged"]).items()},
            last=tuple((_text(a), _text(b), _text(c)) for a, b, c in stored["last"]),
        )


UNSPENT = Spent()
"""Of a turn that begins."""

_COUNTS = ("pauses", "retries", "failures", "repeated")


def _problem(kind: Any, tool: Any, message: Any) -> Problem:
    if kind not in get_args(ProblemKind):
        raise ValueError(f"there is no problem {kind!r}")
    return Problem(kind=kind, message=_text(message), tool=None if tool is None else _text(tool))


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
