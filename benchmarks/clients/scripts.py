"""What the scripted model says: one script for each case, with the tool of one client."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["SILENCE", "TEN", "Named", "Tool", "script"]

SILENCE = 12.0
"""Seconds; more than twice what an impatient client waits."""
TEN = tuple(((30 + i, 100), (30 + i, 200)) for i in range(1, 11))
"""The sums of ten rounds."""

Named = tuple[str, Mapping[str, Any]]
"""A call: name and arguments. ``{work}`` in a text stands for the client's working folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """The tool of a client that can add two numbers and leave a trace.

    Attributes:
        name: as the client declares it.
        arguments: those that add ``a`` and ``b``.
        wrong: some that its schema does not allow.
        answers: the tool by which the client wants to be answered; None for plain text.
        fails: arguments with which it fails, and says "refused".
        quiet: arguments with which it returns nothing.
        picture: a call that returns a picture.
        revealed: a call that looks for a tool which is not told at first, and a call of that tool.
        spaced: a call of a tool that stands in a namespace.
        writes: how the model is taught by the client itself to write a call; None for our way.
        seam: what stands between two such calls, if more than a line's end, and falls away.
    """

    name: str
    arguments: Callable[[int, int], Mapping[str, Any]]
    wrong: Mapping[str, Any]
    answers: str | None = None
    fails: Mapping[str, Any] | None = None
    quiet: Mapping[str, Any] | None = None
    picture: Named | None = None
    revealed: tuple[Named, Named] | None = None
    spaced: Named | None = None
    writes: Callable[[str, Mapping[str, Any]], str] | None = None
    seam: str = "\n"

    def written(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Any call as a model writes it."""
        if self.writes:
            return self.writes(name, arguments)
        told = json.dumps({"name": name, "arguments": arguments})
        return f"```tool_call\n{told}\n```"

    def call(self, a: int, b: int) -> str:
        """The call that adds two numbers."""
        return self.written(self.name, self.arguments(a, b))

    def calls(self, *pairs: tuple[int, int]) -> str:
        """The calls of one reply."""
        return "\n".join(self.call(a, b) for a, b in pairs).replace(self.seam, "\n")

    def answer(self, text: str) -> str:
        """The last reply."""
        return self.written(self.answers, {"answer": text}) if self.answers else text


def script(tool: Tool, work: str = "", company: Tool | None = None) -> dict[str, Any]:
    """The scripted server's models, one for each case, that call this tool.

    Args:
        tool: of the client.
        work: its working folder.
        company: the tool of who is asked at the same time, where that is another client.
    """
    call, two = tool.call(1, 2), tool.calls((1, 2), (3, 4))
    final = tool.answer("The sum is 3.")
    tools = ["completion", "tools"]
    models = {
        "text": [tool.answer("Paris is it.")],
        "call": [call, final],
        "two": _two_sums(tool),
        "company": _two_sums(company or tool),
        "prose": [f"Let me add.\n\n{call}", final],
        "thinks": [f"<think>secretly a sum</think>{call}", final],
        "slips": [tool.written(tool.name, tool.wrong), call, final],
        "unknown": [tool.written("no_such_tool", {"a": 1}), tool.answer("I cannot.")],
        "required": ["I would rather not.", call, final],
        "named": ["I would rather not.", call, final],
        "none": ["It is 3."],
        "single": [two, final],
        "ten": [
            *(tool.calls(*pairs) for pairs in TEN),
            tool.answer("All done."),
        ],
        "later": [call, final, tool.answer("As I said, 3.")],
        "waits": [{"text": call, "wait": SILENCE}, final],
        "small": {"replies": [call, final], "context_length": 4096},
        "empty": [""],
        "cut": [{"text": "Paris is the", "reason": "length"}],
        "refuses": {"replies": [{"fault": "no_tools"}, call, final], "capabilities": tools},
        "long": [call, final],
        "silent": [{"fault": "silent"}],
        "slow": {"replies": ["word " * 2000], "chunk": 5, "pause": 0.2},
        "side": ["A sum"],
    }
    return {**models, **_troubles(call, final), **_more(tool, work)}


def _two_sums(tool: Tool) -> list[str]:
    return [tool.calls((1, 2), (3, 4)), tool.answer("3 and 7.")]


def _troubles(call: str, final: str) -> dict[str, Any]:
    after = {"text": f"{call}\n{'word ' * len(call)}", "fault": "cut_in_text"}
    return {
        "dead": [{"fault": "cut_before"}],
        "dies": [{"text": "Paris is the capital of", "fault": "cut_in_text"}],
        "half": [{"text": call[:-12], "fault": "unfinished"}],
        "after": {"replies": [after, final], "chunk": len(call) + 1},
    }


def _more(tool: Tool, work: str) -> dict[str, Any]:
    """Those that need what not every client's tools can."""

    def placed(call: Named) -> str:
        return tool.written(*call).replace("{work}", work)

    made: dict[str, Any] = {}
    done = tool.answer("It is done.")
    for name, arguments in (("fails", tool.fails), ("quiet", tool.quiet)):
        if arguments is not None:
            made[name] = [tool.written(tool.name, arguments), done]
    if tool.picture is not None:
        shown = [placed(tool.picture), tool.answer("It is red.")]
        made["blind"] = shown
        made["sees"] = {"replies": shown, "capabilities": ["completion", "vision"]}
    if tool.revealed is not None:
        search, called = tool.revealed
        made["deferred"] = [placed(search), placed(called), done]
    if tool.spaced is not None:
        made["spaced"] = [tool.written(*tool.spaced), done]
    return made
