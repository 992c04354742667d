"""Content as clients write it, and fields of the wrong type, read without ever failing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

__all__ = ["Content", "array", "flag", "number", "obj", "read_content", "text_of"]

_TEXTS = ("text", "input_text", "output_text", "thinking", "refusal")
_LOOKED_INTO = 4
"""Levels of content inside content that are read; results with blocks nest two."""


class Content(NamedTuple):
    """The text of a message and its images, as base64."""

    text: str
    images: tuple[str, ...] = ()


def read_content(value: Any) -> Content:
    """A string, a list of parts of any wire, ``null`` or anything else.

    Texts are joined by line breaks. An image that would have to be fetched is not: nothing a client
    sends makes us open a connection; the text says so in its place. Of unknown parts the text is
    kept, if they have one.
    """
    if isinstance(value, str):
        return Content(value)
    texts: list[str] = []
    images: list[str] = []
    for part in _parts(value):
        text, image = _read_part(part)
        texts += [text] if text else []
        images += [image] if image else []
    return Content("\n".join(texts), tuple(images))


def _parts(value: Any, depth: int = 0) -> Iterable[Any]:
    for part in value if isinstance(value, list) else [value]:
        inner = part.get("content") if isinstance(part, Mapping) else None
        if isinstance(inner, list) and depth < _LOOKED_INTO:
            yield from _parts(inner, depth + 1)
        else:
            yield part


def _read_part(part: Any) -> tuple[str, str]:
    """The text and the image of one part, either of them empty."""
    if isinstance(part, str):
        return part, ""
    if not isinstance(part, Mapping):
        return ("" if part is None else json.dumps(part)), ""
    for where in ("image_url", "source", "input_image", "image"):
        if where in part:
            return _read_image(part[where])
    for key in (*_TEXTS, "content"):
        if isinstance(part.get(key), str):
            return part[key], ""
    return "", ""


def _read_image(value: Any) -> tuple[str, str]:
    if isinstance(value, Mapping):
        data = value.get("data")
        if isinstance(data, str):
            return "", data
        value = value.get("url")
    if not isinstance(value, str) or not value:
        return "", ""
    if value.startswith("data:"):
        return "", value.partition(",")[2]
    if value.startswith(("http://", "https://", "file:")):
        return f"[an image at {value[:200]}, which was not fetched]", ""
    return "", value


def text_of(value: Any) -> str:
    """A field that should be text."""
    return value if isinstance(value, str) else ""


def obj(value: Any) -> Mapping[str, Any]:
    """A field that should be an object."""
    return value if isinstance(value, Mapping) else {}


def array(value: Any) -> list[Any]:
    """A field that should be a list."""
    return value if isinstance(value, list) else []


def flag(value: Any, default: bool) -> bool:
    """A field that should be true or false."""
    return value if isinstance(value, bool) else default


def number(value: Any) -> float | int | None:
    """A field that should be a number; not one that is no number at all."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if value == value and abs(value) < 1e15 else None
