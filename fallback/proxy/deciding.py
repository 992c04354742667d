"""What is decided of one answer before it is written: which tool it calls, or none.

The same two stages as in a session (:mod:`fallback.loop.decided`), for replies that go out while
they are written. No I/O here: the questions are yielded, and answered by :mod:`..answer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import takewhile
from typing import NamedTuple

from fallback.backend import Chunk, GenerationRequest, Scores
from fallback.catalogue import Catalogue
from fallback.dialects.record import Dialect
from fallback.limits import Limits
from fallback.loop import Decide, Generate, Generation
from fallback.loop.begun import another_may_follow, begun_call
from fallback.loop.deciding import (
    CONTENT_FREE,
    Choices,
    another,
    beginning,
    decided,
    decided_again,
    first,
    may_follow,
)
from fallback.loop.repetition import copies
from fallback.loop.unasked import Draft, as_given, drafts, left_out
from fallback.messages import Message, ToolCall
from fallback.proxy.ask import Ask
from fallback.proxy.kept import Kept
from fallback.proxy.settings import ModelSettings
from fallback.rendering.opening import Opening
from fallback.routing import Route

__all__ = ["Baselines", "Deciding", "Questions", "decide_of", "nothing_asked"]


class Question(NamedTuple):
    """How probable it is that a reply goes on with each of the values.

    ``whole`` is that of :class:`fallback.backend.Scorer`.
    """

    request: GenerationRequest
    values: tuple[str, ...]
    whole: bool = False


Questions = Generator[Question, Scores, None]

Baselines = Kept[bytes, tuple[float, ...]]
"""What the names of tools have when nothing is asked, of the prompts that were seen last."""

_NOTHING = Opening("")

_DIGITS = re.compile(r"\d+")
"""Many clients tell the model the time. What names have of themselves does not depend on it."""


def decide_of(settings: ModelSettings, route: Route) -> Decide | None:
    """How it is decided, if the settings or what was measured say so."""
    margin = route.advice.decide if route.advice is not None else None
    wanted = settings.decide if settings.decide is not None else margin is not None
    if not wanted:
        return None
    return Decide() if margin is None else Decide(margin=margin)


def nothing_asked(ask: Ask) -> Ask:
    """The same, of a question that asks for nothing, behind the same rules."""
    rules = takewhile(lambda message: message.role == "system", ask.messages)
    return replace(ask, messages=(*rules, Message(role="user", content=CONTENT_FREE)))


def _question(request: GenerationRequest, choices: Choices) -> Question:
    return Question(replace(request, prefill=choices.prefill), choices.values, choices.whole)


def _digest(*parts: str) -> bytes:
    """What stands for a prompt, which may be long."""
    return sha256(json.dumps(parts).encode()).digest()


@dataclass(slots=True)
class Deciding:
    """The decisions of one answer.

    Attributes:
        settings: how it is decided.
        tools: those on offer.
        dialect: how calls are written.
        limits: of one reply.
        notes: what was decided, for the log.
    """

    settings: Decide
    tools: Catalogue
    dialect: Dialect
    limits: Limits
    notes: list[str] = field(default_factory=list)
    _tool: str = ""
    _written: str = ""
    _opened: Opening = _NOTHING
    _made: tuple[ToolCall, ...] = ()
    _drafted: Generate | None = None
    _draft: Draft | None = None
    _given: Chunk | None = None

    @property
    def doubted(self) -> bool:
        """Whether a call is drafted of which something may be left out."""
        return self._draft is not None

    @property
    def begins(self) -> bool:
        """Whether the next reply is begun with a call, or is one that was drafted."""
        return bool(self._tool) or self._given is not None

    def first(
        self, asked: GenerationRequest, nothing: GenerationRequest, model: str, known: Baselines
    ) -> Questions:
        """Decide on the tool that the answer calls first, if any: see :attr:`begins`.

        Args:
            asked: the request for the reply.
            nothing: the same, of a question that asks for nothing.
            model: its name and digest.
            known: what was found out for earlier answers.
        """
        names = self.tools.names
        choices = first(names, self.dialect)
        prompt = (_DIGITS.sub("0", message.content) for message in nothing.messages)
        key = _digest(model, self.dialect.name, *names, *prompt)
        free = known.get(key)
        if free is None:
            free = (yield _question(nothing, choices)).logprobs
            known.keep(key, free)
        begun = yield _question(asked, beginning(self.dialect))
        given = yield _question(asked, choices)
        verdict, told = decided(names, self.settings, begun=begun, asked=given, free=free)
        self._begin(verdict.tool, told)

    def again(self, asked: GenerationRequest, nothing: GenerationRequest) -> Questions:
        """Decide on another call, behind those of the last reply.

        Args:
            asked, nothing: as for :meth:`first`.
        """
        names = self.tools.names
        choices = another(names, self.dialect, self._written, self._opened)
        given = yield _question(asked, choices)
        free = (yield _question(nothing, choices)) if may_follow(given) else None
        verdict, told = decided_again(names, self.settings, given, free)
        self._begin(verdict.tool, told)

    def unasked(self, asked: GenerationRequest, nothing: GenerationRequest, said: str) -> Questions:
        """Leave out of the draft what nobody asked for.

        Args:
            asked, nothing: as for :meth:`first`.
            said: the user's words.
        """
        draft, self._draft = self._draft, None
        tool = None if draft is None else self.tools.get(draft.name)
        doubts = () if draft is None or tool is None else draft.doubts(tool, said)
        if draft is None or not doubts:
            return
        given: list[Scores] = []
        free: list[Scores] = []
        for doubt in doubts:
            given += [(yield _question(asked, doubt.choices))]
        for doubt in doubts:
            free += [(yield _question(nothing, doubt.choices))]
        names, told = left_out(doubts, given, free, self.settings)
        self.notes.append(told)
        self._given = draft.without(names)

    def _begin(self, tool: str, told: str) -> None:
        self.notes.append(told)
        self._tool = tool

    def begun(self, action: Generate) -> Generate:
        """The request for the reply, with its call begun if one was decided on."""
        if self._given is not None:
            given, self._given = self._given, None
            return replace(self._drafted or action, draft=False, given=given)
        if not self._tool:
            self._opened, self._written, self._made = _NOTHING, "", ()
            return action
        tool = self.tools.get(self._tool)
        opened, schema = begun_call(self.tools, self.dialect, self._tool, self.limits)
        written = self._written
        self._opened, self._tool = opened, ""
        prefill = opened.behind(written) if written else opened.prefill
        self._drafted = replace(
            action,
            request=replace(action.request, prefill=prefill, format=schema),
            closing=opened.closing,
            told=len(opened.kept(written)) if written else 0,
            draft=tool is not None and drafts(tool, self.settings),
        )
        return self._drafted

    def drafted(self, generation: Generation) -> bool:
        """Take a draft; whether it is to be asked about before it is read (:meth:`unasked`)."""
        before = self._drafted.request.prefill if self._drafted is not None else ""
        self._given = as_given(generation, before)
        self._draft = Draft.of(generation, before, self._opened, self.dialect)
        return self._draft is not None

    def heard(self, generation: Generation) -> bool:
        """Whether it is to be decided on another call, behind those of this reply."""
        calls = generation.reading.calls
        more = len(calls) > len(self._made) and not self.made_before(calls[-1])
        self._made, self._written = calls, generation.raw
        return more and another_may_follow(generation, self._opened, self.settings.most)

    def made_before(self, call: ToolCall) -> bool:
        """Whether a reply that goes on makes a call that it has made already."""
        return call.id in copies((*self._made, call))

    @property
    def began(self) -> bool:
        """Whether the reply under way was begun with a call."""
        return self._opened is not _NOTHING

    @property
    def told(self) -> int:
        """Calls of the reply that were heard before it went on."""
        return len(self._made)
