"""The replies that are nearly all replies, recognised at once: plain prose, and one call between
its markers that is clean, or clean but for the common slips of form.

``parse`` asks here first, when it has the whole text. What is answered is by law what the scanner
answers (``tests/property/test_clean_laws.py`` holds them together); everything else, and everything
in doubt, is left to the scanner.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from fallback.catalogue import Catalogue
from fallback.messages import FinishReason, Reading, Segment, Span, ToolCall
from fallback.parsing.cursor import SIGNS, TO_THE_USER
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
    if text.startswith((TO_THE_USER, "\ufeff")):
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
    call = _made_call(tool.name, arguments, _DIALECT[marker], Span(start, end), repairs)
    return _made_reading(call, Segment("call", 0, len(text), ", ".join(repairs)))


# The constructors of frozen dataclasses take half as long as everything else here, because they
# have to go round their own lock; the descriptors of the slots do the same at once.
_ID, _NAME, _ARGUMENTS, _SPOKEN, _SPAN, _REPAIRS = (
    vars(ToolCall)[name].__set__
    for name in ("id", "name", "arguments", "dialect", "span", "repairs")
)
_SETTERS = {field.name: vars(Reading)[field.name].__set__ for field in fields(Reading)}
_CALLS, _SEGMENTS = _SETTERS.pop("calls"), _SETTERS.pop("segments")
_EMPTY = [(setter, getattr(Reading(), name)) for name, setter in _SETTERS.items()]


def _made_call(
    name: str, arguments: dict[str, Any], dialect: str, span: Span, repairs: tuple[str, ...]
) -> ToolCall:
    call = ToolCall.__new__(ToolCall)
    _ID(call, "call_0")
    _NAME(call, name)
    _ARGUMENTS(call, arguments)
    _SPOKEN(call, dialect)
    _SPAN(call, span)
    _REPAIRS(call, repairs)
    return call


def _made_reading(call: ToolCall, segment: Segment) -> Reading:
    reading = Reading.__new__(Reading)
    for setter, empty in _EMPTY:
        setter(reading, empty)
    _CALLS(reading, (call,))
    _SEGMENTS(reading, (segment,))
    return reading


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
    declared = tool.parameters.get("properties") or {}
    if tool.injected or not arguments.keys() <= declared.keys():
        return False  # what is not declared may be a wrapper, or a name with its escapes
    for value in arguments.values():
        kind = type(value)
        if kind is str:
            if value[:1] in MAY_BE_PLACEHOLDER:
                return False
        elif kind in _MAY_HOLD_FLOAT and schema.document.has_integers and holds_float(value):
            return False
    return schema.accepts_decoded(arguments) if sound else schema.accepts(arguments)
