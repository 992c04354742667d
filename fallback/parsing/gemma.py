"""Gemma's own value syntax: ``{city:<|"|>Oslo<|"|>,days:2}``.

Keys are bare, strings stand between two special tokens (``<|"|>`` in Gemma 4, ``<escape>`` in
FunctionGemma), and everything else is as in JSON. Source: the chat templates of both.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fallback.parsing.framing import Framer
from fallback.parsing.source import begun
from fallback.parsing.strict import decode_at

DELIMITERS = ('<|"|>', "<escape>")
_OUTSIDE = re.compile(r'<\|"\|>|<escape>|[{}\[\]"]|<')
_TOKEN = re.compile(
    r'<\|"\|>(?P<new>.*?)<\|"\|>|<escape>(?P<old>.*?)<escape>|(?P<json>"(?:[^"\\]|\\.)*")'
    r"|(?P<mark>[{}\[\],:])|(?P<bare>[^{}\[\],:<\"]+|[<\"])",
    re.DOTALL,
)
_LITERALS = {
    "true": "true",
    "false": "false",
    "null": "null",
    "None": "null",
    "True": "true",
    "False": "false",
}
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")


class GemmaFramer(Framer):
    """Finds the end of such a value; strings are skipped from token to token."""

    __slots__ = ()

    def _structure(self, text: str, pos: int) -> int:
        match = _OUTSIDE.search(text, pos)
        if match is None:
            return len(text)
        sign, at = match.group(), match.start()
        if sign in "{[":
            self.stack.append(sign)
            if len(self.stack) > self.max_depth:
                self.fault, self.fault_at = "too_deep", at
            return at + 1
        if sign in "}]":
            return self._close(sign, at)
        if sign == "<":
            if any(d.startswith(text[at:]) for d in DELIMITERS):
                self.carry = text[at:]
                return len(text)
            self.fault, self.fault_at = "markup", at
            return at
        self.quote = sign
        return match.end()

    def _string(self, text: str, pos: int) -> int:
        if self.quote == '"':
            return super()._string(text, pos)
        end = text.find(self.quote, pos)
        if end >= 0:
            size, self.quote = len(self.quote), ""
            return end + size
        if size := begun(text, self.quote, pos):
            self.carry = text[-size:]
        return len(text)


def read_gemma(text: str) -> tuple[Any, tuple[str, ...]]:
    """Read one complete frame.

    Raises:
        ValueError: it is not a value in this syntax.
    """
    pieces: list[str] = []
    repairs: dict[str, None] = {}
    containers: list[str] = []
    expect_key = False
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "mark":
            mark = match.group()
            expect_key = _enter(mark, containers, pieces)
            continue
        string = match.group("new") if kind == "new" else match.group("old")
        if kind in ("new", "old"):
            pieces.append(json.dumps(string, ensure_ascii=False))
        elif kind == "json":
            pieces.append(match.group())
        elif bare := match.group().strip():
            pieces.append(_bare(bare, expect_key, repairs))
    value, end = decode_at("".join(pieces), 0)
    if end != len("".join(pieces)):
        raise ValueError("something follows the value")
    return value, tuple(repairs)


def _enter(mark: str, containers: list[str], pieces: list[str]) -> bool:
    """Follow a bracket or separator; returns whether a key is expected next."""
    if mark in "{[":
        containers.append(mark)
    elif mark in "}]" and containers:
        containers.pop()
        if pieces and pieces[-1] == ",":
            pieces.pop()
    pieces.append(mark)
    return mark in "{," and bool(containers) and containers[-1] == "{"


def _bare(text: str, is_key: bool, repairs: dict[str, None]) -> str:
    if is_key:
        return json.dumps(text, ensure_ascii=False)
    if text in _LITERALS:
        return _LITERALS[text]
    if _NUMBER.fullmatch(text):
        return text
    repairs["unquoted_text"] = None
    return json.dumps(text.strip("'"), ensure_ascii=False)
