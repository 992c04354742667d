"""Arguments that nobody asked for, in a call that was begun for the model. No I/O.

A small model fills in what it is shown: a parameter that may be left out gets a value that the
question says nothing of (``genre: "Action"``, ``round_off: 1``). Such a value is about as probable
when nothing is asked as it is behind the question, and is left out. A value that the question
speaks for has gained by it, whether its words stand there or not.

So the call is a draft at first. Its values are asked about twice, behind what the call has in front
of them: with the question, and with one that asks for nothing. What counts is by how much the
logarithm of the odds of the value rises: of a value that is nearly certain with the question the
probability could hardly rise, the odds do.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fallback.backend import Chunk
from fallback.dialects.record import Dialect
from fallback.loop.actions import Generation
from fallback.loop.deciding import Choices, Decide, Scored
from fallback.rendering.opening import Opening, opening_of_any
from fallback.schema.places import cut
from fallback.templating import to_json
from fallback.tools import Tool

__all__ = ["Doubt", "Draft", "as_given", "drafts", "left_out", "may_be_left_out"]

_MOST_DOUBTS = 8
"""Arguments of one call that are asked about; behind them all are kept."""

_BLANKS = re.compile(r"[ \t\r\n]*")

_WORDS = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+")
"""The words of a name: ``with_garden``, ``withGarden`` and ``with-garden`` have the same two."""

_LONGEST = 80
"""Characters of a value in a note."""

_MOST_TEXTS = 32
"""Texts of a list that are looked for in the user's words."""

_SHORTEST = 3
"""Characters of a text that is looked for in the user's words: a shorter one is there by chance."""

_CERTAIN = 8.0
"""Logarithm of the odds that count as no more: what lies beyond is the rounding of the server."""


class Member(NamedTuple):
    """A member of an object in its text: where it begins, where its value does (behind the colon,
    with the blanks that may be there), and where that ends.
    """

    name: str
    value: Any
    begin: int
    colon: int
    end: int


class Doubt(NamedTuple):
    """An argument that may have been asked for or not.

    How probable its value is is asked without what ends it: models write that as one token with
    whatever comes next.
    """

    name: str
    value: Any
    choices: Choices

    @property
    def told(self) -> str:
        """The argument, for people to read."""
        return f"{self.name}={cut(to_json(self.value), _LONGEST)}"


@dataclass(frozen=True, slots=True)
class Draft:
    """A call that the model has written, of which something may still be left out.

    Attributes:
        generation: the reply that it is the last call of.
        before: of its text, what was there before the call was written.
        text: the call, as it was written.
        name: the tool.
        arguments: where they are in ``text``.
    """

    generation: Generation
    before: str
    text: str
    name: str
    arguments: tuple[Member, ...]

    @classmethod
    def of(
        cls, generation: Generation, before: str, opened: Opening, dialect: Dialect
    ) -> Draft | None:
        """Find the call that was begun behind ``before``.

        Returns:
            ``None`` where it is not one JSON object as it was begun, or not complete.
        """
        reading, raw = generation.reading, generation.raw
        whole = opened == opening_of_any(dialect) and raw.startswith(before)
        if not whole or not reading.calls or reading.problems:
            return None
        written = raw.removeprefix(before)
        for closing in (opened.closing, opened.closing.removeprefix("\n")):
            text = written.removesuffix(closing)
            try:
                call = json.loads(text)
            except ValueError:
                continue
            members = _members(text, text.index("{")) if isinstance(call, dict) else ()
            if [member.name for member in members] == ["name", "arguments"]:
                name, arguments = members
                if isinstance(name.value, str) and isinstance(arguments.value, dict):
                    inside = _members(text, text.index("{", arguments.colon))
                    return cls(generation, before, text, name.value, inside)
        return None

    def doubts(self, tool: Tool, said: str) -> tuple[Doubt, ...]:
        """The arguments to ask about.

        Args:
            tool: the one that is called.
            said: the user's words; a text that stands there was asked for, and so was a flag whose
                name does.
        """
        optional, words = may_be_left_out(tool), said.casefold()
        found = [
            self._doubt(member)
            for member in self.arguments
            if member.name in optional
            and not _is_default(tool, member.name, member.value)
            and not _is_said(member.value, words)
            and not _is_flagged(member, words)
        ]
        return tuple(found[:_MOST_DOUBTS])

    def _doubt(self, member: Member) -> Doubt:
        value = self.text[member.colon : member.end]
        asked = value[:-1] if value[-1] in '"]}' else value
        prefill = self.before + self.text[: member.colon]
        return Doubt(member.name, member.value, Choices(prefill, (asked,), whole=True))

    def without(self, names: Collection[str]) -> Chunk:
        """The reply without these arguments, as it would have come from the server."""
        text, members = self.text, self.arguments
        kept = [text[m.begin : m.end] for m in members if m.name not in names]
        if len(kept) < len(members):
            text = f"{text[: members[0].begin]}{', '.join(kept)}{text[members[-1].end :]}"
        return replace(as_given(self.generation, self.before), text=text, finish_reason="stop")


