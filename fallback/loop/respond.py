"""A tool for answering, for models that call a tool whatever they are asked.

It is offered beside the others and never run: a call of it is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from fallback.messages import ToolCall
from fallback.tools import Tool

__all__ = ["RESPOND", "TOO_EARLY", "respond_tool", "responded"]

RESPOND = "respond"
"""Name of the tool."""

TOO_EARLY = (
    "Not sent: it was written before the results of the other calls were there. Answer again, with"
    " what they say."
)


@cache
def respond_tool() -> Tool:
    """The tool. It has no handler, for nothing is done."""
    return Tool(
        name=RESPOND,
        description="Answers the user. Use it when no other tool is needed, or with its result.",
        parameters={
            "type": "object",
            "properties": {"text": {"type": "string", "description": "the answer, in plain words"}},
            "required": ["text"],
        },
    )


def responded(calls: Sequence[ToolCall]) -> str | None:
    """The answer, if all of the calls are answers; ``None`` if something else has to run first."""
    if not calls or any(call.name != RESPOND for call in calls):
        return None
    return "\n\n".join(call.arguments["text"].strip() for call in calls)
