"""Calls whose arguments are written as tags around raw text.

Raw text cannot say where it ends, so a close tag inside a value is ambiguous by construction. The
rule: a value ends at the first close tag behind which the call goes on or ends, that is, where the
next pair, the end of the call, a marker or the end of the reply follows. A pair that opens inside a
value ends it only where the value's own close tag was forgotten: the key has to be one that is
declared and not given yet.
"""

from __future__ import annotations

from collections.abc import Generator
from html import unescape
from typing import Any

from fallback.catalogue import Catalogue
from fallback.dialects import markers
from fallback.dialects.tags import OPENERS, OPENERS_BEGIN, XML, TagSpelling
from fallback.parsing.live.arguments import Arguments
from fallback.parsing.live.opening import tagged_value
from fallback.parsing.live.tagged import TaggedValue
from fallback.parsing.source import AnyOf, Source, Waiter
from fallback.parsing.strict import decode_at

_AROUND_CALLS = ("close", "call", "end", "element")
_LONGEST_TAG = 300
_TAG_ARRIVES = AnyOf(">")
_PAIR_OPENERS = ("<arg_key", "<ifm|arg_key", "<longcat_arg_key")


class Content:
    """Wakes when a tag that matters may have arrived, and tells what stands before it."""

    def __init__(self, value: TaggedValue | None, spelling: TagSpelling) -> None:
        self._value, self._spelling = value, spelling
        self._tail = ""  # a bracket and what follows it, while it may still become such a tag
        self.told = 0  # characters that were told since the last wait began

    def tell(self, text: str, start: int, end: int) -> None:
        """What stands from ``start`` to ``end`` is content."""
        if self._value is not None:
            self._value.feed(text[start:end])

    def wait(self, tail: str = "") -> Content:
        """Wait for more; the text ends with ``tail``, which is not content yet."""
        self._tail, self.told = tail, 0
        return self

    def feed(self, chunk: str, /) -> bool:
        """See :class:`~fallback.parsing.source.Waiter`."""
        text, self._tail = self._tail + chunk, ""
        bracket, begins = text.find("<"), None
        while bracket >= 0 and not (begins := self._spelling.may_begin(text, bracket)):
            if begins is None:
                self._tail = text[bracket:]
                break
            bracket = text.find("<", bracket + 1)
        content = text if bracket < 0 else text[:bracket]
        self.told += len(content)
        self.tell(content, 0, len(content))
        return bool(begins)


