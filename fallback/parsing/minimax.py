"""MiniMax M3: elements, each tag of which stands behind one token of its own.

::

    ]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Oslo]<]minimax[>[</city>
    ]<]minimax[>[</invoke>

Because of the token nothing in a value is ever a tag. Objects nest, and an array is a run of
``item`` elements; an element with nothing in it is an empty one of what its schema wants. Source:
the model's chat template.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fallback.parsing.bodies import Fault, Item, truncated
from fallback.parsing.frames import CANDIDATE, Frames
from fallback.parsing.live.opening import tagged_value
from fallback.parsing.rawcall import RawCall
from fallback.parsing.source import AnyOf, Waiter, begun

if TYPE_CHECKING:
    from fallback.parsing.live.arguments import Arguments
    from fallback.parsing.live.tagged import TaggedValue

SIGN = "]<]minimax[>["
_OPENER = f'{SIGN}<invoke name="'
_CLOSER = "</invoke>"
_INVOKE = re.compile(r'<invoke name="([^"<>]{1,128})">')
_TAG = re.compile(r"<(/?)([\w.\-]{1,128})>")


def elements(frames: Frames, at: int) -> Generator[Waiter | None, None, Item | None]:
    """Read one ``invoke`` at ``at``; ``None`` if none begins there."""
    source = frames.source
    while not source.final and len(source.buf) - at < len(_OPENER):
        if not _OPENER.startswith(source.buf[at:]):
            return None
        yield None
    if not source.buf.startswith(_OPENER, at):
        return None
    frames.spent += CANDIDATE
    item = yield from _Invoke(frames, at).read()
    frames.looked_at(item.end - at)
    return item


@dataclass(slots=True)
class _Element:
    """One that is open: its name, the text in it, what is in it, and who is told of the text."""

    name: str
    text: str = ""
    children: list[tuple[str, Any]] = field(default_factory=list)
    told: TaggedValue | None = None


class _Invoke:
    """Reads one call, tag by tag."""

    def __init__(self, frames: Frames, at: int) -> None:
        self.frames, self.source, self.at = frames, frames.source, at
        self.name = ""
        self.properties: dict[str, Any] = {}
        self.stack = [_Element("")]
        self.live: Arguments | None = None
        self.told: TaggedValue | None = None  # who is told of the text behind the last tag
        self.nests = True

    def read(self) -> Generator[Waiter | None, None, Item]:
        """Up to the tag that closes it, or the end of the reply."""
        source, place = self.source, self.at
        while place >= 0:
            place += len(SIGN)
            if source.buf.find(">", place) < 0 and not source.final:
                yield AnyOf(">")
            if source.buf.startswith(_CLOSER, place):
                return self._item(place + len(_CLOSER))
            opened = self._tag(place)
            place = yield from self._content(opened)
        return Item(self.at, len(source.buf), fault=truncated(self.name))

    def _content(self, start: int) -> Generator[Waiter | None, None, int]:
        """Take the text behind a tag; returns where the next one stands, negative if none does."""
        source = self.source
        end = source.buf.find(SIGN, start)
        if end >= 0:
            if self.told is not None:
                self.told.feed(source.buf[start:end])
        elif not source.final:
            content = _Content(self.told)
            content.feed(source.buf[start:])
            yield content
            end = source.buf.find(SIGN, start)
        if end >= 0:
            self._text(source.buf[start:end])
        return end

    def _item(self, end: int) -> Item:
        arguments = _object(self.stack[0].children) if len(self.stack) == 1 else None
        if not self.nests or not self.name or arguments is None:
            fault = Fault("invalid_json", "its elements do not nest", self.name)
            return Item(self.at, end, fault=fault)
        span = self.frames.span(self.at, end)
        call = RawCall(self.name, arguments, dialect="minimax_m3", span=span, textual=True)
        return Item(self.at, end, [call])

    def _tag(self, at: int) -> int:
        """Open or close what the tag at ``at`` says; returns where the text behind it begins."""
        buf, self.told = self.source.buf, None
        if not self.name and (opener := _INVOKE.match(buf, at)):
            self._named(opener[1])
            return opener.end()
        tag = _TAG.match(buf, at)
        if not self.name or tag is None or len(self.stack) > self.frames.limits.max_depth:
            self.nests = False
        elif self.nests:
            (self._close if tag[1] else self._open)(tag[2])
        return tag.end() if tag else at

    def _named(self, name: str) -> None:
        self.name = name
        tool = self.frames.catalogue.resolve(name)
        self.properties = (tool.parameters.get("properties") or {}) if tool else {}
        self.live = self.frames.live.begin(name, self.at)

    def _open(self, name: str) -> None:
        around = self.stack[-1]
        if len(self.stack) == 1:
            self.told = tagged_value(self.live, name, None, exact=True)
        elif self.live is not None and around.told is not None and around.text:
            self.live.stop()  # it was told as text, and is none
        self.stack.append(_Element(name, told=self.told))

    def _close(self, name: str) -> None:
        closed = self.stack[-1]
        value = self._value(closed)
        mixed = closed.children and closed.text.strip()
        if len(self.stack) == 1 or closed.name != name or mixed or value is None:
            self.nests = False
            return
        self.stack.pop()
        if closed.told is not None:
            closed.told.end(value)
        self.stack[-1].children.append((name, value))

    def _text(self, text: str) -> None:
        """What stands behind a tag: the text of what it opened; behind others only blanks do."""
        inner = self.stack[-1]
        if len(self.stack) > 1 and not inner.children and not inner.text:
            inner.text = text
        elif text.strip():
            self.nests = False

    def _value(self, closed: _Element) -> Any:
        """What the element holds; ``None`` if one stands twice in an object."""
        if closed.children:
            if all(name == "item" for name, _ in closed.children):
                return [value for _, value in closed.children]
            return _object(closed.children)
        if not closed.text and len(self.stack) == 2:
            schema = self.properties.get(closed.name)
            kind = schema.get("type") if isinstance(schema, dict) else None
            return {"array": [], "object": {}}.get(kind, "") if isinstance(kind, str) else ""
        return closed.text


def _object(children: list[tuple[str, Any]]) -> dict[str, Any] | None:
    value = dict(children)
    return value if len(value) == len(children) else None


class _Content:
    """Wakes when the token arrives, and tells what stands before it."""

    def __init__(self, told: TaggedValue | None) -> None:
        self._told, self._kept = told, ""

    def feed(self, chunk: str, /) -> bool:
        """See :class:`~fallback.parsing.source.Waiter`."""
        text = self._kept + chunk
        found = text.find(SIGN)
        end = found if found >= 0 else len(text) - begun(text, SIGN)
        self._kept = text[end:]
        if self._told is not None:
            self._told.feed(text[:end])
        return found >= 0
