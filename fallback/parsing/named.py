"""Calls whose name stands in front: ``name(…)``, ``name{…}``, and names with tagged arguments."""

from __future__ import annotations

import re
from collections.abc import Generator

from fallback.dialects import markers
from fallback.dialects.tags import KEY_VALUE, XML, TagSpelling
from fallback.parsing.bodies import Fault, Item, truncated
from fallback.parsing.frames import Frames
from fallback.parsing.framing import Framer
from fallback.parsing.gemma import GemmaFramer, read_gemma
from fallback.parsing.lenient import MalformedError, read_arguments
from fallback.parsing.rawcall import RawCall
from fallback.parsing.source import Waiter
from fallback.parsing.strict import DuplicateKeyError
from fallback.parsing.tagged import TagReader

# A name as models write it: Markdown escapes and path separators included, quotes around it allowed.
NAME = re.compile(r"""["'`]?([^\W\d][\w.\-/]*(?:\\_[\w.\-/]*)*(?::\d+)?)["'`]?""")
# What stands between a name and its arguments where special tokens separate them.
BETWEEN = re.compile(
    r"\s*(?:\[CALL_ID\]\w*\s*)?"
    r"(?:(?:\[ARGS\]?|<\|tool_call_argument_begin\|>|<[｜|]tool[▁_]sep[｜|]>)\s*)?(?:```(?:json)?\s*)?"
)
_SEPARATOR = re.compile(r"\s*<[｜|]tool[▁_]sep[｜|]>\s*")
_SEPARATORS = (
    "[CALL_ID]", "[ARGS]", "<|tool_call_argument_begin|>", "<｜tool▁sep｜>", "<|tool_sep|>", "```json\n",
)  # fmt: skip
_CALL_WORD = re.compile(r"call\s*:\s*")
_STATEMENT = re.compile(r"(?:print|await|return)\b[ \t]*\(?|[^\W\d]\w*[ \t]*=(?!=)[ \t]*")


def _may_separate(rest: str) -> bool:
    """Whether a text is a proper beginning of a separator, so that more has to be seen."""
    return rest.isspace() or any(s.startswith(rest) and s != rest for s in _SEPARATORS)