class TagReader:
    """Reads the pairs of one call from a source."""

    def __init__(self, source: Source, catalogue: Catalogue) -> None:
        self.source, self.catalogue = source, catalogue

    def opener(self, at: int) -> Generator[Waiter | None, None, tuple[str, int] | None]:
        """The tool's name and the index behind the tag, if a call is opened at ``at``."""
        source = self.source
        assert XML.opener is not None  # noqa: S101 -- narrows for the type checker
        while True:
            match = XML.opener.match(source.buf, at)
            # Behind the name a blank or a slash may still belong to the tag.
            rest = source.buf[match.end() : match.end() + 3].lstrip(" /") if match else ""
            whole = match and (match.group().endswith(">") or rest)
            if whole or source.final:
                return (match.group("name"), match.end()) if match else None
            begun = OPENERS.match(source.buf, at)
            if match is None and begun and len(source.buf) > begun.end() + 2:
                return None
            if match is None and not begun and not OPENERS_BEGIN.fullmatch(source.buf, at):
                return None
            yield None

    def pairs(
        self, name: str, at: int, spelling: TagSpelling, *, live: Arguments | None = None
    ) -> Generator[Waiter | None, None, tuple[dict[str, Any], int, str]]:
        """The pairs from ``at`` on, where they end, and ``""`` or how they are at fault.

        A fault is ``truncated`` or a sentence. Values are texts, to be coerced by the schema, save
        those that say themselves that they are JSON. ``live`` is told each of them as it arrives.
        """
        source = self.source
        tool = self.catalogue.resolve(name)
        declared = frozenset(tool.parameters.get("properties") or ()) if tool else frozenset()
        given: dict[str, Any] = {}
        while True:
            at = yield from source.solid(at)
            yield from self.whole_tag(at)
            key = spelling.key.match(source.buf, at)
            if key is None:
                stray = spelling.value_end.match(source.buf, at)
                if stray:
                    at = stray.end()
                    continue
                closer = spelling.closer.match(source.buf, at) if spelling.closer else None
                if closer:
                    return given, closer.end(), ""
                ended = at == len(source.buf) or self._marker(at) or OPENERS.match(source.buf, at)
                readable = ended and (given or spelling.closer)
                return given, at, "" if readable else "its arguments are no readable tags"
            name = unescape(key.group("key"))
            left = declared - given.keys() - {name}
            told = tagged_value(live, name, key.group("type"))
            end, behind = yield from self._value(key.end(), spelling, left, told)
            if end < 0:
                return given, len(source.buf), "truncated"
            if name in given:
                return given, behind, f"the parameter `{name}` is given twice"
            given[name] = _read(source.buf[key.end() : end], key.group("type"))
            if told is not None:
                told.end(given[name])
            at = behind

    def whole_tag(self, at: int) -> Generator[Waiter | None, None, None]:
        """Wait until the tag at ``at``, if there is one, is whole."""
        source = self.source
        while not source.final and source.buf[at : at + 40] in markers.prefixes():
            yield None
        while (
            not source.final
            and source.buf.startswith("<", at)
            and ">" not in source.buf[at : at + 300]
            and len(source.buf) - at < 300
        ):
            yield _TAG_ARRIVES
        while (
            not source.final
            and source.buf.startswith(("<|open|>", "<|close|>"), at)
            and "<|sep|>" not in source.buf[at : at + 300]
            and len(source.buf) - at < 300
        ):
            yield _TAG_ARRIVES
        while (
            not source.final
            and source.buf.startswith("</parameters>", at)
            and source.buf.count(">", at, at + 40) < 2
            and len(source.buf) - at < 40
        ):
            yield _TAG_ARRIVES
        while (
            not source.final
            and source.buf.startswith(_PAIR_OPENERS, at)
            and source.buf.count(">", at, at + 400) < 3
            and len(source.buf) - at < 400
        ):
            yield _TAG_ARRIVES

    def _value(
        self, start: int, spelling: TagSpelling, left: frozenset[str], told: TaggedValue | None
    ) -> Generator[Waiter | None, None, tuple[int, int]]:
        """Where the value ends and where to go on; a negative end says that it never does."""
        source = self.source
        search = start
        content = Content(told, spelling)
        while True:
            bracket = source.buf.find("<", search)
            end = bracket if bracket >= 0 else len(source.buf)
            content.tell(source.buf, search, end)
            search = end
            # A tag that is whole is only compared; one that is not may be worth waiting for.
            whole = bracket >= 0 and source.buf.find(">", bracket, bracket + _LONGEST_TAG) >= 0
            begins = whole or (bracket >= 0 and spelling.may_begin(source.buf, bracket))
            if bracket < 0 or begins is None:
                if source.final:
                    return -1, len(source.buf)
                yield content.wait(source.buf[search:])
                search += content.told
                continue
            if not begins:
                content.tell(source.buf, bracket, bracket + 1)
                search = bracket + 1
                continue
            yield from self.whole_tag(bracket)
            ends = spelling.value_end.match(source.buf, bracket)
            if ends:
                if (yield from self._goes_on(ends.end(), spelling)):
                    return bracket, ends.end()
            elif self._forgotten(bracket, spelling, left) or (
                spelling.closer
                and (closer := spelling.closer.match(source.buf, bracket))
                and (yield from self._call_ends(closer.end()))
            ):
                return bracket, bracket
            content.tell(source.buf, bracket, bracket + 1)
            search = bracket + 1

    def _goes_on(self, at: int, spelling: TagSpelling) -> Generator[Waiter | None, None, bool]:
        """Whether what follows a close tag shows that it closed the value."""
        source = self.source
        at = yield from source.solid(at)
        yield from self.whole_tag(at)
        buf = source.buf
        if at == len(buf) or spelling.key.match(buf, at) or spelling.value_end.match(buf, at):
            return True
        if spelling.closer is None:
            return self._marker(at)
        closer = spelling.closer.match(buf, at)
        if closer is None:
            # The call's own close tag is forgotten now and then; then its envelope closes.
            return self._marker(at)
        return (yield from self._call_ends(closer.end()))

    def _call_ends(self, at: int) -> Generator[Waiter | None, None, bool]:
        """Whether a call can have ended before ``at``: prose does not follow in the same line."""
        source = self.source
        solid = yield from source.solid(at)
        yield from self.whole_tag(solid)
        buf = source.buf
        return (
            solid == len(buf)
            or "\n" in buf[at:solid]
            or self._marker(solid)
            or OPENERS.match(buf, solid) is not None
        )

    def _marker(self, at: int) -> bool:
        if not self.source.buf.startswith("<", at):
            return False
        match = markers.pattern().match(self.source.buf, at)
        return match is not None and markers.table()[match.group()].role in _AROUND_CALLS

    def _forgotten(self, at: int, spelling: TagSpelling, left: frozenset[str]) -> bool:
        """Whether a pair opens here although the value before it was not closed."""
        key = spelling.key.match(self.source.buf, at)
        return (
            key is not None
            and key.group("key") in left
            and self.source.buf[at - 1 : at] in ("\n", ">", "")
        )


def _read(text: str, json_type: str | None) -> Any:
    """A raw value. A line break behind the tag is markup, and then so is the one before its
    closer."""
    if text.startswith(("\n", "\r\n")):
        text = text.removeprefix("\r").removeprefix("\n").removesuffix("\n").removesuffix("\r")
    if json_type and json_type not in ("true", "string"):
        try:
            value, end = decode_at(text.strip(), 0)
        except ValueError:
            return text
        return value if end == len(text.strip()) else text
    return text
