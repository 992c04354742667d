"""Pages in a result: the text itself, or texts inside data, such as the ``body`` of a response."""

from __future__ import annotations

import json
import re
from typing import Any

from fallback.results.html import html_to_text, is_html

__all__ = ["pages_to_text"]

_SIGN = re.compile(r"<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_MOST_CHARS = 20_000_000
"""Longer data is not taken apart: it would be parsed for seconds."""


def pages_to_text(text: str) -> str:
    """The text with its pages reduced to what a reader would see; unchanged where there are none.

    Args:
        text: as a tool returned it, or JSON.
    """
    if is_html(text):
        return html_to_text(text)
    if text[:1] not in ("[", "{") or len(text) > _MOST_CHARS or not _SIGN.search(text):
        return text
    try:
        data = json.loads(text)
        reduced = _reduced(data)
    except (ValueError, RecursionError):
        return text
    return text if reduced == data else json.dumps(reduced, ensure_ascii=False)


def _reduced(data: Any) -> Any:
    if isinstance(data, str):
        return html_to_text(data) if is_html(data) else data
    if isinstance(data, list):
        return [_reduced(value) for value in data]
    if isinstance(data, dict):
        return {key: _reduced(value) for key, value in data.items()}
    return data
