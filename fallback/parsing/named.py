"""Calls whose name stands in front: ``name(…)``, ``name{…}``, and names with tagged arguments."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import replace
from functools import partial
from html import unescape
from typing import TYPE_CHECKING, Any

from fallback.dialects import markers
from fallback.dialects.tags import (
    INVOKE,
    INVOKE_BEGIN,
    INVOKE_END,
    KEY_VALUE,
    PAIR_BEGINS,
    TOOL_TAG,
    XML,
    XTML,
    TagSpelling,
    tag_per_parameter,
)
from fallback.parsing.bodies import Fault, Item, truncated
from fallback.parsing.frames import CANDIDATE, Frames
from fallback.parsing.framing import Framer
from fallback.parsing.gemma import GemmaFramer, read_gemma
from fallback.parsing.lenient import read_arguments
from fallback.parsing.live.opening import arguments_follower
from fallback.parsing.malformed import MalformedError
from fallback.parsing.rawcall import RawCall
from fallback.parsing.source import AnyOf, Waiter
from fallback.parsing.strict import DuplicateKeyError
from fallback.parsing.tagged import TagReader

if TYPE_CHECKING:
    from fallback.parsing.live.arguments import Arguments

# A name as models write it: Markdown escapes and path separators included, quotes around it
# allowed.
NAME = re.compile(r"""["'`]?([^\W\d][\w.\-/]*(?:\\_[\w.\-/]*)*(?::\d+)?)["'`]?""")
# What stands between a name and its arguments where special tokens, or a fence, separate them.
SEPARATORS = (
    "[CALL_ID]", "[ARGS]", "<|tool_call_argument_begin|>", "<｜tool▁sep｜>", "<|tool▁sep|>",
    "<｜tool_sep｜>", "<|tool_sep|>", "<tool_sep:opensource>", "<tool_sep>",
    "<|tool_call:name|>", "<|tool_call:args|>", "<|plamo:end_tool_name:plamo|>",
    "<|plamo:begin_tool_arguments:plamo|>", "<|plamo:constrain|>json", "<|plamo:msg|>",
    "```json", "```",
)  # fmt: skip
_QUOTES = ("", "'", '"', "`")
_NAME_GOES_ON = ("", "\\", ":")  # what a name may end with although more of it follows
_LONGEST_SEPARATOR = max(map(len, SEPARATORS))
_YAML_LINE = re.compile(r"([\w.\-]+):[ \t]*(.*)")
_IDENTITY = re.compile(r"[\w\-]{1,64}<\|tool_call:name\|>")
_IDENTITY_BEGIN = re.compile(r"[\w\-]{1,64}(?:<[|a-z_:]{0,16})?")
_CALL_ID = re.compile(r"\w*")
_STATEMENT = re.compile(r"(?:print|await|return)\b[ \t]*\(?|[^\W\d]\w*[ \t]*=(?!=)[ \t]*")


class NamedReader:
    """Reads calls that begin with the tool's name."""

    def __init__(self, frames: Frames) -> None:
        self.frames, self.source, self.catalogue = frames, frames.source, frames.catalogue
        self.live = frames.live
        self.tags = TagReader(self.source, self.catalogue)
        self.max_depth = frames.limits.max_depth
        self.spaced_names = tuple(name for name in self.catalogue.names if " " in name)

    def whole_name(self, at: int) -> Generator[Waiter | None, None, tuple[str, int] | None]:
        """The name at ``at`` and the index behind it, once it cannot grow any more."""
        for name in self.spaced_names:
            if self.source.buf.startswith(name, at):
                return name, at + len(name)
        while True:
            buf = self.source.buf
            match = NAME.match(buf, at)
            grows = buf[match.end() :] in _NAME_GOES_ON if match else buf[at:] in _QUOTES
            if not grows or self.source.final:
                return (match.group(1), match.end()) if match else None
            yield None

    def skip_statement(self, at: int) -> Generator[Waiter | None, None, int]:
        """Behind ``print(``, ``x =``, ``return`` in front of a call: an envelope says it is one."""
        found = yield from self.whole_name(at)
        if found is None:
            return at
        follower = yield from self.source.solid(found[1])
        while follower + 1 >= len(self.source.buf) and not self.source.final:
            yield None
        match = _STATEMENT.match(self.source.buf, at)
        return (yield from self.source.solid(match.end())) if match else at

    def named(
        self, at: int, *, enveloped: bool, known: bool = False
    ) -> Generator[Waiter | None, None, Item | None]:
        """Read ``name(…)``, ``name{…}`` or a name with tagged pairs; ``None`` if it is none of
        them.

        Without an envelope the name has to be declared, unless ``known`` calls stand beside it.
        """
        start = at
        if enveloped and self.source.buf[at : at + 1].isdigit():
            at = yield from self._behind_identity(at)
        found = yield from self.whole_name(at)
        gemma = found is not None and found[0] == "call" and (yield from self._colon(found[1]))
        if gemma and found:
            at = yield from self.source.solid(found[1])
            at = yield from self.source.solid(at + 1)
            found = yield from self.whole_name(at)
        if found is None:
            return None
        name, behind = found
        opener, passed = yield from self.arguments_at(behind)
        if (name == "function" and "sep" in passed) or "<|tool_call:name|>" in passed:
            # The word in front was the kind of the call, or its identity.
            separated = yield from self.whole_name(opener)
            if separated is None:
                return (yield from self.tagged(opener))
            name, behind = separated
            opener, passed = yield from self.arguments_at(behind)
        name = self._known_form(name)
        declared = self.catalogue.resolve(name) is not None
        if not (enveloped or known or declared):
            return None
        char = self.source.buf[opener : opener + 1]
        if char == "(":
            return (yield from self.python_call(start, name, opener))
        if char == "{" and (enveloped or declared):
            item = yield from self.name_then_object(start, name, opener, gemma=gemma)
            return (yield from self.behind_fence(item)) if "`" in passed else item
        if char == "<":
            return (yield from self._name_then_tags(start, name, opener, enveloped=enveloped))
        return None

    def _behind_identity(self, at: int) -> Generator[Waiter | None, None, int]:
        """Behind ``4f2a<|tool_call:name|>``: an identity that begins with a digit is no name."""
        while not self.source.final and _IDENTITY_BEGIN.fullmatch(self.source.buf, at):
            yield None
        match = _IDENTITY.match(self.source.buf, at)
        return match.end() if match else at

    def _colon(self, at: int) -> Generator[Waiter | None, None, bool]:
        at = yield from self.source.solid(at)
        return self.source.buf.startswith(":", at)

    def _known_form(self, name: str) -> str:
        """``brave_search.call`` is how Llama calls a builtin; the tool is ``brave_search``."""
        plain = name.removesuffix(".call")
        if plain != name and self.catalogue.resolve(name) is None:
            return plain if self.catalogue.resolve(plain) is not None else name
        return name

    def arguments_at(self, at: int) -> Generator[Waiter | None, None, tuple[int, str]]:
        """Where the arguments begin, and the separators that were passed on the way."""
        source, passed = self.source, ""
        while True:
            at = yield from source.solid(at)
            while True:
                head = source.buf[at : at + _LONGEST_SEPARATOR]
                longer = any(s.startswith(head) and s != head for s in SEPARATORS)
                if not head or not longer or source.final:
                    break
                yield None
            separator = next((s for s in SEPARATORS if head.startswith(s)), None)
            if separator is None:
                return at, passed
            passed += separator
            at += len(separator)
            if separator == "[CALL_ID]":
                match = _CALL_ID.match(source.buf, at)
                while match and match.end() == len(source.buf) and not source.final:
                    yield None
                    match = _CALL_ID.match(source.buf, at)
                at = match.end() if match else at

    def behind_fence(self, item: Item) -> Generator[Waiter | None, None, Item]:
        """Take the closing fence that belongs to the opening one in front of the arguments."""
        end = yield from self.source.solid(item.end)
        while len(self.source.buf) < end + 3 and not self.source.final:
            yield None
        item.end = end + 3 if self.source.buf.startswith("```", end) else item.end
        return item

    # -- Python and JSON arguments

    def python_call(
        self, at: int, name: str, opener: int, mended: tuple[str, ...] = ()
    ) -> Generator[Waiter | None, None, Item]:
        """Read the parenthesis at ``opener`` as the arguments of ``name``, which begins at ``at``;
        ``mended`` are the repairs that took."""
        framer = Framer(self.max_depth, comments=True)
        listen = partial(arguments_follower, self.live, name, opener, python=True)
        yield from self.frames.follow(opener, framer, listen=listen)
        end, fault = self.frames.end(opener, framer, name=name)
        if fault is not None:
            return Item(at, end, fault=fault)
        try:
            arguments, repairs = read_arguments(self.source.buf, opener, end)
        except (MalformedError, DuplicateKeyError) as error:
            return Item(at, end, fault=self.frames.malformed(error, at, end, name=name))
        call = RawCall(
            name,
            arguments.keywords,
            arguments.positional,
            dialect="pythonic",
            span=self.frames.span(at, end),
            repairs=(*mended, *repairs),
        )
        return Item(at, end, [call])

    def name_then_object(
        self, at: int, name: str, opener: int, *, gemma: bool = False
    ) -> Generator[Waiter | None, None, Item]:
        """Read the object at ``opener`` as the arguments of ``name``, which begins at ``at``."""
        framer = (GemmaFramer if gemma else Framer)(self.max_depth)
        listen = partial(arguments_follower, self.live, name, opener, gemma=gemma)
        yield from self.frames.follow(opener, framer, listen=listen)
        end, fault = self.frames.end(opener, framer, name=name)
        if fault is not None:
            return Item(at, end, fault=fault)
        try:
            if gemma:
                value, repairs = read_gemma(self.source.buf[opener:end])
            else:
                value, repairs = self.frames.decode(opener, end)
        except ValueError as error:
            return Item(at, end, fault=self.frames.malformed(error, at, end, name=name))
        dialect = "gemma" if gemma else "name_json"
        span = self.frames.span(at, end)
        return Item(at, end, [RawCall(name, value, dialect=dialect, span=span, repairs=repairs)])

    # -- tagged arguments

    def tool_tag(self, at: int) -> Generator[Waiter | None, None, Item | None]:
        """Read ``<name>…</name>`` of a declared tool, with a tag, or a line, for each parameter.

        Many names of tools are also names of elements, so the tags have to be complete: the close
        tag, and one parameter at least where the tool has any that is required.
        """
        yield from self.tags.whole_tag(at)
        tag = TOOL_TAG.match(self.source.buf, at)
        tool = self.catalogue.get(tag.group("name")) if tag else None
        if tag is None or tool is None:
            return None
        properties = tool.parameters.get("properties") or {}
        spelling = tag_per_parameter(tool.name, properties)
        inner = yield from self.source.solid(tag.end())
        if self.source.buf.startswith("{", inner):
            item = yield from self.name_then_object(at, tool.name, inner)
            end = yield from self.source.solid(item.end)
            yield from self.tags.whole_tag(end)
            closer = spelling.closer and spelling.closer.match(self.source.buf, end)
            item.end = closer.end() if closer else item.end
            return item if closer else None
        live = self.live.begin(tool.name, tag.end(), late=True)
        arguments, end, fault = yield from self._read_pairs(
            at, tool.name, tag.end(), spelling, live
        )
        if fault != "truncated" and not arguments and properties:
            lines, behind = yield from self._yaml(inner, tool.name, properties)
            arguments, end = (lines, behind) if lines else (arguments, end)
        if fault == "truncated" and arguments:
            return Item(at, end, fault=truncated(tool.name))
        if not self.source.buf.endswith(f"</{tool.name}>", at, end):
            return None
        if not arguments and tool.parameters.get("required"):
            return None
        span = self.frames.span(at, end)
        call = RawCall(tool.name, arguments, dialect=spelling.dialect, span=span, textual=True)
        return Item(at, end, [call])

    def _yaml(
        self, at: int, name: str, properties: Mapping[str, Any]
    ) -> Generator[Waiter | None, None, tuple[dict[str, Any], int]]:
        """Lines ``key: value`` up to the close tag; a block behind ``|`` keeps its lines."""
        closer = f"</{name}>"
        while (end := self.source.buf.find(closer, at)) < 0 and not self.source.final:
            yield AnyOf(">")
        self.frames.looked_at((end if end >= 0 else len(self.source.buf)) - at)
        if end < 0:
            return {}, at
        arguments: dict[str, Any] = {}
        key = ""
        for line in self.source.buf[at:end].rstrip().split("\n"):
            pair = _YAML_LINE.fullmatch(line)
            if pair and pair.group(1) in properties and not line.startswith(" "):
                key = pair.group(1)
                arguments[key] = pair.group(2).strip().removeprefix("|")
            elif key and line.startswith("  ") and key in arguments:
                arguments[key] = f"{arguments[key]}\n{line[2:]}" if arguments[key] else line[2:]
            else:
                return {}, at
        return arguments, end + len(closer)

    def tagged(self, at: int) -> Generator[Waiter | None, None, Item | None]:
        """Read ``<function=name>…</function>`` and its relatives."""
        found = yield from self.tags.opener(at)
        if found is None:
            return (yield from self._named_inside(at))
        name, behind = found
        if self.source.buf.startswith("/>", behind - 2):
            call = RawCall(name, None, dialect="xml", span=self.frames.span(at, behind))
            return Item(at, behind, [call])
        inner = yield from self.source.solid(behind)
        if not self.source.buf.startswith("{", inner):
            return (yield from self._pairs(at, name, behind, XML))
        item = yield from self.name_then_object(at, name, inner)
        end = yield from self.source.solid(item.end)
        yield from self.tags.whole_tag(end)
        closer = XML.closer.match(self.source.buf, end) if XML.closer else None
        item.end = closer.end() if closer else item.end
        return item

    def _named_inside(self, at: int) -> Generator[Waiter | None, None, Item | None]:
        """Read ``<invoke><tool_name>name</tool_name><parameters>…``, the older form."""
        while not self.source.final and INVOKE_BEGIN.fullmatch(self.source.buf, at):
            yield None
        opener = INVOKE.match(self.source.buf, at)
        if opener is None:
            return None
        name = opener.group("name")
        tool = self.catalogue.resolve(name)
        declared = (tool.parameters.get("properties") or {}) if tool else {}
        spelling = tag_per_parameter(name, declared)
        words = spelling.words and spelling.words | {"parameters", "invoke"}
        spelling = replace(spelling, dialect="xml", closer=INVOKE_END, words=words)
        return (yield from self._pairs(at, name, opener.end(), spelling))

    def xtml(self, at: int) -> Generator[Waiter | None, None, Item | None]:
        """Read Kimi K3's ``<|open|>call tool="name"<|sep|>…<|close|>call<|sep|>``."""
        while not self.source.final and "<|sep|>" not in self.source.buf[at : at + 300]:
            if len(self.source.buf) - at > 300:
                return None
            yield AnyOf(">")
        opener = XTML.opener.match(self.source.buf, at) if XTML.opener else None
        if opener is None:
            return None
        return (yield from self._pairs(at, unescape(opener.group("name")), opener.end(), XTML))

    def _name_then_tags(
        self, at: int, name: str, opener: int, *, enveloped: bool
    ) -> Generator[Waiter | None, None, Item | None]:
        yield from self.tags.whole_tag(opener)
        if PAIR_BEGINS.match(self.source.buf, opener):
            return (yield from self._pairs(at, name, opener, KEY_VALUE))
        match = markers.pattern().match(self.source.buf, opener)
        closed = match is not None and markers.table()[match.group()].role == "close"
        if closed and enveloped and self.catalogue.resolve(name) is not None:
            # A name alone in its envelope: a call without arguments.
            span = self.frames.span(at, opener)
            return Item(at, opener, [RawCall(name, None, dialect="glm", span=span)])
        return None

    def _read_pairs(
        self, at: int, name: str, behind: int, spelling: TagSpelling, live: Arguments | None
    ) -> Generator[Waiter | None, None, tuple[dict[str, Any], int, str]]:
        self.frames.spent += CANDIDATE
        read = yield from self.tags.pairs(name, behind, spelling, live=live)
        self.frames.looked_at(read[1] - at)
        return read

    def _pairs(
        self, at: int, name: str, behind: int, spelling: TagSpelling
    ) -> Generator[Waiter | None, None, Item]:
        live = self.live.begin(name, at)
        arguments, end, fault = yield from self._read_pairs(at, name, behind, spelling, live)
        if fault == "truncated":
            return Item(at, end, fault=truncated(name))
        if fault:
            return Item(at, end, fault=Fault("invalid_json", fault, name))
        span = self.frames.span(at, end)
        call = RawCall(name, arguments, dialect=spelling.dialect, span=span, textual=True)
        return Item(at, end, [call])
