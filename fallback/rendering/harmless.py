"""Results in running text: whatever part of one a model repeats, it is no call.

A result of the other dialects stands in a block that only the application writes. In running text
it stands in the middle of the model's own words, and a small model copies what stands nearest; so
nothing may be in it that would be a call there. Only what names a tool can be one, and only where a
bracket opens behind the name, around it, or, in a line of ReAct, a label stands in front of it.
Just these signs are changed, so that a reader still sees what was there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from fallback.catalogue import Catalogue, fold
from fallback.parsing.named import NAME, SEPARATORS
from fallback.tools.names import LONGEST_NAME

__all__ = ["harmless"]

_OPENER = re.compile(r"[({<]")
_BETWEEN = re.compile(rf"""(?:{"|".join(map(re.escape, SEPARATORS))}|[\s"'`\]*\\]|:\d+)+\Z""")
_FORM = re.compile(rf"\[(?={NAME.pattern}\()")
_RECIPIENT = re.compile(r"\bto=(?=\s*([\w.\-]+))")
_TAG = re.compile(r"<(?=/?([^<>]{1,128})>)")
_LABEL = re.compile(r"(Action[ \t]*\d*[ \t]*\**[ \t]*):(?=[ \t*\"'`]*([^\n]*))")
_QUOTES = re.compile("""["'`“”‘’«»]""")
_CODE = re.compile(r"\\(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|[nrtfb])")
_RARE_CODE = re.compile(r"\\[UN0-7]")
_ANGLES = str.maketrans("{}[]", "‹›‹›")
_REACH = LONGEST_NAME + 64
"""Characters in front of a bracket that may be a name and what separates it from the bracket."""


def harmless(text: str, catalogue: Catalogue | None) -> str:
    """The text with every sign broken that could make a call of a tool of it, or of a part of it.

    Args:
        text: has no markers of a protocol in it any more.
        catalogue: the tools that can be called; ``None`` where that is not known, and any name
            counts as one.
    """
    tools = _Tools(catalogue)
    text = _FORM.sub("(", text)  # a call of no tool is one to correct
    text = _RECIPIENT.sub(lambda m: "to: " if tools.has(m[1]) else m[0], text)
    text = _TAG.sub(lambda m: "‹" if tools.has(m[1]) else m[0], text)
    text = _LABEL.sub(lambda m: f"{m[1]} -" if tools.begin(m[2]) else m[0], text)
    text = _OPENER.sub(lambda m: "‹" if tools.end(_before(m)) else m[0], text)
    if "{" in text and any(map(tools.has, _quoted(text))):
        text = text.translate(_ANGLES)
    return text


def _before(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - _REACH) : match.start()]
    return _BETWEEN.sub("", before)


def _quoted(text: str) -> Iterator[str]:
    """What stands between two quotes, and may be the name in an object.

    What has an escape that nobody writes in a name may be any name: ``*``.
    """
    for piece in _QUOTES.split(text):
        yield "*" if _RARE_CODE.search(piece) else _CODE.sub(_decoded, piece)


def _decoded(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else " "


class _Tools:
    """Which words can be the name of a tool."""

    def __init__(self, catalogue: Catalogue | None) -> None:
        self._catalogue = catalogue
        self._folded = () if catalogue is None else _folded(catalogue)

    def has(self, word: str) -> bool:
        """Whether it can be the name of a tool, or of two."""
        if self._catalogue is None or word == "*":
            return bool(word.strip())
        found = self._catalogue.resolve(word) is not None
        return found or self._catalogue.is_ambiguous(word)

    def begin(self, text: str) -> bool:
        """Whether a text begins with one."""
        if self._catalogue is None:
            return bool(text.strip())
        folded = fold(text[:_REACH].replace("\\", ""))
        return any(name in folded for name in self._folded)

    def end(self, text: str) -> bool:
        """Whether a text ends with one, be it in the middle of a word."""
        if self._catalogue is None:
            return bool(text[-1:].isalnum() or text[-1:] == "_")
        folded = fold(text.replace("\\", ""))
        return folded.endswith(self._folded) or folded.removesuffix("_call").endswith(self._folded)


@lru_cache(maxsize=32)
def _folded(catalogue: Catalogue) -> tuple[str, ...]:
    return tuple(fold(name) for name in catalogue.names)
