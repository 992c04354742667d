"""The beginning of a call, to be put into the model's mouth where a call is required.

It is cut out of a call that was rendered like any other, so that the form that is asked for and
the form that is begun cannot differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallback.dialects.record import Dialect
from fallback.messages import ToolCall
from fallback.rendering.text import call_text
from fallback.templating import to_json

__all__ = ["Opening", "opening", "opening_of_any"]

_NAME = "name_of_the_tool"
_KEY = "name_of_the_argument"


@dataclass(frozen=True, slots=True)
class Opening:
    """A call without its inside.

    Attributes:
        prefill: the beginning: up to the name, or up to the arguments of one tool.
        closing: what follows the arguments; empty where they are no JSON object of their own.
        link: what stands in place of ``closing`` where another call of the tool follows, up to its
            arguments.
    """

    prefill: str
    closing: str = ""
    link: str = ""

    def behind(self, written: str) -> str:
        """The beginning of another call, behind what was written; ends like ``prefill``."""
        return written.removesuffix(self.closing) + self.link

    def kept(self, written: str) -> str:
        """As much of what was written as :meth:`behind` begins with."""
        pairs = enumerate(zip(self.closing, self.link, strict=False))
        shorter = min(len(self.closing), len(self.link))
        same = next((i for i, (closes, links) in pairs if closes != links), shorter)
        return written.removesuffix(self.closing) + self.closing[:same]


def opening_of_any(dialect: Dialect) -> Opening:
    """Cut the block of a call open, in front of the object that is the call.

    Only where calls are JSON objects; elsewhere it is empty.
    """
    if dialect.payload != "json":
        return Opening("")
    arguments = {_KEY: 0}
    call = ToolCall(id="", name=_NAME, arguments=arguments)
    text = call_text([call, call], dialect)
    before, link, behind = text.split(to_json({"name": _NAME, "arguments": arguments}))
    return Opening(before, behind, link)


def opening(dialect: Dialect, tool: str | None = None) -> Opening:
    """Cut a call open.

    Args:
        dialect: how calls are written.
        tool: the tool that has to be called; ``None`` for any, so that the name is left open too.
    """
    arguments = {_KEY: 0}
    text = call_text([ToolCall(id="", name=tool or _NAME, arguments=arguments)], dialect)
    if tool is None:
        return Opening(text[: text.index(_NAME)])
    if dialect.payload == "python":
        return Opening(text[: text.index(_KEY)])
    # Models write a space and the brace behind it as one token, so the space is left to them.
    before, _, behind = text.partition(to_json(arguments))
    call = ToolCall(id="", name=tool, arguments=arguments)
    _, link, _ = call_text([call, call], dialect).split(to_json(arguments))
    return Opening(before.rstrip(), behind, link.rstrip())
