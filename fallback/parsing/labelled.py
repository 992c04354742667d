"""ReAct: a call as labelled lines.

::

    Thought: I need the weather.
    Action: get_weather
    Action Input: {"city": "Oslo"}

Also the relatives that put a JSON blob, or a whole call, behind ``Action:``. ``Action: None`` is
the decision not to call. Source: Yao et al. 2022, and the prompts of the frameworks that made the
form common.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING

from fallback.dialects.markers import Marker
from fallback.parsing.bodies import Body, Fault, Item
from fallback.parsing.frames import CANDIDATE
from fallback.parsing.live.opening import plain_line
from fallback.parsing.rawcall import RawCall
from fallback.parsing.source import AnyOf, Waiter

if TYPE_CHECKING:
    from fallback.parsing.live.line import PlainLine
    from fallback.parsing.scanner import Scanner, Steps

_LABEL = re.compile(r"Action(?:[ \t]*\d+)?[ \t]*\**[ \t]*:[ \t]*\**[ \t]*")
_LABEL_BEGIN = re.compile(r"Action[ \t]*\d*[ \t]*\**[ \t]*:?[ \t]*\**[ \t]*")
_INPUT = re.compile(
    r"\**Action(?:[ \t]*\d+)?[ \t]+Input(?:[ \t]*\d+)?[ \t]*\**[ \t]*:[ \t]*\**[ \t]*"
)
_INPUT_BEGIN = re.compile(
    r"[*Action \t\d]*(?:Input)?[ \t\d*]*:?[ \t*]*|[*Action \t\d]*I(?:n(?:p(?:ut?)?)?)?"
)
_FLOWER_ARGS = re.compile(r"✿ARGS✿[ \t]*:[ \t]*")
_NOTHING = re.compile(r"(?:none|n/?a|no action|nothing|final answer)\b", re.IGNORECASE)
_OBSERVATION = re.compile(r"\**Observation\b")
_BLOB = Marker("Action:", "call", "react", soft=True)


class Labels:
    """The scanner's reader of labelled lines."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner, self.source = scanner, scanner.source

    def line(self, hit: int, before: str) -> Steps:
        """A label that may stand at the start of a line."""
        if self.source.buf.startswith("Action", hit):
            yield from self._action(hit, before)
        elif self.scanner.cursor.called:
            yield from self._observation(hit, before)
        else:
            self.scanner.cursor.look = hit + len("Observation")

    def _action(self, hit: int, before: str) -> Steps:
        """``Action`` at the start of a line."""
        scanner, source = self.scanner, self.source
        scanner.reader.frames.spent += CANDIDATE // 2
        while not source.final and _LABEL_BEGIN.fullmatch(source.buf, hit):
            yield None
        label = _LABEL.match(source.buf, hit)
        if before.strip(" \t*") or label is None:
            scanner.cursor.look = hit + 6
            return
        if (yield from scanner.quoting.quotes(hit)):
            return
        start = hit - (len(before) if hit - len(before) >= scanner.cursor.pos else 0)
        line = yield from self._line_end(label.end())
        written = source.buf[label.end() : line].strip(" \t*")
        blob = written[:3] == "```" or "{" in source.buf[label.end() : line + 1]
        if not written or (written[0] in "{[`" and blob):
            yield from self._blob(start, label.end())
        elif _NOTHING.match(written):
            scanner.cursor.look = line
        else:
            yield from self._named(start, written.strip("\"'`"), label.end(), line)

    def flower(self, hit: int) -> Steps:
        """Qwen-Agent's labels: ``✿FUNCTION✿: name``, then ``✿ARGS✿: {…}`` on the next line."""
        at = hit + len("✿FUNCTION✿")
        line = yield from self._line_end(at)
        name = self.source.buf[at:line].strip(" :\t")
        inner = yield from self.source.solid(line)
        while not self.source.final and "✿ARGS✿:".startswith(self.source.buf[inner:]):
            yield None
        label = _FLOWER_ARGS.match(self.source.buf, inner)
        if label is None:
            self.scanner.cursor.look = at
            return
        if (yield from self.scanner.quoting.quotes(hit)):
            return
        item = yield from self._input(hit, name, label.end())
        body = Body([item], hit, item.end)
        self.scanner.envelopes.accept(hit, body, item.end, "qwen_agent", closed=False)

    def _observation(self, hit: int, before: str) -> Steps:
        """A result that the model wrote itself, behind a call."""
        if before.strip(" \t*"):
            self.scanner.cursor.look = hit + 11
            return
        yield from self.scanner.passages.drop(
            hit - len(before) if hit - len(before) >= self.scanner.cursor.pos else hit
        )

    def _line_end(
        self, at: int, told: PlainLine | None = None
    ) -> Generator[Waiter | None, None, int]:
        search = at
        while (line := self.source.buf.find("\n", search)) < 0:
            if self.source.final:
                return len(self.source.buf)
            if told is not None:
                told.feed(self.source.buf[search:])
            search = len(self.source.buf)
            yield told or AnyOf("\n")
        return line

    def _blob(self, start: int, at: int) -> Steps:
        """A JSON object, fenced or not, behind the label."""
        inner = yield from self.source.solid(at)
        if self.source.buf[inner : inner + 1] not in ("{", "[", "`"):
            self.scanner.cursor.look = at
            return
        yield from self.scanner.envelopes.envelope(start, at, _BLOB, at_line_start=True)

    def _named(self, start: int, name: str, at: int, line: int) -> Steps:
        scanner, source = self.scanner, self.source
        reader = scanner.reader
        if "(" in name and scanner.catalogue.resolve(name.partition("(")[0]) is not None:
            body = yield from reader.body(at, enveloped=True, hit=start)
            end = yield from scanner.envelopes.behind_body(body.end)
            scanner.envelopes.accept(start, body, end, "react")
            return
        inner = yield from source.solid(line)
        while not source.final and (
            _INPUT_BEGIN.fullmatch(source.buf, inner)
            or "Observation".startswith(source.buf[inner : inner + 40].lstrip("*"))
        ):
            yield None
        label = _INPUT.match(source.buf, inner)
        if label is None:
            over = inner == len(source.buf) or _OBSERVATION.match(source.buf, inner)
            tool = scanner.catalogue.resolve(name)
            if over and tool is not None:
                item = Item(
                    start, line, [RawCall(name, None, span=reader.frames.span(start, line))]
                )
                if tool.parameters.get("required"):
                    fault = Fault("invalid_json", "the line `Action Input:` is missing", name)
                    item = Item(start, line, fault=fault)
                scanner.envelopes.accept(start, Body([item], start, line), line, "react")
            else:
                scanner.cursor.look = line
            return
        item = yield from self._input(start, name, label.end())
        body = Body([item], start, item.end)
        scanner.envelopes.accept(
            start, body, item.end, "react", closed=bool(source.buf[item.end :].strip())
        )

    def _input(self, start: int, name: str, at: int) -> Generator[Waiter | None, None, Item]:
        """The arguments behind ``Action Input:``: one object, or one text for one string
        parameter."""
        names = self.scanner.reader.names
        opener, passed = yield from names.arguments_at(at)
        if self.source.buf.startswith("{", opener):
            self.scanner.live.permit(start)
            item = yield from names.name_then_object(start, name, opener)
            return (yield from names.behind_fence(item)) if "`" in passed else item
        tool = self.scanner.catalogue.resolve(name)
        properties = (tool.parameters.get("properties") or {}) if tool else {}
        only = next(iter(properties), None) if len(properties) == 1 else None
        schema = properties.get(only)
        if not isinstance(schema, Mapping) or schema.get("type") != "string":
            only = None
        told = None
        if only is not None:
            self.scanner.live.permit(start)
            told = plain_line(self.scanner.live, name, only, at)
        line = yield from self._line_end(at, told)
        text = self.source.buf[at:line].strip()
        span = self.scanner.reader.frames.span(start, line)
        if tool is None or not text:
            return Item(start, line, [RawCall(name, None, span=span)])
        if only is not None:
            value = text.strip("\"'")
            if told is not None:
                told.end(value)
            return Item(start, line, [RawCall(name, {only: value}, span=span)])
        message = f"its input {text[:80]!r} is no JSON object"
        return Item(start, line, fault=Fault("invalid_json", message, name))
