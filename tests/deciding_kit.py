"""A model that is written down for decisions: what its next token would be, and its replies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fallback.backend import GenerationRequest

Scores = Callable[[GenerationRequest, Sequence[str]], Iterable[float]]


class Model:
    """Favours tools in a fixed order of names, and has its habits when nothing is asked.

    Of arguments it finds those as probable as not that ``invented`` names, whatever is asked; all
    others only where they are asked for.
    """

    def __init__(
        self,
        *chosen: str,
        habits: dict[str, float] | None = None,
        gain: float = 5.0,
        further: Sequence[str] = (),
        ready: float = 0.5,
        invented: Sequence[str] = (),
    ) -> None:
        self.chosen, self.further, self.ready = list(chosen), list(further), ready
        self.habits, self.gain = habits or {}, gain
        self.invented = frozenset(invented)
        self.doubted: list[tuple[str, str]] = []
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def __call__(self, request: GenerationRequest, values: Sequence[str]) -> Iterable[float]:
        question = request.messages[-1].content
        if not request.prefill:  # a call at all
            return [math.log(self.ready)]
        if request.prefill.endswith('":'):  # a value
            name = request.prefill.split('"')[-2]
            self.doubted.append((name, values[0]))
            given = name in self.invented or question == "N/A"
            return [math.log(0.5 if given else 0.99)]
        self.asked.append((request.prefill, tuple(values)))
        if not request.prefill.endswith('"name": "'):  # behind a call
            if question == "N/A":  # whatever is asked it would rather end
                return [*[-3.0] * (len(values) - 1), 0.0]
            wanted = self.further.pop(0) if self.further else "```"
            return [0.0 if value.startswith(_begun(wanted)) else -6.0 for value in values]
        own = [self.habits.get(value.partition('"')[0], -3.0) for value in values]
        if question == "N/A":
            return own
        wanted = self.chosen.pop(0) if self.chosen else "none"
        gains = [self.gain if v.startswith(f'{wanted}"') else 0.0 for v in values]
        return [had + gained for had, gained in zip(own, gains, strict=True)]


def _begun(wanted: str) -> str:
    return wanted if wanted == "```" else f'{{"name": "{wanted}"'


def args(text: str) -> dict[str, Any]:
    """A reply that continues what was begun, and is held to the schema."""
    return {"content": text, "prefilled": True}


def call(tool: str, arguments: str) -> dict[str, Any]:
    """The same, of a call as a whole."""
    return args(f'{{"name": "{tool}", "arguments": {arguments}}}')
