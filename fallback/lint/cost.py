"""What the catalogue costs in every prompt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from math import ceil

from fallback.catalogue import Catalogue
from fallback.limits import DEFAULT_LIMITS
from fallback.lint.places import ROOT
from fallback.lint.record import Cost, Found, Rule, Subject
from fallback.schema import signature
from fallback.tools import Tool

__all__ = ["RULES", "costs", "estimate"]

MOST_OF_A_TOOL = 300
"""Tokens; the tools of the Berkeley leaderboard have a median of 60 and few reach this."""

SHARE_OF_THE_WINDOW = 4
"""The catalogue may take one part in so many of the default window."""

_CHARS_PER_TOKEN = 3.5
"""Of tools, by the tokenizer of Qwen 2.5."""


def estimate(text: str) -> int:
    """About how many tokens a text has, without any tokenizer."""
    # Outside ASCII a token seldom holds more than one character.
    plain = sum(character < "\x80" for character in text)
    return ceil(plain / _CHARS_PER_TOKEN) + (len(text) - plain)


def costs(catalogue: Catalogue, count: Callable[[str], int] = estimate) -> dict[str, Cost]:
    """What each visible tool costs, counted by ``count``."""
    return {tool.name: _cost(tool, count) for tool in catalogue}


def _cost(tool: Tool, count: Callable[[str], int]) -> Cost:
    native = json.dumps(tool.to_dict(), ensure_ascii=False)
    return Cost(prompt=count(signature(tool)), native=count(native))


def _tool_cost(subject: Subject) -> Iterator[Found]:
    for name, cost in subject.costs.items():
        if cost.prompt > MOST_OF_A_TOOL:
            yield Found(
                name,
                ROOT,
                f"it costs {cost.prompt} tokens in every prompt ({cost.native} in native mode)",
                "shorten the descriptions, take out parameters that nobody uses, or split the tool",
            )


def _total_cost(subject: Subject) -> Iterator[Found]:
    most = DEFAULT_LIMITS.num_ctx // SHARE_OF_THE_WINDOW
    if subject.total.prompt > most:
        yield Found(
            "",
            "$",
            f"the {len(subject.costs)} tools cost {subject.total.prompt} tokens in every prompt"
            f" ({subject.total.native} in native mode), more than 1/{SHARE_OF_THE_WINDOW} of the"
            f" default window of {DEFAULT_LIMITS.num_ctx}",
            "offer each task only the tools that it needs: Catalogue.only(...)",
        )


RULES: tuple[Rule, ...] = (
    Rule(
        name="tool_cost",
        severity="warning",
        finds=f"a tool of more than {MOST_OF_A_TOOL} tokens",
        why="it is paid for with every reply, and a small model loses the thread",
        check=_tool_cost,
    ),
    Rule(
        name="catalogue_cost",
        severity="warning",
        finds=f"tools that take more than 1/{SHARE_OF_THE_WINDOW} of the default window together",
        why="what the tools take is missing for the conversation",
        check=_total_cost,
    ),
)
