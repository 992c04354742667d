"""Names of places inside a JSON value, and short views of what stands there.

A place is written as JSONPath (RFC 9535): ``$.edits[0].old``, and ``$["odd key"]`` where a key is
not a plain word. Both forms end in sentences that a model or a developer reads, so they are
bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

PREVIEW_CHARS = 80
"""Longest view of one value: enough to recognise it, short enough for a small model's prompt."""


def child(path: str, key: str | int) -> str:
    """The place of one member, as in ``$.a`` or ``$[3]``."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if key.isidentifier():
        return f"{path}.{key}" if len(key) <= PREVIEW_CHARS else f"{path}.{key[:PREVIEW_CHARS]}…"
    return f"{path}[{preview(key)}]"


def place(parts: Iterable[str | int]) -> str:
    """The place that is reached from the root by these keys and positions."""
    path = "$"
    for part in parts:
        path = child(path, part)
    return path


def preview(value: Any, limit: int = PREVIEW_CHARS) -> str:
    """The value as JSON on one line, cut to ``limit`` characters; never fails on odd content."""
    if isinstance(value, str):
        value = value[: limit + 1]
    try:
        # Encoded piece by piece, so that a huge value costs no more than its first characters.
        pieces = json.JSONEncoder(ensure_ascii=False).iterencode(value)
        text = "".join(islice(pieces, limit))
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    text = printable(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def cut(text: str, limit: int = PREVIEW_CHARS) -> str:
    """The text on one line without control characters, cut to ``limit`` characters."""
    line = " ".join(printable(text[: 2 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def printable(text: str) -> str:
    """The text with a space for each character that shows nothing, or is half of one."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