def _members(text: str, brace: int) -> tuple[Member, ...]:
    """The members of an object that begins with this brace, in a text that is JSON."""
    decode, found, at = json.JSONDecoder().raw_decode, [], _behind_blanks(text, brace + 1)
    while text[at] != "}":
        name, end = decode(text, at)
        colon = text.index(":", end) + 1
        value, end = decode(text, _behind_blanks(text, colon))
        found.append(Member(name, value, at, colon, end))
        at = _behind_blanks(text, end)
        if text[at] == ",":
            at = _behind_blanks(text, at + 1)
    return tuple(found)


def _behind_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return at if blanks is None else blanks.end()


def as_given(generation: Generation, before: str) -> Chunk:
    """A reply that was begun with ``before``, as it would have come in one piece."""
    begun = before if generation.raw.startswith(before) else ""
    return Chunk(
        prefill=begun,
        text=generation.raw.removeprefix(begun),
        thinking=generation.thinking,
        tool_calls=generation.tool_calls,
        done=True,
        finish_reason=generation.finish_reason,
        usage=generation.usage,
        path=generation.path,
        num_ctx=generation.num_ctx,
    )


def drafts(tool: Tool, settings: Decide) -> bool:
    """Whether a call of the tool is a draft at first."""
    return bool(may_be_left_out(tool)) and settings.unasked > -math.inf


def may_be_left_out(tool: Tool) -> frozenset[str]:
    """The parameters that a call need not have."""
    schema = tool.parameters
    return frozenset(schema.get("properties", ())) - frozenset(schema.get("required", ()))


def left_out(
    doubts: Sequence[Doubt], asked: Sequence[Scored], free: Sequence[Scored], settings: Decide
) -> tuple[frozenset[str], str]:
    """The arguments that nobody asked for, and what to tell of it.

    Args:
        doubts: what was asked about.
        asked: how probable each value is behind the question.
        free: the same where nothing is asked.
        settings: whose ``unasked`` is to be passed.
    """
    gains = map(_gain, asked, free)
    weighed = list(zip(doubts, gains, strict=True))
    out = frozenset(doubt.name for doubt, gain in weighed if gain <= settings.unasked)
    parts = [
        f"{doubt.told} {gain:+.2f}{' (left out)' if doubt.name in out else ''}"
        for doubt, gain in weighed
    ]
    return out, f"asked for: {', '.join(parts)}"


def _gain(asked: Scored, free: Scored) -> float:
    """By how much the question raises the odds of a value.

    One that is not among the likeliest behind the question was written because the schema left
    nothing else.
    """
    if asked.unseen:
        return -math.inf
    return _odds(asked.logprobs[0]) - _odds(free.logprobs[0])


def _odds(logprob: float) -> float:
    against = -math.expm1(min(logprob, 0.0))
    return _CERTAIN if against <= 0 else min(logprob - math.log(against), _CERTAIN)


def _is_default(tool: Tool, name: str, value: Any) -> bool:
    """Whether it is what would be taken anyway."""
    schema = tool.parameters["properties"][name]
    has = isinstance(schema, Mapping) and "default" in schema
    return has and to_json(schema["default"]) == to_json(value)


def _is_said(value: Any, words: str) -> bool:
    """Whether a text, or each of a short list, is in the user's words, which are folded. A number
    may be there by chance.
    """
    texts = value if isinstance(value, list) else [value]
    return 0 < len(texts) <= _MOST_TEXTS and all(_stands_in(words, text) for text in texts)


def _is_flagged(member: Member, words: str) -> bool:
    """Whether a flag is up whose name is in the user's words, each word of it."""
    names = [word.casefold() for word in _WORDS.findall(member.name)]
    return member.value is True and bool(names) and all(_stands_in(words, name) for name in names)


def _stands_in(words: str, text: Any) -> bool:
    if not isinstance(text, str) or len(text.strip()) < _SHORTEST:
        return False
    wanted = re.escape(text.strip().casefold())
    return re.search(rf"(?<!\w){wanted}(?!\w)", words) is not None
