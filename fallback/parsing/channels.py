"""Harmony, the message format of gpt-oss: headers with a channel and a recipient. And Kimi K3's.

``<|channel|>analysis<|message|>`` opens thinking, ``final`` and ``commentary`` open text, and a
header with a recipient, ``to=functions.get_weather``, opens a call whose arguments follow as JSON.
Source: OpenAI's description of the harmony response format, and the chat template of gpt-oss.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TYPE_CHECKING

from fallback.parsing.bodies import Body, Fault, Item
from fallback.parsing.source import AnyOf, Waiter

if TYPE_CHECKING:
    from fallback.parsing.scanner import Scanner, Steps

_MESSAGE = "<|message|>"
_SEPARATOR = "<|sep|>"
_LONGEST_HEADER = 300
_RECIPIENT = re.compile(r"\bto=\s*([\w.\-]+)")
_ADDRESSED = re.compile(r"\s*(?:assistant\s*)?to=([\w.\-]+)\s*")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_CLOSERS = ("<|end|>", "<|return|>", "<|call|>", "<|start|>")


class Channels:
    """The scanner's reader of Harmony headers."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner, self.source = scanner, scanner.source

    def header(self, hit: int, behind: int, before: str) -> Steps:
        """A header from its first token on: up to ``<|message|>``, and what that opens."""
        scanner, source = self.scanner, self.source
        while (end := source.buf.find(_MESSAGE, behind, hit + _LONGEST_HEADER)) < 0:
            if source.final or len(source.buf) - hit >= _LONGEST_HEADER:
                scanner.cursor.look = behind
                return
            yield AnyOf(">")
        header = source.buf[hit:end]
        body_at = end + len(_MESSAGE)
        recipient = _RECIPIENT.search(header)
        addressed = _ADDRESSED.fullmatch(before)
        if addressed and hit - len(before) >= scanner.cursor.pos:
            # The reply begins behind the role, so the recipient stands in front of the channel.
            recipient, hit = addressed, hit - len(before)
        if recipient:
            yield from self._call(hit, body_at, recipient.group(1))
            return
        scanner.cursor.text(hit)
        scanner.cursor.segment("markup", hit, body_at)
        scanner.cursor.fresh_line()
        channel = _CHANNEL.search(header)
        if channel and channel.group(1) == "analysis":
            yield from scanner.passages.reasoning(_CLOSERS, keep="<|start|>")
        elif channel and channel.group(1) == "final":
            yield from scanner.passages.answer(_CLOSERS)

    def element(self, hit: int, behind: int, *, opens: bool) -> Steps:
        """One tag of Kimi K3, up to its ``<|sep|>``: thinking, a call, or a frame around either."""
        cursor, source = self.scanner.cursor, self.source
        while (end := source.buf.find(_SEPARATOR, behind, hit + _LONGEST_HEADER)) < 0:
            if source.final or len(source.buf) - hit >= _LONGEST_HEADER:
                cursor.look = behind
                return
            yield AnyOf(">")
        word = source.buf[behind:end].split(maxsplit=1)[:1]
        if opens and word == ["call"]:
            self.scanner.live.permit(hit)
            item = yield from self.scanner.reader.names.xtml(hit)
            if item is not None:
                body = Body([item], hit, item.end)
                closed = source.buf.endswith(_SEPARATOR, hit, item.end)
                self.scanner.envelopes.accept(hit, body, item.end, "kimi_k3", closed=closed)
                return
        cursor.text(hit)
        cursor.segment("markup", hit, end + len(_SEPARATOR))
        cursor.fresh_line()
        if opens and word == ["think"]:
            yield from self.scanner.passages.reasoning(("<|close|>think<|sep|>",))

    def bare_header(self, start: int, hit: int, before: str) -> Steps:
        """The same header after a server has stripped its special tokens."""
        recipient = _RECIPIENT.search(before)
        name = recipient.group(1) if recipient else ""
        if self.scanner.catalogue.resolve(name) is None or start < self.scanner.cursor.pos:
            self.scanner.cursor.pass_over(hit, "{")
            return
        yield from self._call(start, hit, name)

    def _call(self, hit: int, at: int, name: str) -> Steps:
        scanner, source = self.scanner, self.source
        at = yield from source.solid(at)
        if source.buf.startswith("{", at):
            scanner.live.permit(hit)
            item = yield from scanner.reader.names.name_then_object(hit, name, at)
        else:
            end = yield from self._end_of_message(at)
            item = Item(
                hit, end, fault=Fault("invalid_json", "its arguments are no JSON object", name)
            )
        body = Body([item], hit, item.end)
        stop = yield from scanner.envelopes.behind_body(body.end)
        scanner.envelopes.accept(hit, body, stop, "harmony", closed=stop > body.end)

    def _end_of_message(self, at: int) -> Generator[Waiter | None, None, int]:
        source = self.source
        pattern = re.compile("|".join(map(re.escape, _CLOSERS)))
        while not (match := pattern.search(source.buf, at)):
            if source.final:
                return len(source.buf)
            yield AnyOf(">")
        return match.start()
