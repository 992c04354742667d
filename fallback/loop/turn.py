"""A turn as a generator of actions: what to do next, decided from values alone.

Strategy. One loop for both modes: ask, read, then run the calls, correct what could not be read,
or accept the text as the answer. Each way back to the model has its own budget, so a turn always
ends; why is an :class:`~fallback.loop.ending.Ending`, raised where it is found out and made into
the
:class:`~fallback.messages.Turn` in one place.

What must stay true: the conversation that is kept only grows, and holds only what was accepted.
Text that could not be read is shown to the model once, in the next request, and then forgotten;
whatever else the model is told (an *aside*) stands at the end of one request and never in the
conversation.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace

from fallback.errors import BackendError, BackendProtocolError, BackendStatusError, CapabilityError
from fallback.loop.actions import (
    Action,
    Describe,
    Described,
    Generate,
    Generation,
    Interrupted,
    Outcome,
)
from fallback.loop.asides import ANSWER_NOW, EMPTY, announced, announces_call
from fallback.loop.calls import Batch, not_run
from fallback.loop.echo import COPIED, NOT_RUN, PLAIN_ANSWER, echoes_example
from fallback.loop.ending import Budget, Ending
from fallback.loop.gates import Gates
from fallback.loop.paused import Paused
from fallback.loop.plan import Ended, Plan
from fallback.loop.record import Record
from fallback.loop.repetition import Repetition
from fallback.messages import (
    Message,
    Mode,
    Problem,
    Reading,
    StopReason,
    ToolCall,
    ToolResult,
    Turn,
)
from fallback.rendering import correction_text
from fallback.rendering.text import offered
from fallback.routing import Route, choose
from fallback.templating import to_json

__all__ = ["TurnFlow"]

_CORRECTED_ONCE = frozenset({"in_reasoning", "required_call_missing"})
"""One correction is all that helps here: the model can call, it only did not."""

_WITHDRAWN: dict[StopReason, str] = {
    "repeated_call": "the same call was made again and again",
    "max_calls": "no further call was allowed (max_calls_per_turn)",
}
_COPY = "the example of the instructions came back as a call"
_EMPTY = "empty reply"


class TurnFlow:
    """One turn. :meth:`run` is the generator; the rest is what it knows.

    Args:
        plan: what is to be done.
        history: the conversation so far, without a system message.
        question: the user's message; ``None`` to go on with a turn that waited.
        paused: that turn; it has its own history.
    """

    def __init__(
        self,
        plan: Plan,
        history: Iterable[Message],
        question: Message | None,
        paused: Paused | None = None,
    ) -> None:
        self._plan, self._paused = plan, paused
        if paused is not None:
            self.record = Record.of(paused)
        elif question is not None:
            self.record = Record(history, question)
        else:
            raise TypeError("a turn begins with a question, or goes on with a paused one")
        self._tools = offered(plan.catalogue, plan.tool_choice)
        self._route: Route | None = None
        self._mode: Mode = "prompt"
        self._budget = Budget(plan.limits, executed=self.record.executed)
        self._gates = Gates(plan.policy, plan.context, paused.asked if paused else None)
        self._repetition = Repetition(plan.limits)
        self._aside = ""
        self._corrected: list[str] = []
        self._nudged: dict[str, str] = {}
        self._called = False
        self._withdrawn: StopReason | None = None
        self._why_withdrawn = ""

    def run(self) -> Generator[Action, Outcome, Ended]:
        """Yield actions, take their outcomes, and return the turn that has ended."""
        try:
            yield from self._find_route()
            if self._paused is not None:
                yield from self._resume(self._paused)
            while True:
                generation = yield from self._generate()
                if generation.error is not None:
                    self._recover(generation, generation.error)
                    continue
                self._aside = ""
                yield from self._handle(generation)
                self.record.close()
        except Ending as ending:
            return self._ended(ending)

    # Asking -------------------------------------------------------------------------------------

    def _find_route(self) -> Generator[Action, Outcome, None]:
        plan = self._plan
        if plan.mode != "auto":
            self._route = Route(mode=plan.mode, why="asked for")
        elif self._paused is not None:
            self._route = Route(mode=self._paused.mode, why="the turn was begun in it")
        elif plan.route is not None:
            self._route = plan.route
        else:
            described = yield Describe(model=plan.model)
            self._budget.hear(described)
            if isinstance(described, Interrupted):
                raise Ending(described.reason, described.detail)
            if not isinstance(described, Described) or described.info is None:
                error = getattr(described, "error", None)
                raise Ending("failed", str(error), error=error)
            try:
                self._route = choose(described.info, "auto")
            except CapabilityError as error:
                raise Ending("failed", str(error), error=error) from None
        self._mode = self._route.mode

    def _generate(self) -> Generator[Action, Outcome, Generation]:
        plan, record = self._plan, self.record
        if len(record.steps) >= plan.limits.max_steps:
            raise self._out_of_steps()
        if overdue := self._budget.overdue:
            raise overdue
        aside = self._aside
        if self._withdrawn:
            aside = ANSWER_NOW if record.anything_ran else PLAIN_ANSWER
        messages = (*record.conversation, *([Message(role="user", content=aside)] if aside else []))
        choice = "none" if self._withdrawn else plan.tool_choice
        outcome = yield Generate(
            request=plan.request(self._mode, messages, tool_choice=choice),
            catalogue=self._tools,
            # The first call of a turn fulfils ``required`` and a named tool.
            tool_choice=plan.tool_choice if not self._called else self._later_choice(),
            index=len(record.steps),
            id_prefix=f"call_{record.replies + 1}_",
            limits=plan.limits,
            seconds=self._budget.seconds,
            read_text=plan.read_text or self._mode == "prompt",
        )
        self._budget.hear(outcome)
        if isinstance(outcome, Interrupted):
            if outcome.generation is not None:
                record.open(outcome.generation, self._mode, self._why)
            raise Ending(outcome.reason, outcome.detail)
        if not isinstance(outcome, Generation):
            raise TypeError(f"Generate was answered with {type(outcome).__name__}")
        return outcome

    def _later_choice(self) -> str:
        return "none" if self._plan.tool_choice == "none" else "auto"

    @property
    def _why(self) -> str:
        return self._route.why if self._route else ""

    def _out_of_steps(self) -> Ending:
        steps = self.record.steps
        return Ending(
            "max_steps",
            f"stopped after {len(steps)} steps without an answer (max_steps)",
            answer=steps[-1].reading.text.strip() if steps else "",
        )

    # The outside world --------------------------------------------------------------------------

    def _recover(self, generation: Generation, error: BackendError) -> None:
        """Go on in prompt mode if that can help; otherwise the turn has failed."""
        if self._may_switch:
            if isinstance(error, CapabilityError) and error.missing == "tools":
                self._switch("the server says that the model does not support tools")
                return
            broken = isinstance(error, BackendStatusError) and error.status == 500
            if broken or isinstance(error, BackendProtocolError):
                self._switch("the server could not read its model's tool call")
                return
        if generation.raw:
            self.record.open(generation, self._mode, self._why)
        raise Ending("failed", str(error), error=error)

    @property
    def _may_switch(self) -> bool:
        return self._mode == "native" and self._plan.mode == "auto" and bool(self._tools)

    def _switch(self, why: str) -> None:
        self._route = Route(mode="prompt", why=why)
        self._mode = "prompt"

    def _swallowed(self, generation: Generation) -> bool:
        """Whether a server has eaten a call that it could not read: tokens, but nothing to show."""
        nothing = not generation.raw.strip() and not generation.thinking.strip()
        return (
            self._may_switch
            and nothing
            and not generation.tool_calls
            and generation.usage.completion_tokens > 0
        )

    # Deciding -----------------------------------------------------------------------------------

    def _handle(self, generation: Generation) -> Generator[Action, Outcome, None]:
        reading = generation.reading
        self.record.open(generation, self._mode, self._why)
        if generation.finish_reason == "cancelled":
            ending = self._budget.overdue or Ending("cancelled", "cancelled by the application")
            ending.answer = reading.text.strip()
            raise ending
        if self._withdrawn:
            if reading.calls:
                self.record.note("its calls were not run: tools had been withdrawn")
            raise self._last_words(self._withdrawn, reading)
        if self._swallowed(generation):
            self.record.note("the reply was empty: asked again in prompt mode")
            self._switch("the server swallowed the model's tool call")
        elif reading.calls and all(echoes_example(c, self.record.question) for c in reading.calls):
            self._refuse_copy(reading)
        elif reading.calls:
            yield from self._run(generation)
        elif reading.problems:
            self._correct(generation)
        else:
            self._accept(reading)

    def _run(self, generation: Generation) -> Generator[Action, Outcome, None]:
        reading = generation.reading
        self.record.say(reading.text, reading.calls)
        yield from self._run_calls(reading.calls, {})
        if reading.problems and self._may_correct(reading.problems):
            self._correct(generation)

    def _resume(self, paused: Paused) -> Generator[Action, Outcome, None]:
        """Take up the step whose calls waited; what its other calls returned is kept."""
        yield from self._run_calls(paused.steps[-1].calls, paused.settled)
        self.record.close()

    def _run_calls(
        self, calls: tuple[ToolCall, ...], settled: Mapping[str, ToolResult]
    ) -> Generator[Action, Outcome, None]:
        self._called = True
        batch = Batch(
            self._tools,
            self._budget,
            self._repetition,
            self._gates,
            said=self.record.question,
            tainted=self.record.tainted,
        )
        handled = yield from batch.run(calls, settled)
        self.record.keep(handled.results)
        if handled.ending:
            raise handled.ending
        if self._repetition.times <= 1:
            self._nudged.clear()  # the model has gone on; what it left out before is done with
        if handled.withdrawn:
            self._withdraw(handled.withdrawn, _WITHDRAWN.get(handled.withdrawn, ""))
        self._aside = handled.aside

    def _refuse_copy(self, reading: Reading) -> None:
        """The example came back: say so once; then take the tools away, for none was needed."""
        self.record.refuse(tuple(not_run(call, NOT_RUN) for call in reading.calls))
        if _COPY in self._nudged:
            self._withdraw("answered", _COPY)
        else:
            self._nudge(_COPY, "", COPIED)

    def _may_correct(self, problems: tuple[Problem, ...]) -> bool:
        kind = problems[0].kind
        if kind in _CORRECTED_ONCE and kind in self._corrected:
            return False
        return len(self._corrected) < self._plan.limits.max_corrections

    def _correct(self, generation: Generation) -> None:
        reading, problems = generation.reading, generation.reading.problems
        if not self._may_correct(problems):
            detail = f"the model's call could not be used: {problems[0].message}"
            raise Ending("failed", detail, answer=reading.text.strip())
        self._corrected.append(problems[0].kind)
        self.record.note("corrected: " + ", ".join(problem.kind for problem in problems))
        dialect = self._plan.dialect if self._mode == "prompt" else None
        quoted = [_with_words(problem, generation) for problem in problems]
        text = correction_text(quoted, self._tools, dialect)
        self._aside = "\n\n".join(filter(None, (self._aside, text)))

    def _accept(self, reading: Reading) -> None:
        """Take the text as the answer, unless it is plainly none; then ask once more."""
        text = reading.text.strip()
        cut = reading.finish_reason == "length"
        if not text:
            if cut and reading.reasoning:
                raise Ending("failed", "the reply reached its limit of tokens while thinking")
            if _EMPTY in self._nudged and self.record.anything_ran:
                self._withdraw("answered", "the replies to a result stayed empty")
            else:
                self._nudge(_EMPTY, text, EMPTY)
        elif self._listens and announces_call(text, self._tools.names):
            self._nudge("announced a call that it did not make", text, announced(text))
        else:
            detail = "the answer was cut off at the limit of tokens" if cut else ""
            raise Ending("answered", detail, answer=text)

    @property
    def _listens(self) -> bool:
        """Whether a call that is only promised in the text is asked for."""
        return bool(self._tools) and (self._plan.read_text or self._mode == "prompt")

    def _nudge(self, what: str, text: str, aside: str) -> None:
        if what in self._nudged:
            answer = text or next(filter(None, self._nudged.values()), "")
            reason: StopReason = "answered" if answer else "failed"
            raise Ending(reason, f"the model's reply stayed the same: {what}", answer=answer)
        self._nudged[what] = text
        self._aside = aside
        self.record.note(f"nudged: {what}")

    def _withdraw(self, reason: StopReason, why: str) -> None:
        """Take the tools away: what the model says next is the answer."""
        self._withdrawn, self._why_withdrawn = reason, why

    # Ending -------------------------------------------------------------------------------------

    def _last_words(self, reason: StopReason, reading: Reading) -> Ending:
        answer = reading.text.strip()
        detail = f"tools were withdrawn: {self._why_withdrawn}"
        if reason == "answered" and not answer:
            reason = "failed"
        return Ending(reason, detail, answer=answer)

    def _ended(self, ending: Ending) -> Ended:
        plan, record = self._plan, self.record
        record.close()
        if ending.reason in ("answered", "repeated_call", "max_calls"):
            record.say(ending.answer)
        turn = Turn(
            answer=ending.answer,
            stop_reason=ending.reason,
            steps=tuple(record.steps),
            messages=tuple(record.messages),
            detail=ending.detail,
            id=plan.turn_id,
        )
        # Of a turn that led to nothing, nothing is kept: asking again must not ask twice.
        keep = record.anything_ran or ending.reason not in ("failed", "cancelled", "deadline")
        return Ended(
            turn=turn,
            messages=record.conversation if keep else record.history,
            route=self._route,
            error=ending.error,
            paused=Paused.of(turn, self._mode, plan.model, record.history, record.proposed),
        )


def _with_words(problem: Problem, generation: Generation) -> Problem:
    """The problem with the words that it is about, so that the model sees its own mistake."""
    if problem.text:
        return problem
    words = generation.raw[slice(*problem.span)]
    if not words and generation.tool_calls:
        words = to_json([dict(call) for call in generation.tool_calls])
    return replace(problem, text=words)