class NamedReader:
    """Reads calls that begin with the tool's name."""

    def __init__(self, frames: Frames) -> None:
        self.frames, self.source, self.catalogue = frames, frames.source, frames.catalogue
        self.tags = TagReader(self.source, self.catalogue)
        self.max_depth = frames.limits.max_depth
        self.spaced_names = tuple(name for name in self.catalogue.names if " " in name)

    def whole_name(self, at: int) -> Generator[Waiter | None, None, tuple[str, int] | None]:
        """The name at ``at`` and the index behind it, once it cannot grow any more."""
        for name in self.spaced_names:
            if self.source.buf.startswith(name, at):
                return name, at + len(name)
        match = NAME.match(self.source.buf, at)
        while match and match.end() == len(self.source.buf) and not self.source.final:
            yield None
            match = NAME.match(self.source.buf, at)
        return (match.group(1), match.end()) if match else None

    def skip_statement(self, at: int) -> Generator[Waiter | None, None, int]:
        """Behind ``print(``, ``x =``, ``return`` in front of a call: an envelope says it is one."""
        match = _STATEMENT.match(self.source.buf, at)
        while match and match.end() == len(self.source.buf) and not self.source.final:
            yield None
            match = _STATEMENT.match(self.source.buf, at)
        return match.end() if match else at

    def named(
        self, at: int, *, enveloped: bool, known: bool = False
    ) -> Generator[Waiter | None, None, Item | None]:
        """Read ``name(…)``, ``name{…}`` or a name with tagged pairs; ``None`` if it is none of them.

        Without an envelope the name has to be declared, unless ``known`` calls stand beside it.
        """
        start = at
        word = _CALL_WORD.match(self.source.buf, at)
        at = word.end() if word else at
        found = yield from self.whole_name(at)
        if found is None:
            return None
        name, behind = found
        if name == "function" and (skipped := (yield from self._separated(behind))) is not None:
            name, behind = skipped
        name = self._known_form(name)
        declared = self.catalogue.resolve(name) is not None
        if not (enveloped or known or declared):
            return None
        opener = yield from self._past(BETWEEN, behind)
        char = self.source.buf[opener : opener + 1]
        if char == "(":
            return (yield from self._python_call(start, name, opener))
        if char == "{" and (enveloped or declared):
            return (yield from self.name_then_object(start, name, opener, gemma=bool(word)))
        if char == "<":
            return (yield from self._name_then_tags(start, name, opener, enveloped=enveloped))
        return None

    def _known_form(self, name: str) -> str:
        """``brave_search.call`` is how Llama calls a builtin; the tool is ``brave_search``."""
        plain = name.removesuffix(".call")
        if plain != name and self.catalogue.resolve(name) is None:
            return plain if self.catalogue.resolve(plain) is not None else name
        return name

    def _separated(self, at: int) -> Generator[Waiter | None, None, tuple[str, int] | None]:
        """The name behind ``function<｜tool▁sep｜>``."""
        yield from self._past(_SEPARATOR, at)
        match = _SEPARATOR.match(self.source.buf, at)
        return (yield from self.whole_name(match.end())) if match else None

    def _past(self, pattern: re.Pattern[str], at: int) -> Generator[Waiter | None, None, int]:
        """Index behind an optional separator, once it is known how far it goes."""
        source = self.source
        while True:
            match = pattern.match(source.buf, at)
            end = match.end() if match else at
            rest = source.buf[end : end + 30]
            if source.final or (rest and not _may_separate(rest)):
                return end
            yield None

    # -- Python and JSON arguments

    def _python_call(self, at: int, name: str, opener: int) -> Generator[Waiter | None, None, Item]:
        framer = Framer(self.max_depth, comments=True)
        yield from self.frames.follow(opener, framer)
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
            repairs=repairs,
        )
        return Item(at, end, [call])

    def name_then_object(
        self, at: int, name: str, opener: int, *, gemma: bool = False
    ) -> Generator[Waiter | None, None, Item]:
        """Read the object at ``opener`` as the arguments of ``name``, which begins at ``at``."""
        framer = (GemmaFramer if gemma else Framer)(self.max_depth)
        yield from self.frames.follow(opener, framer)
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

    def tagged(self, at: int) -> Generator[Waiter | None, None, Item | None]:
        """Read ``<function=name>…</function>`` and its relatives."""
        found = yield from self.tags.opener(at)
        if found is None:
            return None
        name, behind = found
        inner = yield from self.source.solid(behind)
        if not self.source.buf.startswith("{", inner):
            return (yield from self._pairs(at, name, behind, XML))
        item = yield from self.name_then_object(at, name, inner)
        end = yield from self.source.solid(item.end)
        yield from self.tags.whole_tag(end)
        closer = XML.closer.match(self.source.buf, end) if XML.closer else None
        item.end = closer.end() if closer else item.end
        return item

    def _name_then_tags(
        self, at: int, name: str, opener: int, *, enveloped: bool
    ) -> Generator[Waiter | None, None, Item | None]:
        yield from self.tags.whole_tag(opener)
        head = self.source.buf[opener : opener + 40]
        if "arg_key" in head or "arg_value" in head:
            return (yield from self._pairs(at, name, opener, KEY_VALUE))
        match = markers.pattern().match(self.source.buf, opener)
        if match and markers.table()[match.group()].role == "close" and enveloped:
            # A name alone in its envelope: a call without arguments.
            span = self.frames.span(at, opener)
            return Item(at, opener, [RawCall(name, None, dialect="glm", span=span)])
        return None

    def _pairs(
        self, at: int, name: str, behind: int, spelling: TagSpelling
    ) -> Generator[Waiter | None, None, Item]:
        arguments, end, fault = yield from self.tags.pairs(name, behind, spelling)
        if fault == "truncated":
            return Item(at, end, fault=truncated(name))
        if fault:
            return Item(at, end, fault=Fault("invalid_json", "a parameter is given twice", name))
        span = self.frames.span(at, end)
        return Item(at, end, [RawCall(name, arguments, dialect=spelling.dialect, span=span)])
