"""A turn that begins in two stages: which tool, or none; then its arguments, or an answer in words.

In the first stage the model writes nothing: only probabilities are looked at, of beginning a call
and of the tools' names (:mod:`fallback.loop.deciding`). A tool that was decided on has its call
begun for the model, held to its own schema where the server can do that, and loses the arguments
that nobody asked for (:mod:`fallback.loop.unasked`); where none was, no tool is offered. Behind a
call that is complete it is decided again, between another one and the end of the reply.

The reply that comes of it is read like any other and passes the same gates; a call that is not
valid is corrected as ever, and the correction is answered freely.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace

from fallback.backend import GenerationRequest
from fallback.errors import CapabilityError
from fallback.loop.actions import Action, Generation, Interrupted, Outcome, Score, Scored
from fallback.loop.begun import another_may_follow
from fallback.loop.deciding import (
    CONTENT_FREE,
    Baseline,
    Choices,
    Decide,
    Verdict,
    another,
    beginning,
    decided,
    decided_again,
    first,
    may_follow,
)
from fallback.loop.ending import Ending
from fallback.loop.mending import Withdrawal
from fallback.loop.repetition import copies
from fallback.loop.turn import TurnLoop
from fallback.loop.unasked import Doubt, Draft, as_given, drafts, left_out
from fallback.messages import Message
from fallback.routing import Route
from fallback.tools import Tool

__all__ = ["DecidedLoop"]


class DecidedLoop(TurnLoop):
    """:class:`~fallback.loop.turn.TurnLoop`, with a decision before the reply to a question.

    Only where the plan says so, or what was measured of the model.
    """

    _able = True
    """Whether the server can do it, as far as is known."""

    @property
    def _settings(self) -> Decide:
        return self.plan.decide or Decide()

    def _generate(self) -> Generator[Action, Outcome, Generation]:
        if not self._undecided:
            return (yield from self._reply())
        try:
            verdict = yield from self._decide()
        except _Refused as refused:
            return refused.generation
        except _Unable:
            self._go_undecided()
            return (yield from self._reply())
        if verdict.tool:
            generation = yield from self._call(verdict.tool)
            called = [call.name for call in generation.reading.calls]
            if called and called[0] != verdict.tool:  # the server does not hold it to a schema
                self.record.note(f"{verdict.tool} was decided on, and {called[0]} was called")
            return (yield from self._further(generation))
        self._tell(Withdrawal("answered", ""))
        return (yield from self._reply())

    @property
    def _undecided(self) -> bool:
        """Whether the next reply may be a call or not; what was asked for is not decided on.

        Behind a result the question speaks for its tool as before, though it has been called: what
        is left to do only the model can say, so it is not decided on either.
        """
        wanted = self.plan.decide is not None and self._able
        if not wanted or self.record.conversation[-1].role != "user":
            return False
        free = not self._withdrawn and not self._aside and self._choice == "auto"
        blocks = self._mode == "prompt" and not self.plan.dialect.inline
        return free and blocks and len(self._tools) > 0

    def _go_undecided(self) -> None:
        """Go the best of the ways that do not decide first, if one was measured."""
        route = self._route
        otherwise = None if route is None or route.advice is None else route.advice.otherwise
        if otherwise is not None:
            self._route = Route(mode=otherwise.mode, why=otherwise.why, advice=otherwise)
            self._mode = otherwise.mode
            self._begin(replace(self.plan, decide=None).advised(self._route))

    def _further(self, generation: Generation) -> Generator[Action, Outcome, Generation]:
        """Let the reply go on as long as another call is decided on."""
        while self._may_go_on(generation):
            try:
                verdict = yield from self._decide_again(generation)
            except (_Refused, _Unable):
                break  # what there is will do
            if not verdict.tool:
                break
            longer = yield from self._call(verdict.tool, generation.raw)
            if longer.error is not None:
                break
            self.record.spend(generation.usage)
            calls = longer.reading.calls
            if calls and calls[-1].id in copies(calls):
                self.record.note("the same call once more was left out")
                return replace(generation, usage=longer.usage)
            generation = longer
        return generation

    def _call(self, name: str, written: str = "") -> Generator[Action, Outcome, Generation]:
        """A call of a tool, behind what was written, without arguments that nobody asked for."""
        tool = self._tools.get(name)
        if tool is None or not drafts(tool, self._settings):
            return (yield from self._reply(name, written))
        generation = yield from self._reply(name, written, draft=True)
        if generation.error is not None or generation.finish_reason == "cancelled":
            return generation
        opened = self._asking.opening
        before = opened.behind(written) if written else opened.prefill
        draft = Draft.of(generation, before, opened, self.plan.dialect)
        given = as_given(generation, before)
        if draft is not None:
            given = draft.without((yield from self._unasked(draft, tool)))
        return (yield from self._reply(name, written, given=given))

    def _unasked(self, draft: Draft, tool: Tool) -> Generator[Action, Outcome, frozenset[str]]:
        """The arguments of a call that nobody asked for."""
        doubts = draft.doubts(tool, self.record.said)
        if not doubts:
            return frozenset()
        try:
            asked = yield from self._probable(doubts, self._request())
            free = yield from self._probable(doubts, self._nothing())
        except (_Refused, _Unable):
            return frozenset()  # what there is will do
        names, told = left_out(doubts, asked, free, self._settings)
        self.record.note(told)
        return names

    def _probable(
        self, doubts: Iterable[Doubt], request: GenerationRequest
    ) -> Generator[Action, Outcome, list[Scored]]:
        found: list[Scored] = []
        for doubt in doubts:
            found += [(yield from self._scored(request, doubt.choices))]
        return found

    def _may_go_on(self, generation: Generation) -> bool:
        opened, most = self._asking.opening, self._settings.most
        return self.plan.parallel and another_may_follow(generation, opened, most)

    # The decisions ------------------------------------------------------------------------------

    def _decide(self) -> Generator[Action, Outcome, Verdict]:
        """Which tool the reply begins with.

        Raises:
            _Refused: the server does not say now; the turn may know what to do about it.
            _Unable: it never does, and only what was measured elsewhere asks for it.
        """
        names = self._tools.names
        choices = first(names, self.plan.dialect)
        free = yield from self._when_nothing_is_asked(choices)
        request = self._request()
        begun = yield from self._scored(request, beginning(self.plan.dialect))
        asked = yield from self._scored(request, choices)
        verdict, told = decided(names, self._settings, begun=begun, asked=asked, free=free)
        self.record.note(told)
        return verdict

    def _decide_again(self, generation: Generation) -> Generator[Action, Outcome, Verdict]:
        """Whether another call follows, and of which tool."""
        names, opened = self._tools.names, self._asking.opening
        choices = another(names, self.plan.dialect, generation.raw, opened)
        asked = yield from self._scored(self._request(), choices)
        self._asking.opening = opened
        free = (yield from self._scored(self._nothing(), choices)) if may_follow(asked) else None
        verdict, told = decided_again(names, self._settings, asked, free)
        self.record.note(told)
        return verdict

    def _when_nothing_is_asked(
        self, choices: Choices
    ) -> Generator[Action, Outcome, tuple[float, ...]]:
        """What the names have of themselves; found out once for a catalogue."""
        known = self.baseline
        if known is None or known.catalogue is not self.plan.catalogue:
            scored = yield from self._scored(self._nothing(), choices)
            known = self.baseline = Baseline(self.plan.catalogue, scored.logprobs)
        return known.logprobs

    def _request(self) -> GenerationRequest:
        """The request for a reply that nothing is decided of."""
        request, note = self._asking.request(
            self._mode, self.record.conversation, "", withdrawn=False, required=False
        )
        if note:
            self.record.note(note)
        return request

    def _nothing(self) -> GenerationRequest:
        """The same of a question that asks for nothing."""
        nothing = (Message(role="user", content=CONTENT_FREE),)
        return self.plan.request("prompt", nothing, tool_choice=self._choice)

    def _scored(
        self, request: GenerationRequest, choices: Choices
    ) -> Generator[Action, Outcome, Scored]:
        delay, self._delay = self._delay, 0.0
        request = replace(request, prefill=choices.prefill)
        outcome = yield Score(
            request=request, values=choices.values, whole=choices.whole, delay=delay
        )
        self._budget.hear(outcome)
        if isinstance(outcome, Interrupted):
            raise self._budget.overdue or Ending(outcome.reason, outcome.detail)
        if not isinstance(outcome, Scored):
            raise TypeError(f"Score was answered with {type(outcome).__name__}")
        self.record.spend(outcome.usage)
        if isinstance(outcome.error, CapabilityError):
            if "decide" in self.plan.own:
                raise Ending("failed", str(outcome.error), error=outcome.error)
            self._able = False
            self.record.note(f"not decided: {outcome.error}")
            raise _Unable
        if outcome.error is not None:
            raise _Refused(Generation(finish_reason="error", error=outcome.error))
        return outcome


@dataclass(eq=False)
class _Refused(Exception):  # not an error; it only travels like one
    """The server did not score; holds what the turn takes for a reply that did not come."""

    generation: Generation


class _Unable(Exception):  # not an error; it only travels like one
    """The server cannot score."""
