"""Reading the calls of one body: a tag's content, a fence's, or a bare paragraph.

A body is a run of items (JSON objects, ``name(…)`` calls, ``name{…}`` pairs) with brackets and
separators between them, so one bad call does not take its siblings with it. Each item is tried
strictly first; only what failed is framed and read leniently.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from fallback.catalogue import Catalogue
from fallback.limits import Limits
from fallback.parsing.bodies import Body, Fault, Item
from fallback.parsing.frames import CANDIDATE, Frames
from fallback.parsing.framing import Framer
from fallback.parsing.lenient import read_arguments, read_value
from fallback.parsing.live.calls import Live
from fallback.parsing.live.opening import object_follower
from fallback.parsing.malformed import MalformedError
from fallback.parsing.minimax import elements
from fallback.parsing.named import NAME, NamedReader
from fallback.parsing.rawcall import RawCall
from fallback.parsing.source import Source, Waiter
from fallback.parsing.strict import DuplicateKeyError, decode_at
from fallback.parsing.vocabulary import NAME_KEYS, calls_in, is_data

_FIRST_KEY = re.compile(r"""\{\s*(["'])([^"'\\\n]{1,128})\1\s*:""")
_CALL_IN_PARENTHESES = re.compile(rf"\(\s*{NAME.pattern}\(")
_CALL_IN_PARENTHESES_BEGIN = re.compile(r"""\(\s*["'`]?[\w.\-/\\:]*["'`]?""")
# What follows a name that is called, in parentheses: nothing, or a keyword.
_CALLED = re.compile(r"\(\s{0,8}(?:\)|[^\W\d]\w{0,127}\s{0,8}=)")
_CALLED_BEGIN = re.compile(r"\(\s{0,8}(?:[^\W\d]\w{0,127}\s{0,8})?")
_QUOTE = frozenset("\"'`_")
_DEEPEST_LIST = 4  # lists around calls; more is data, or worse
_FIRST_KEY_WITHIN = 256  # characters of an object in which its first key is looked for
_FORETOLD = 8192  # characters of an object after which it is no longer asked whether it is data


class _Watch:
    """Follows an object that may be an answer, and wakes as soon as it is known to be one."""

    def __init__(self, framer: Framer, head: str, reader: BodyReader) -> None:
        self.framer, self.head, self.reader = framer, head, reader
        self.is_data = False
        self.due = 16
        framer.feed(head)
        self._look()

    def feed(self, chunk: str, /) -> bool:
        settled = self.framer.feed(chunk)
        if self.watching and not self.is_data:
            self.head += chunk
            self._look()
        return settled or self.is_data

    @property
    def watching(self) -> bool:
        """Whether it still has to see every chunk."""
        return bool(self.due) or len(self.head) < _FIRST_KEY_WITHIN

    def _look(self) -> None:
        """Ask at fixed lengths, each twice the one before: the chunks must not decide what is
        asked.

        The first key alone often settles it; it is looked at as soon as it is there.
        """
        if self.framer.end is not None or self.framer.fault:
            # What lies behind the object says nothing about it.
            self.head = self.head[: self.framer.end or self.framer.fault_at]
        if self.reader.begins_as_data(self.head[:_FIRST_KEY_WITHIN]):
            self.is_data, self.due = True, 0
        while self.due and self.due <= len(self.head):
            self.is_data, again = self.reader.foretell(self.head[: self.due])
            again = again and not self.is_data and self.due < _FORETOLD
            self.due = 2 * self.due if again else 0


class BodyReader:
    """Reads bodies from a source, with one catalogue."""

    def __init__(self, source: Source, catalogue: Catalogue, limits: Limits, live: Live) -> None:
        self.source, self.catalogue, self.limits, self.live = source, catalogue, limits, live
        self.frames = Frames(source, catalogue, limits, live)

    @cached_property
    def names(self) -> NamedReader:
        """Reads calls that begin with the tool's name; made when the first one comes."""
        return NamedReader(self.frames)

    # -- bodies

    def body(
        self, at: int, *, enveloped: bool, hit: int | None = None
    ) -> Generator[Waiter | None, None, Body]:
        """Read items from ``at`` on until something else comes.

        ``hit`` is where the text before them ends, if they are as good as certain to be calls:
        then they may be told while they arrive.
        """
        source = self.source
        body = Body(start=at, end=at)
        self.live.permit(hit, body)
        brackets = 0
        while True:
            at = yield from source.solid(at)
            char = source.buf[at : at + 1]
            if char == "[" and (item := (yield from self._bracketed_name(at))) is not None:
                body.items.append(item)
                at = body.end = item.end
            elif char == "[" and not (body.items and body.items[-1].fault):
                opened = yield from self._opens_list(at, enveloped=enveloped)
                if not opened:
                    return body
                brackets += 1
                if brackets > _DEEPEST_LIST:
                    return body
                body.bracketed = True
                at += 1
            elif char == "]" and brackets:
                brackets -= 1
                at += 1
                body.end = at
            elif char in (",", ";") and body.items:
                at += 1
                body.end = at if char == ";" else body.end
            else:
                item = yield from self._item(at, body, enveloped=enveloped, listed=brackets > 0)
                if item is None or body.data:
                    # Calls, and then an object that is none: only the calls are the body.
                    body.data = body.data and (brackets > 0 or not body.items)
                    return body
                if brackets and any(call.repairs for call in item.calls):
                    item.calls = [replace(call, listed=True) for call in item.calls]
                body.items.append(item)
                at = body.end = item.end
                if len(body.items) > self.limits.max_calls_per_step:
                    return body

    def _bracketed_name(self, at: int) -> Generator[Waiter | None, None, Item | None]:
        """``[now]()``: the list closed behind the name. A link to its description is none."""
        source = self.source
        inner = yield from source.solid(at + 1)
        if not (source.buf[inner : inner + 1].isalpha() or source.buf[inner : inner + 1] in _QUOTE):
            return None
        found = yield from self.names.whole_name(inner)
        if found is None or self.catalogue.resolve(found[0]) is None:
            return None
        while len(source.buf) < found[1] + 2 and not source.final:
            yield None
        if not source.buf.startswith("](", found[1]):
            return None
        opener = found[1] + 1
        while not source.final and _CALLED_BEGIN.fullmatch(source.buf, opener):
            yield None
        if not _CALLED.match(source.buf, opener):
            return None
        return (yield from self.names.python_call(at, found[0], opener, ("bracketed_name",)))

    def _opens_list(self, at: int, *, enveloped: bool) -> Generator[Waiter | None, None, bool]:
        """Whether the bracket opens a list of calls and not a link, a citation or plain data."""
        inner = yield from self.source.solid(at + 1)
        char = self.source.buf[inner : inner + 1]
        if char in ("{", "[", '"', "'", "("):
            return True
        while self.source.buf[inner:] == "`" and not self.source.final:
            yield None  # a name in back-ticks begins with one
        if not NAME.match(self.source.buf, inner):
            return False
        name = yield from self.names.whole_name(inner)
        if name is None:
            return False
        # A name that is not declared makes a list of calls only if it really calls.
        known = enveloped or self.catalogue.resolve(name[0]) is not None
        return known or self.source.buf.startswith("(", name[1])

    def _item(
        self, at: int, body: Body, *, enveloped: bool, listed: bool
    ) -> Generator[Waiter | None, None, Item | None]:
        char = self.source.buf[at : at + 1]
        if char == "{":
            return (yield from self._object(at, body, enveloped=enveloped))
        if char == "<":
            return (yield from self.names.tagged(at))
        if char == "]" and enveloped:
            return (yield from elements(self.frames, at))
        while listed and char == "(" and self._may_open_call(at):
            yield None
        if listed and char == "(" and self._opens_call(at):
            at += 1  # a parenthesis too many in front of one call of a list
        elif listed and char in ("'", '"', "("):
            return (yield from self._texts_and_pairs(at, body, enveloped=enveloped))
        elif not char or not (char.isalpha() or char in "_\"'`" or (enveloped and char.isdigit())):
            return None
        if enveloped:
            at = yield from self.names.skip_statement(at)
        known = listed or bool(body.items)
        return (yield from self.names.named(at, enveloped=enveloped, known=known))

    def _opens_call(self, at: int) -> bool:
        within = at + _FIRST_KEY_WITHIN
        return _CALL_IN_PARENTHESES.match(self.source.buf, at, within) is not None

    def _may_open_call(self, at: int) -> bool:
        """Whether more text decides if a parenthesis stands in front of a name that calls."""
        buf = self.source.buf
        if self.source.final or len(buf) - at > _FIRST_KEY_WITHIN:
            return False
        return _CALL_IN_PARENTHESES_BEGIN.fullmatch(buf, at) is not None

    # -- objects

    def _object(
        self, at: int, body: Body, *, enveloped: bool
    ) -> Generator[Waiter | None, None, Item | None]:
        source, before = self.source, self.frames.spent
        try:
            value, end = decode_at(source.buf, at)
        except ValueError:
            item = yield from self._framed_object(at, body, enveloped=enveloped)
        else:
            # The same as if it had been framed, which it is where it comes in pieces.
            self.frames.spent += CANDIDATE
            self.frames.looked_at(end - at)
            item = self._decoded(value, at, end, (), body, enveloped=enveloped)
        if body.data:
            self.frames.spent = before
        return item

    def _framed_object(
        self, at: int, body: Body, *, enveloped: bool
    ) -> Generator[Waiter | None, None, Item | None]:
        framer = Framer(self.limits.max_depth)
        watch = None if enveloped else _Watch(framer, self.source.buf[at:], self)
        if watch is None or not watch.is_data:
            listen = partial(object_follower, self.live, at, enveloped=enveloped)
            yield from self.frames.follow(at, framer, watch, fed=watch is not None, listen=listen)
        if watch is not None and watch.is_data:
            body.data = True
            return None
        end, fault = self.frames.end(at, framer)
        if fault is not None:
            return Item(at, end, fault=fault)
        try:
            value, repairs = self.frames.decode(at, end)
        except (MalformedError, DuplicateKeyError) as error:
            return Item(at, end, fault=self.frames.malformed(error, at, end))
        return self._decoded(value, at, end, repairs, body, enveloped=enveloped)

    def _decoded(
        self,
        value: Any,
        start: int,
        end: int,
        repairs: tuple[str, ...],
        body: Body,
        *,
        enveloped: bool,
    ) -> Item | None:
        if not enveloped and isinstance(value, dict) and is_data(value, self.catalogue):
            body.data = True
            return None
        found = calls_in(value, self.catalogue, enveloped=enveloped)
        if found is None:
            if not enveloped:
                body.data = True
                return None
            message = "the object has no name of a tool beside its arguments"
            return Item(start, end, fault=Fault("invalid_json", message))
        return Item(start, end, self._placed(found, start, end, repairs))

    def _placed(
        self, calls: list[RawCall], start: int, end: int, repairs: tuple[str, ...]
    ) -> list[RawCall]:
        """The calls with the place where they stand and the repairs of what holds them."""
        span = self.frames.span(start, end)
        return [replace(call, span=span, repairs=(*repairs, *call.repairs)) for call in calls]

    def begins_as_data(self, head: str) -> bool:
        """Whether the first key is one that no call has."""
        first = _FIRST_KEY.match(head)
        return first is not None and is_data({first.group(2): None}, self.catalogue)

    def foretell(self, head: str) -> tuple[bool, bool]:
        """Whether the beginning of an object is known to be data, and whether to ask again."""
        import jiter

        try:
            value = jiter.from_json(head.encode("utf-8", "replace"), partial_mode=True)
        except ValueError:
            return False, not head[1:].strip()
        if not isinstance(value, dict):
            return False, False
        named = any(
            isinstance(value.get(key), str) and self.catalogue.resolve(value[key])
            for key in NAME_KEYS
        )
        return is_data(value, self.catalogue), not named

    # -- lists of texts and pairs

    def _texts_and_pairs(
        self, at: int, body: Body, *, enveloped: bool
    ) -> Generator[Waiter | None, None, Item | None]:
        """The rest of a list of pairs, ``('name', {…})``, or of calls written as strings."""
        framer = Framer(self.limits.max_depth)
        framer.feed("[")
        yield from self.frames.follow(at, framer)
        end, fault = self.frames.end(at - 1, framer)
        found: list[RawCall] | None = None
        repairs: tuple[str, ...] = ()
        if fault is None:
            try:
                listed = "[" + self.source.buf[at:end]
                value, repairs = read_value(listed, 0, len(listed))
            except (MalformedError, DuplicateKeyError) as error:
                if isinstance(error, MalformedError):
                    error.offset += at - 1
                fault = self.frames.malformed(error, at, end)
            else:
                found = calls_in(value, self.catalogue, enveloped=enveloped) or self._texts(value)
        if found is None and not enveloped:
            body.data = True
            return None
        if found is None:
            fault = fault or Fault("invalid_json", "the list holds no call")
            return Item(at, end, fault=fault)
        return Item(at, end - 1, self._placed(found, at, end, repairs))

    def _texts(self, value: Any) -> list[RawCall] | None:
        """``['get_weather(city="Rome")']``: each string is one call."""
        calls = [self._text(text) for text in value] if isinstance(value, list) else []
        return [call for call in calls if call] if calls and all(calls) else None

    def _text(self, text: Any) -> RawCall | None:
        match = NAME.match(text) if isinstance(text, str) else None
        if match is None or text[match.end() : match.end() + 1] != "(":
            return None
        if self.catalogue.resolve(match.group(1)) is None:
            return None
        try:
            arguments, repairs = read_arguments(text, match.end(), len(text))
        except (MalformedError, DuplicateKeyError):
            return None
        return RawCall(
            match.group(1),
            arguments.keywords,
            arguments.positional,
            dialect="pythonic",
            repairs=("call_in_string", *repairs),
        )
