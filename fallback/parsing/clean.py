"""The replies that are nearly all replies, recognised at once: plain prose, and one call between
its markers that is clean, or clean but for the common slips of form.

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
from fallback.parsing.mend import mend
from fallback.parsing.strict import decode_at
from fallback.schema.shape import holds_float
from fallback.tools import Tool
from fallback.validation import MAY_BE_PLACEHOLDER

_OPENER = re.compile(r"(```tool_call\n)(?=\{)|(<tool_call>)\n?(?=\{)|(?=\{)")
_CLOSER = {
    "```tool_call\n": re.compile(r"[\]})\s]*+(?<=\n)```\Z"),
    "<tool_call>": re.compile(r"[\]})\s]*+</tool_call>\Z"),
    None: re.compile(r"\Z"),
}
_MAY_HOLD_FLOAT = frozenset((float, dict, list))
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
    marker = opener.group(1) or opener.group(2)
    repairs: tuple[str, ...] = ()
    try:
        value, end = decode_at(text, start)
    except ValueError:
        mended = _mended(text, start, marker)
        if mended is None:
            return None
        value, repairs, end = mended
    else:
        if _CLOSER[marker].match(text, end) is None:
            return None
    if len(value) != 2:
        return None
    name, arguments = value.get("name"), value.get("arguments")
    tool = catalogue.get(name) if isinstance(name, str) else None
    if tool is None or not isinstance(arguments, dict):
        return None
    # Half a surrogate pair is the one thing that a decoded value can have and no schema may see.
    sound = text.isascii() and "\\u" not in text
    if not _is_clean(tool, arguments, sound=sound):
        return None
    call = ToolCall(
        id="call_0",
        name=tool.name,
        arguments=arguments,
        dialect=_DIALECT[marker],
        span=Span(start, end),
        repairs=repairs,
    )
    segment = Segment("call", 0, len(text), ", ".join(repairs))
    return Reading(calls=(call,), segments=(segment,))


def _mended(
    text: str, start: int, marker: str | None
) -> tuple[dict[str, Any], tuple[str, ...], int] | None:
    """The object between ``start`` and the closer that ends the text, and where it ends, if it
    takes nothing but common repairs to read it."""
    if marker is None:
        return None
    closer = "</tool_call>" if marker == "<tool_call>" else "\n```"
    end = len(text) - len(closer)
    if end <= start or not text.endswith(closer):
        return None
    found = mend(text, start, end)
    if found is None:
        return None
    value, repairs, surplus = found
    # The scanner passes over closers too many behind a call; they are no part of it.
    for _ in range(surplus):
        end = len(text[start:end].rstrip()) + start - 1
    return value, repairs, start + len(text[start:end].rstrip())


def _is_clean(tool: Tool, arguments: dict[str, Any], *, sound: bool) -> bool:
    """Whether validation would have nothing to change and nothing to say."""
    schema = tool.compiled
    if tool.injected:
        return False
    for value in arguments.values():
        kind = type(value)
        if kind is str:
            if value[:1] in MAY_BE_PLACEHOLDER:
                return False
        elif kind in _MAY_HOLD_FLOAT and schema.document.has_integers and holds_float(value):
            return False
    return schema.accepts_decoded(arguments) if sound else schema.accepts(arguments)
