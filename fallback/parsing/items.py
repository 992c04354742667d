"""Reading the calls of one body: a tag's content, a fence's, or a bare paragraph.

A body is a run of items (JSON objects, ``name(…)`` calls, ``name{…}`` pairs) with brackets and separators
between them, so one bad call does not take its siblings with it. Each item is tried strictly first; only
what failed is framed and read leniently.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any

from fallback.catalogue import Catalogue
from fallback.dialects import markers
from fallback.limits import Limits
from fallback.messages import ProblemKind, Span
from fallback.parsing.framing import Framer
from fallback.parsing.lenient import MalformedError, read_arguments, read_value
from fallback.parsing.rawcall import RawCall
from fallback.parsing.source import Source, Waiter
from fallback.parsing.strict import DuplicateKeyError, decode_at
from fallback.parsing.vocabulary import NAME_KEYS, calls_in, is_data

# A name as models write it: Markdown escapes and path separators included, quotes around it allowed.
NAME = re.compile(r"""["'`]?([^\W\d][\w.\-/]*(?:\\_[\w.\-/]*)*(?::\d+)?)["'`]?""")
_STATEMENT = re.compile(r"(?:print|await|return)\b[ \t]*\(?|[^\W\d]\w*[ \t]*=(?!=)[ \t]*")
_STATED_NAME = re.compile(
    rf"""["'](?:{"|".join(NAME_KEYS)})["']\s*:\s*["']([^"'\n]{{1,128}})["']"""
)
_FIRST_KEY = re.compile(r"""\{\s*(["'])([^"'\\\n]{1,128})\1\s*:""")
_BETWEEN_NAME_AND_ARGUMENTS = re.compile(
    r"\s*(?:\[CALL_ID\]\w*)?\s*(?:\[ARGS\]|<\|tool_call_argument_begin\|>)?\s*"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an item is no call."""

    kind: ProblemKind
    message: str
    name: str = ""


@dataclass(slots=True)
class Item:
    """One object or call: where it stands, and the calls it states or why it states none."""

    start: int
    end: int
    calls: list[RawCall] = field(default_factory=list)
    fault: Fault | None = None


@dataclass(slots=True)
class Body:
    """What was read: its items, where it ended, and whether it was data after all."""

    items: list[Item] = field(default_factory=list)
    start: int = 0
    end: int = 0
    data: bool = False
    bracketed: bool = False

    @property
    def calls(self) -> list[RawCall]:
        """The calls of all items, in order."""
        return [call for item in self.items for call in item.calls]


class _Watch:
    """Follows an object that may be an answer, and wakes as soon as it is known to be one."""

    def __init__(self, framer: Framer, head: str, reader: BodyReader) -> None:
        self.framer, self.head, self.reader = framer, head, reader
        self.is_data = False
        self.due = 0
        self._look()

    def feed(self, chunk: str, /) -> bool:
        if self.due and not self.is_data:
            self.head += chunk
            if len(self.head) >= self.due:
                self._look()
        return self.framer.feed(chunk) or self.is_data

    def _look(self) -> None:
        self.is_data, undecided = self.reader.foretell(self.head)
        # Looked at again each time it has doubled: linear in all, and a call is soon known.
        self.due = 2 * max(len(self.head), 16) if undecided and len(self.head) < 8192 else 0


class BodyReader:
    """Reads bodies from a source, with one catalogue."""

    def __init__(self, source: Source, catalogue: Catalogue, limits: Limits) -> None:
        self.source, self.catalogue, self.limits = source, catalogue, limits
        self.spaced_names = tuple(name for name in catalogue.names if " " in name)
        self.length_cut = False  # whether the reply was cut by the limit on its length

    # -- bodies

    def body(self, at: int, *, enveloped: bool) -> Generator[Waiter | None, None, Body]:
        """Read items from ``at`` on until something else comes."""
        source = self.source
        body = Body(start=at, end=at)
        brackets = 0
        while True:
            at = yield from source.solid(at)
            char = source.buf[at : at + 1]
            if char == "[" and not (body.items and body.items[-1].fault):
                opened = yield from self._opens_list(at, enveloped=enveloped)
                if not opened:
                    return body
                brackets += 1
                body.bracketed = True
                at += 1
            elif char == "]" and brackets:
                brackets -= 1
                at += 1
                body.end = at
            elif char in (",", ";") and body.items:
                at += 1
            else:
                item = yield from self._item(at, body, enveloped=enveloped, listed=brackets > 0)
                if item is None or body.data:
                    return body
                body.items.append(item)
                at = body.end = item.end
                if len(body.items) > self.limits.max_calls_per_step:
                    return body

    def _opens_list(self, at: int, *, enveloped: bool) -> Generator[Waiter | None, None, bool]:
        """Whether the bracket opens a list of calls and not a link, a citation or plain data."""
        inner = yield from self.source.solid(at + 1)
        char = self.source.buf[inner : inner + 1]
        if char == "]":
            return False
        if char in ("{", "[", '"', "'", "("):
            return True
        if not NAME.match(self.source.buf, inner):
            return False
        name = yield from self._whole_name(inner)
        return name is not None and (enveloped or self.catalogue.resolve(name[0]) is not None)

    def _item(
        self, at: int, body: Body, *, enveloped: bool, listed: bool
    ) -> Generator[Waiter | None, None, Item | None]:
        buf = self.source.buf
        char = buf[at : at + 1]
        if char == "{":
            return (yield from self._object(at, body, enveloped=enveloped))
        if listed and char in ("'", '"', "("):
            return (yield from self._tuple_or_text(at, body, enveloped=enveloped))
        if not char or not (char.isalpha() or char in "_\"'`") or (body.data and not enveloped):
            return None
        if enveloped:
            at = yield from self._skip_statement(at)
        return (yield from self.named(at, enveloped=enveloped, known=listed or bool(body.items)))

    def _skip_statement(self, at: int) -> Generator[Waiter | None, None, int]:
        """Behind ``print(``, ``x =``, ``return`` in front of a call: an envelope says it is one."""
        match = _STATEMENT.match(self.source.buf, at)
        while match and match.end() == len(self.source.buf) and not self.source.final:
            yield None
            match = _STATEMENT.match(self.source.buf, at)
        return match.end() if match else at

    # -- JSON objects

    def _object(
        self, at: int, body: Body, *, enveloped: bool
    ) -> Generator[Waiter | None, None, Item | None]:
        source = self.source
        try:
            value, end = decode_at(source.buf, at)
        except DuplicateKeyError as error:
            framer = Framer(self.limits.max_depth)
            yield from self._frame(at, framer)
            end = at + framer.end if framer.end is not None else len(source.buf)
            message = f"the key {str(error)!r} stands twice in one object"
            return Item(at, end, fault=Fault("invalid_json", message, self._stated_name(at, end)))
        except ValueError:
            return (yield from self._framed_object(at, body, enveloped=enveloped))
        return self._decoded(value, at, end, (), body, enveloped=enveloped)

    def _framed_object(
        self, at: int, body: Body, *, enveloped: bool
    ) -> Generator[Waiter | None, None, Item | None]:
        framer = Framer(self.limits.max_depth)
        watch = None
        if not enveloped:
            watch = _Watch(framer, self.source.buf[at:], self)
        yield from self._frame(at, framer, watch)
        if watch is not None and watch.is_data and framer.end is None:
            body.data = True
            return None
        end, fault = self._frame_end(at, framer)
        if fault is not None:
            return Item(at, end, fault=fault)
        try:
            value, repairs = self._lenient(at, end)
        except (MalformedError, DuplicateKeyError) as error:
            return Item(at, end, fault=self._malformed(error, at, end))
        return self._decoded(value, at, end, repairs, body, enveloped=enveloped)

    def _lenient(self, start: int, end: int) -> tuple[Any, tuple[str, ...]]:
        """Strict, then with raw control characters, then with every other repair."""
        buf = self.source.buf
        for control in (False, True):
            try:
                value, stop = decode_at(buf, start, control_characters=control)
            except DuplicateKeyError:
                raise
            except ValueError:
                continue
            if stop == end:
                return value, ("control_characters",) if control else ()
        return read_value(buf, start, end)

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
        span = self._span(start, end)
        calls = [
            replace(call, span=span, repairs=(*repairs, *call.repairs), dialect="json")
            for call in found
        ]
        return Item(start, end, calls)

    def foretell(self, head: str) -> tuple[bool, bool]:
        """Whether a beginning is known to be data, and whether it is worth asking again."""
        first = _FIRST_KEY.match(head)
        if first is not None and is_data({first.group(2): None}, self.catalogue):
            return True, False
        try:
            import jiter

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

    # -- named calls

    def _whole_name(self, at: int) -> Generator[Waiter | None, None, tuple[str, int] | None]:
        """The name at ``at`` and the index behind it, once it cannot grow any more."""
        for name in self.spaced_names:
            if self.source.buf.startswith(name, at):
                return name, at + len(name)
        match = NAME.match(self.source.buf, at)
        while match and match.end() == len(self.source.buf) and not self.source.final:
            yield None
            match = NAME.match(self.source.buf, at)
        return (match.group(1), match.end()) if match else None

    def named(
        self, at: int, *, enveloped: bool, known: bool = False
    ) -> Generator[Waiter | None, None, Item | None]:
        """Read ``name(…)`` or ``name{…}``; ``None`` if it is neither.

        Without an envelope the name has to be declared, unless ``known`` calls stand beside it.
        """
        found = yield from self._whole_name(at)
        if found is None:
            return None
        name, behind = found
        if not (enveloped or known) and self.catalogue.resolve(name) is None:
            return None
        match = _BETWEEN_NAME_AND_ARGUMENTS.match(self.source.buf, behind)
        while match and match.end() == len(self.source.buf) and not self.source.final:
            yield None
            match = _BETWEEN_NAME_AND_ARGUMENTS.match(self.source.buf, behind)
        opener = match.end() if match else behind
        char = self.source.buf[opener : opener + 1]
        if char == "(":
            return (yield from self._python_call(at, name, opener))
        if char == "{" and self.catalogue.resolve(name) is not None:
            return (yield from self._name_then_object(at, name, opener))
        return None

    def _python_call(self, at: int, name: str, opener: int) -> Generator[Waiter | None, None, Item]:
        framer = Framer(self.limits.max_depth, comments=True)
        yield from self._frame(opener, framer)
        end, fault = self._frame_end(opener, framer, name=name)
        if fault is not None:
            return Item(at, end, fault=fault)
        try:
            arguments, repairs = read_arguments(self.source.buf, opener, end)
        except (MalformedError, DuplicateKeyError) as error:
            return Item(at, end, fault=self._malformed(error, at, end, name=name))
        call = RawCall(
            name,
            arguments.keywords,
            arguments.positional,
            dialect="pythonic",
            span=self._span(at, end),
            repairs=repairs,
        )
        return Item(at, end, [call])

    def _name_then_object(
        self, at: int, name: str, opener: int
    ) -> Generator[Waiter | None, None, Item]:
        framer = Framer(self.limits.max_depth)
        yield from self._frame(opener, framer)
        end, fault = self._frame_end(opener, framer, name=name)
        if fault is not None:
            return Item(at, end, fault=fault)
        try:
            value, repairs = self._lenient(opener, end)
        except (MalformedError, DuplicateKeyError) as error:
            return Item(at, end, fault=self._malformed(error, at, end, name=name))
        span = self._span(at, end)
        return Item(
            at, end, [RawCall(name, value, dialect="name_json", span=span, repairs=repairs)]
        )

    def _tuple_or_text(
        self, at: int, body: Body, *, enveloped: bool
    ) -> Generator[Waiter | None, None, Item | None]:
        """Members of a list that are pairs, ``('name', {…})``, or calls written as strings."""
        framer = Framer(self.limits.max_depth)
        yield from self._frame_list(at, framer)
        end, fault = self._frame_end(at - 1, framer)
        if fault is not None:
            if enveloped:
                return Item(at, end, fault=fault)
            body.data = True
            return None
        try:
            value, repairs = read_value("[" + self.source.buf[at:end], 0, end - at + 1)
        except (MalformedError, DuplicateKeyError) as error:
            if enveloped:
                return Item(at, end, fault=self._malformed(error, at, end))
            body.data = True
            return None
        found = calls_in(value, self.catalogue, enveloped=enveloped) or self._texts(value)
        if found is None:
            if enveloped:
                return Item(at, end, fault=Fault("invalid_json", "the list holds no call"))
            body.data = True
            return None
        span = self._span(at, end)
        calls = [replace(c, span=span, repairs=(*repairs, *c.repairs)) for c in found]
        return Item(at, end - 1, calls)

    def _frame_list(self, at: int, framer: Framer) -> Generator[Waiter | None, None, None]:
        framer.feed("[")
        settled = framer.feed(self.source.buf, at)
        while not settled and not self.source.final:
            yield framer
            settled = framer.end is not None or bool(framer.fault)

    def _texts(self, value: Any) -> list[RawCall] | None:
        """``['get_weather(city="Rome")']``: each string is one call."""
        if not isinstance(value, list) or not value:
            return None
        calls: list[RawCall] = []
        for text in value:
            match = NAME.match(text) if isinstance(text, str) else None
            if match is None or text[match.end() : match.end() + 1] != "(":
                return None
            if self.catalogue.resolve(match.group(1)) is None:
                return None
            try:
                arguments, repairs = read_arguments(text, match.end(), len(text))
            except (MalformedError, DuplicateKeyError):
                return None
            calls.append(
                RawCall(
                    match.group(1),
                    arguments.keywords,
                    arguments.positional,
                    dialect="pythonic",
                    repairs=("call_in_string", *repairs),
                )
            )
        return calls

    # -- frames

    def _frame(
        self, at: int, framer: Framer, waiter: _Watch | None = None
    ) -> Generator[Waiter | None, None, None]:
        """Let the framer run from ``at`` until it has settled or the text is over."""
        settled = framer.feed(self.source.buf, at)
        while not settled and not self.source.final:
            if waiter is not None and waiter.is_data:
                return
            yield waiter or framer
            settled = framer.end is not None or bool(framer.fault)

    def _frame_end(self, at: int, framer: Framer, *, name: str = "") -> tuple[int, Fault | None]:
        """Index behind the frame, or where to go on and what is wrong with it."""
        buf = self.source.buf
        if framer.end is not None:
            return at + framer.end, None
        if framer.fault == "too_deep":
            line = buf.find("\n", at + framer.fault_at)
            message = f"nested deeper than {self.limits.max_depth} levels"
            return (line if line >= 0 else len(buf)), Fault("invalid_json", message, name)
        if framer.fault == "markup":
            end = at + len(buf[at : at + framer.fault_at].rstrip())
            return end, None
        end = len(buf.rstrip())
        name = name or self._stated_name(at, end)
        if framer.open_string:
            cut = self._closer_inside(at)
            if cut is not None:
                return cut, Fault("invalid_json", "a string is never closed", name)
            return len(buf), truncated(name)
        last = buf[end - 1 : end]
        if (last in ",:=(" or last.isalnum() or last in "_.") and end == len(buf):
            return len(buf), truncated(name)
        if last in ",:=":
            return len(buf), truncated(name)
        return end, None

    def _closer_inside(self, at: int) -> int | None:
        """Where a close marker stands inside a string that is never closed: the string is wrong."""
        for marker in markers.table().values():
            if marker.role == "close":
                cut = self.source.buf.find(marker.text, at)
                if cut >= 0:
                    return cut
        return None

    def _stated_name(self, start: int, end: int) -> str:
        """The declared name that an undecodable object states near its beginning, if any."""
        for match in _STATED_NAME.finditer(self.source.buf, start, min(end, start + 2048)):
            if self.catalogue.resolve(match.group(1)) is not None:
                return match.group(1)
        return ""

    def _malformed(self, error: ValueError, start: int, end: int, *, name: str = "") -> Fault:
        name = name or self._stated_name(start, end)
        if isinstance(error, DuplicateKeyError):
            return Fault("invalid_json", f"the key {str(error)!r} stands twice in one object", name)
        assert isinstance(error, MalformedError)  # noqa: S101 -- narrows for the type checker
        where = f" at `{error.key}`" if error.key else ""
        if error.truncated and end >= len(self.source.buf.rstrip()):
            return truncated(name)
        snippet = self.source.buf[max(start, error.offset - 20) : error.offset + 20].strip()
        if error.expression:
            message = f"{error}{where}; only literal values are read, nothing is evaluated"
            return Fault("invalid_arguments", message, name)
        hint = " (quotes inside a string need a backslash)" if '"' in snippet else ""
        return Fault("invalid_json", f"{error}{where}, near {snippet!r}{hint}", name)

    def _span(self, start: int, end: int) -> Span:
        return Span(self.source.base + start, self.source.base + end)


def truncated(name: str) -> Fault:
    """The fault of a call that stops before its end."""
    return Fault("truncated", "the call was cut off before it was complete", name)
