"""A reply that cannot be used as it is: what the model is told, once, before it is taken as it is.

Each kind of slip has one way back. Malformed calls are corrected, a few times in all; an empty
reply, a call that was only announced and the example of the instructions are remarked on once.
Whoever slips again is taken at his word: the text is the answer, flagged by the turn's ``detail``;
where results are there already, tools are withdrawn and the answer is asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from fallback.loop.actions import Generation
from fallback.loop.asides import EMPTY, EMPTY_BEHIND_RESULTS, announced, announces_call
from fallback.loop.calls import not_run
from fallback.loop.echo import COPIED, NOT_RUN
from fallback.loop.ending import Budget, Ending
from fallback.loop.plan import Plan
from fallback.loop.record import Record
from fallback.loop.repetition import Repetition
from fallback.loop.spent import Spent
from fallback.messages import Mode, Problem, Reading, StopReason
from fallback.rendering import correction_text
from fallback.rendering.text import offered
from fallback.templating import to_json

__all__ = ["Mending", "Withdrawal", "last_words", "withdrawal"]

_CORRECTED_ONCE = frozenset({"in_reasoning", "required_call_missing", "wrong_tool", "unknown_tool"})
"""One correction is all that helps here: the model can call, it only did not, or not that tool."""

_COPY = "the example of the instructions came back as a call"
_EMPTY = "empty reply"
_ANNOUNCED = "announced a call that it did not make"


class Withdrawal(NamedTuple):
    """Tools are taken away: what the model says next is the answer, and the turn ends so.

    ``why`` is for the turn's ``detail``; empty where it is nothing to remark on.
    """

    reason: StopReason
    why: str


class Mending:
    """The ways back to the model of one turn. Each method returns what the model is told next.

    Args:
        plan: of the turn.
        record: of the turn; every way back is noted there.
        spent: the ways back that were taken before the turn waited.
    """

    def __init__(self, plan: Plan, record: Record, spent: Spent) -> None:
        self._plan, self._record = plan, record
        self._tools = offered(plan.catalogue, plan.tool_choice)
        self.corrected = list(spent.corrected)
        self.nudged = dict(spent.nudged)

    def went_on(self) -> None:
        """The model has done something new; what it left out before is done with."""
        self.nudged.clear()

    def may_correct(self, problems: tuple[Problem, ...]) -> bool:
        """Whether another correction is left for these problems."""
        first = problems[0]
        if first.kind in _CORRECTED_ONCE and any(p.kind == first.kind for p in self.corrected):
            return False
        if any((p.tool, p.message) == (first.tool, first.message) for p in self.corrected):
            return False  # the same mistake again: saying it a second time mends nothing
        return len(self.corrected) < self._plan.limits.max_corrections

    def correct(self, generation: Generation, mode: Mode, *, required: bool) -> str | Withdrawal:
        """Tell what was wrong with a call.

        Args:
            generation: the reply.
            mode: how calls are made.
            required: whether the next reply has to be a call.

        Raises:
            Ending: that has been told often enough, and there is no result to answer from.
        """
        reading, problems = generation.reading, generation.reading.problems
        if not self.may_correct(problems):
            detail = f"the model's call could not be used: {problems[0].message}"
            if self._record.anything_ran:
                return Withdrawal("answered", detail)
            raise Ending("failed", detail, answer=reading.text.strip())
        self.corrected.append(problems[0])
        self._record.note("corrected: " + ", ".join(problem.kind for problem in problems))
        dialect = self._plan.dialect if mode == "prompt" else None
        quoted = [_with_words(problem, generation) for problem in problems]
        return correction_text(quoted, self._tools, dialect, required=required)

    def refuse_copy(self, reading: Reading) -> str | Withdrawal:
        """The example came back: say so once; then take the tools away, for none was needed."""
        self._record.refuse(tuple(not_run(call, NOT_RUN) for call in reading.calls))
        if _COPY in self.nudged:
            return Withdrawal("answered", _COPY)
        return self._nudge(_COPY, "", COPIED)

    def accept(self, reading: Reading, *, listens: bool) -> str | Withdrawal:
        """Take the text as the answer, unless it is plainly none; then ask once more.

        Args:
            reading: without calls and problems.
            listens: whether a call that is only promised in the text is asked for.

        Raises:
            Ending: with the answer.
        """
        text = reading.text.strip()
        cut = reading.finish_reason == "length"
        if not text:
            if cut and reading.reasoning:
                raise Ending("failed", "the reply reached its limit of tokens while thinking")
            if _EMPTY in self.nudged and self._record.anything_ran:
                return Withdrawal("answered", "the replies to a result stayed empty")
            told = EMPTY_BEHIND_RESULTS if self._record.anything_ran else EMPTY
            return self._nudge(_EMPTY, text, told)
        if listens and announces_call(text, self._tools.names):
            return self._nudge(_ANNOUNCED, text, announced(text))
        detail = "the answer was cut off at the limit of tokens" if cut else ""
        untouched = self._plan.tool_choice == "none"
        raise Ending("answered", detail, answer=reading.text if untouched else text)

    def spent(self, budget: Budget, repetition: Repetition) -> Spent:
        """What the turn has used up, by this and by its other budgets."""
        return Spent(
            pauses=budget.pauses,
            failures=budget.failures,
            corrected=tuple(self.corrected),
            nudged=dict(self.nudged),
            repeated=repetition.times,
            last=repetition.last,
        )

    def _nudge(self, what: str, text: str, aside: str) -> str:
        if what in self.nudged:
            answer = text or next(filter(None, self.nudged.values()), "")
            reason: StopReason = "answered" if answer else "failed"
            raise Ending(reason, f"the model's reply stayed the same: {what}", answer=answer)
        self.nudged[what] = text
        self._record.note(f"nudged: {what}")
        return aside


_WITHDRAWN: dict[StopReason, str] = {
    "repeated_call": "the same call was made again and again",
    "max_calls": "no further call was allowed (max_calls_per_turn)",
    "answered": "every call of several replies failed (max_tool_errors)",
}


def withdrawal(reason: StopReason) -> Withdrawal:
    """Tools are taken away because of what has come of their calls."""
    return Withdrawal(reason, _WITHDRAWN[reason])


def last_words(withdrawn: Withdrawal, reading: Reading) -> Ending:
    """The ending with what was said once no tool could be called any more."""
    answer = reading.text.strip()
    reason: StopReason = withdrawn.reason
    if reason == "answered" and not answer:
        reason = "failed"
    detail = f"tools were withdrawn: {withdrawn.why}" if withdrawn.why else ""
    return Ending(reason, detail, answer=answer)


def _with_words(problem: Problem, generation: Generation) -> Problem:
    """The problem with the words that it is about, so that the model sees its own mistake."""
    if problem.text:
        return problem
    words = generation.raw[slice(*problem.span)]
    if not words and generation.tool_calls:
        words = to_json([dict(call) for call in generation.tool_calls])
    return replace(problem, text=words)
