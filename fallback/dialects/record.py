"""The record from which everything about a way of writing calls is made.

Template, grammar, markers, result form, stop strings and correction text come from the same record,
so the prompt and the parser cannot drift apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ARROW = "→"
"""Stands between a call in running text and its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One way of writing calls and of showing results.

    Attributes:
        name: also the folder of its templates, ``templates/<name>/``.
        payload: which shape the body has, and so which reader and which grammar read it.
        fence: word that opens the block of calls: info word of a fence, or name of a tag.
        result_fence: the same of the block that holds a result; never a call marker.
        stop: strings at which generation should end, added to the model's own; only a hint.
        grammar: file under ``grammars/`` that describes the payload.
        example: whether the system prompt shows a call of a real tool; otherwise only the form,
            with placeholders. Small models copy what they are shown.
        inline: whether calls stand in running text and the reply goes on behind their results;
            such a dialect has no fences.
    """

    name: str
    payload: Literal["json", "python"]
    fence: str
    result_fence: str
    stop: tuple[str, ...]
    grammar: str
    example: bool = True
    inline: bool = False


FENCED = Dialect(
    name="fenced",
    payload="json",
    fence="tool_call",
    result_fence="tool_result",
    stop=("```tool_result",),
    grammar="json_call.lark",
)
PYTHONIC = Dialect(
    name="pythonic",
    payload="python",
    fence="tool_code",
    result_fence="tool_result",
    stop=("```tool_result",),
    grammar="python_call.lark",
)
HERMES = Dialect(
    name="hermes",
    payload="json",
    fence="tool_call",
    result_fence="tool_response",
    stop=("<tool_response>",),
    grammar="json_call.lark",
)

INLINE = Dialect(
    name="inline",
    payload="python",
    fence="",
    result_fence="",
    stop=(),  # an arrow ends no reply: sentences have arrows too, and the parser knows which is one
    grammar="python_call.lark",
    inline=True,
)

PROMPTED: dict[str, Dialect] = {d.name: d for d in (FENCED, PYTHONIC, HERMES, INLINE)}
"""The dialects that a prompt can ask for. Many more are read, see
:mod:`fallback.dialects.markers`."""
