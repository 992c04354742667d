"""A reply with what is known about it: what laws are held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fallback.messages import FinishReason
from fallback.testing.writers import Written


class LawBroken(AssertionError):
    """A parser did what no parser may do.

    Attributes:
        law: the name of the law.
        detail: what was read, and what was meant.
    """

    def __init__(self, law: str, detail: str) -> None:
        super().__init__(f"{law}: {detail}")
        self.law, self.detail = law, detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One reply and what is known about it.

    Attributes:
        text: what the model wrote.
        tools: the tools it was offered, in OpenAI's form.
        calls: the calls that are in it, if that is known.
        finish_reason: why the generation ended.
        places: where the reply is cut into chunks.
        dialect: the dialect it was written in, if it was.
        longer: the same flood four times as long.
    """

    text: str
    tools: tuple[Mapping[str, Any], ...]
    calls: tuple[Written, ...] | None = None
    finish_reason: FinishReason = "stop"
    places: tuple[int, ...] = ()
    dialect: str = ""
    longer: str = ""

    def chunks(self) -> list[str]:
        """The text, cut at the places."""
        size = len(self.text)
        edges = [0, *sorted({place % (size + 1) for place in self.places}), size]
        return [self.text[a:b] for a, b in pairwise(edges)]


Subject = Callable[[Sample], Sequence[Written]]
"""A parser under test: from a sample's text and tools to the calls that it would run."""
