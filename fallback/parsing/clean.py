"""The two replies that are nearly all replies, recognised at once: plain prose, and one clean call.

``parse`` asks here first, when it has the whole text. What is answered is by law what the scanner
answers (``tests/property/test_clean_laws.py`` holds them together); everything else, and everything
in doubt, is left to the scanner.
"""

from __future__ import annotations

import re
from typing import Any

from fallback.catalogue import Catalogue
from fallback.messages import FinishReason, Reading, Segment, Span, ToolCall
from fallback.parsing.cursor import SIGNS
from fallback.parsing.strict import decode_at
from fallback.schema.shape import holds_float
from fallback.tools import Tool
from fallback.validation import MAY_BE_PLACEHOLDER

_OPENER = re.compile(r"(```tool_call\n)(?=\{)|(<tool_call>)\n?(?=\{)|(?=\{)")
_CLOSER = {
    "```tool_call\n": re.compile(r"\n```\Z"),
    "<tool_call>": re.compile(r"\n?</tool_call>\Z"),
    None: re.compile(r"\Z"),
}
_DIALECT = {"```tool_call\n": "fenced", "<tool_call>": "hermes", None: "json"}


def read_clean(text: str, catalogue: Catalogue, finish_reason: FinishReason) -> Reading | None:
    """The reading of prose or of one clean call; ``None`` if it is anything else.

    Args:
        text: the whole reply.
        catalogue: the tools that were offered.
        finish_reason: a call that ran out of tokens is never clean.
    """
    opener = _OPENER.match(text) if finish_reason == "stop" else None
    return _prose(text, finish_reason) if opener is None else _call(text, catalogue, opener)


def _prose(text: str, finish_reason: FinishReason) -> Reading | None:
    for sign in SIGNS:
        if sign in text:
            return None
    segments = (Segment("text", 0, len(text)),) if text else ()
    return Reading(text=text, segments=segments, finish_reason=finish_reason)


def _call(text: str, catalogue: Catalogue, opener: re.Match[str]) -> Reading | None:
    start = opener.end()
    try:
        value, end = decode_at(text, start)
    except ValueError:
        return None
    marker = opener.group(1) or opener.group(2)
    if _CLOSER[marker].match(text, end) is None or len(value) != 2:
        return None
    name, arguments = value.get("name"), value.get("arguments")
    tool = catalogue.get(name) if isinstance(name, str) else None
    if tool is None or not isinstance(arguments, dict) or not _is_clean(tool, arguments):
        return None
    call = ToolCall(
        id="call_0",
        name=tool.name,
        arguments=arguments,
        dialect=_DIALECT[marker],
        span=Span(start, end),
    )
    return Reading(calls=(call,), segments=(Segment("call", 0, len(text)),))


def _is_clean(tool: Tool, arguments: dict[str, Any]) -> bool:
    """Whether validation would have nothing to change and nothing to say."""
    schema = tool.compiled
    if tool.injected or not schema.accepts(arguments):
        return False
    if schema.document.has_integers and holds_float(arguments):
        return False
    for value in arguments.values():
        if type(value) is str and value[:1] in MAY_BE_PLACEHOLDER:
            return False
    return True
