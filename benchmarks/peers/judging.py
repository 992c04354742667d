"""Whether the calls that a parser read are the calls that were meant.

What a caller of any parser can do for itself is done for all of them before a call counts: names
that were not declared are dropped, and arguments are brought to the types of the schema where
nothing is lost, and dropped where they break it. The reading counts as right if it is right either
as it came or after that. So the figures say who *reads* best, not who validates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fallback import Catalogue
from fallback.schema import coerce, violations

Outcome = Literal["right", "missed", "wrong", "quiet", "false"]
Calls = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A reply and what it means.

    Attributes:
        id: unique within its set.
        text: what the model wrote.
        tools: as OpenAI has them.
        accepted: call sets that are right; the first is the one that is meant.
        group: what kind of reply it is.
        context: what a server would know besides: ``finish_reason``, ``reasoning_open``,
            ``tool_choice``, ``format``.
    """

    id: str
    text: str
    tools: tuple[dict[str, Any], ...]
    accepted: tuple[Calls, ...]
    group: str
    context: dict[str, Any]

    def request(self) -> dict[str, Any]:
        """The line that adapters are given."""
        return {"id": self.id, "text": self.text, "tools": list(self.tools), **self.context}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts over a set: first of the replies that hold calls, then of those that must not run."""

    right: int = 0
    missed: int = 0
    wrong: int = 0
    quiet: int = 0
    false: int = 0

    @property
    def with_calls(self) -> int:
        return self.right + self.missed + self.wrong

    @property
    def without_calls(self) -> int:
        return self.quiet + self.false


def judged(case: Case, answer: dict[str, Any] | None) -> Outcome:
    """The outcome for one reply; no answer and an error are readings without calls."""
    calls = (answer or {}).get("calls", [])
    usable = gated(calls, case.tools)
    fits = any(same(calls, meant) or same(usable, meant) for meant in case.accepted)
    if case.accepted[0]:
        return "right" if fits else "wrong" if usable else "missed"
    return "quiet" if fits or not usable else "false"


def gated(calls: Calls, tools: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of declared tools with arguments that satisfy the schema, after coercion."""
    catalogue = Catalogue(tools)
    kept = []
    for call in calls:
        tool = catalogue.get(call["name"]) if isinstance(call["name"], str) else None
        if tool is None or not isinstance(call["arguments"], dict):
            continue
        arguments, _ = coerce(call["arguments"], tool.compiled)
        if not violations(tool.compiled, arguments):
            kept.append({"name": call["name"], "arguments": arguments})
    return kept


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: ``1`` is ``1.0``, but ``True`` is not ``1``."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def scored(outcomes: Iterable[Outcome]) -> Score:
    return Score(**Counter[str](outcomes))
