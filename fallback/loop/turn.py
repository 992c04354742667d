"""A turn as a generator of actions: what to do next, decided from values alone.

Strategy. One loop for both modes: ask, read, then run the calls, correct what could not be read,
or accept the text as the answer. Each way back to the model has its own budget, so a turn always
ends; why is an :class:`~fallback.loop.ending.Ending`, raised where it is found out and made into
the :class:`~fallback.messages.Turn` in one place.

What must stay true: the conversation that is kept only grows, and holds only what was accepted.
Text that could not be read is shown to the model once, in the next request, and then forgotten;
whatever else the model is told (an *aside*) stands at the end of one request and never in the
conversation.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace

from fallback.backend import Chunk
from fallback.dialects.names import READ
from fallback.errors import BackendError, BackendProtocolError, BackendStatusError, CapabilityError
from fallback.loop.actions import Action, Generate, Generation, Interrupted, Outcome
from fallback.loop.asides import ANSWER_NOW, ONE_CALL
from fallback.loop.asking import Asking
from fallback.loop.calls import Batch, counted
from fallback.loop.echo import PLAIN_ANSWER, echoes_example
from fallback.loop.ending import Budget, Ending, out_of_steps
from fallback.loop.finding import find_route
from fallback.loop.gates import Gates
from fallback.loop.mending import Mending, Withdrawal, last_words, withdrawal
from fallback.loop.onward import answer_of, is_over, next_place
from fallback.loop.paused import Paused
from fallback.loop.plan import Ended, Plan
from fallback.loop.record import Record
from fallback.loop.repetition import Repetition
from fallback.loop.respond import responded
from fallback.loop.spent import UNSPENT
from fallback.messages import Message, Mode, Step, ToolCall, ToolResult, Turn
from fallback.rendering.text import offered
from fallback.routing import Route

__all__ = ["TurnLoop"]


class TurnLoop:
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
        self._paused, self._spent = paused, UNSPENT if paused is None else paused.spent
        if paused is not None:
            self.record = Record.of(paused)
        elif question is not None:
            self.record = Record(history, question)
        else:
            raise TypeError("a turn begins with a question, or goes on with a paused one")
        self.record.asked_with_untrusted |= plan.tainted
        self._begin(plan)
        self._tools = offered(plan.catalogue, plan.tool_choice)
        self._route: Route | None = None
        self._mode: Mode = "prompt"
        self._budget = Budget(plan.limits, self._spent, executed=self.record.executed)
        self._gates = Gates(plan.policy, plan.context, paused.asked if paused else None)
        self._repetition = Repetition(plan.limits, self._spent)
        self._batch = self._new_batch()
        self._others: tuple[ToolResult, ...] = ()
        self._aside, self._delay = "", 0.0
        self._called = False
        self._withdrawn: Withdrawal | None = None
        self.baseline = plan.baseline

    def run(self) -> Generator[Action, Outcome, Ended]:
        """Yield actions, take their outcomes, and return the turn that has ended."""
        try:
            self._route = yield from find_route(self.plan, self._paused, self._budget)
            self._mode = self._route.mode
            self._begin(self.plan.advised(self._route))
            if self._paused is not None:
                yield from self._resume(self._paused)
            while True:
                generation = yield from self._generate()
                if generation.error is not None:
                    self._recover(generation, generation.error)
                    continue
                self._asking.heard(generation)
                self._aside = ""
                yield from self._handle(generation)
                self.record.close()
        except Ending as ending:
            return self._ended(ending)

    # Asking -------------------------------------------------------------------------------------

    def _begin(self, plan: Plan) -> None:
        """Settle what is to be done, once it is known how the model is asked."""
        self.plan = plan
        self._asking, self._mending = Asking(plan), Mending(plan, self.record, self._spent)

    def _generate(self) -> Generator[Action, Outcome, Generation]:
        """The next reply."""
        return (yield from self._reply())

    def _reply(
        self,
        tool: str = "",
        written: str = "",
        *,
        draft: bool = False,
        given: Chunk | None = None,
    ) -> Generator[Action, Outcome, Generation]:
        """One reply.

        Args:
            tool: the one that it has to call, if that is decided already.
            written: a reply of calls that is to go on with that one.
            draft: whether something of it may still be left out.
            given: the reply itself, which is only to be read.
        """
        plan, record = self.plan, self.record
        if len(record.steps) >= plan.limits.max_steps:
            raise out_of_steps(record.steps)
        if overdue := self._budget.overdue:
            raise overdue
        aside = self._aside
        if self._withdrawn:
            aside = ANSWER_NOW if record.anything_ran else PLAIN_ANSWER
        choice = self._choice
        request, note = self._asking.request(
            self._mode,
            record.conversation,
            aside,
            withdrawn=self._withdrawn is not None,
            required=choice not in ("auto", "none"),
            tool=tool,
            written=written,
        )
        if note:
            record.note(note)
        delay, self._delay = self._delay, 0.0
        left = self._budget.seconds
        self._batch = self._new_batch()
        outcome = yield Generate(
            request=request,
            catalogue=self._tools,
            tool_choice=choice,
            closing=self._asking.opening.closing,
            continues=self._asking.continues,
            dialects=READ if self._runs_on else None,
            place=next_place(record) if self._runs_on else None,
            told=len(self._asking.opening.kept(written)) if written else 0,
            delay=delay,
            early=self._batch.early if self._may_begin_early and not draft else None,
            index=len(record.steps),
            id_prefix=f"call_{record.replies + 1}_",
            limits=plan.limits,
            seconds=None if left is None else max(0.0, left - delay),
            read_text=plan.read_text or self._mode == "prompt",
            said=record.said,
            draft=draft,
            given=given,
        )
        self._budget.hear(outcome)
        if begun := self._batch.begun:
            record.note(f"begun while the reply was written: {', '.join(begun)}")
        if isinstance(outcome, Interrupted):
            if outcome.generation is not None:
                record.open(outcome.generation, self._mode, self._why)
            raise Ending(outcome.reason, outcome.detail)
        if not isinstance(outcome, Generation):
            raise TypeError(f"Generate was answered with {type(outcome).__name__}")
        return outcome

    @property
    def _choice(self) -> str:
        """What the next reply has to be. The first call of a turn fulfils ``required`` and a name.

        Where tools are withdrawn calls are still recognised, so that they do not become an answer.
        """
        choice = self.plan.tool_choice
        free = self._called or self._withdrawn is not None
        return "auto" if free and choice != "none" else choice

    @property
    def _runs_on(self) -> bool:
        """Whether replies go on behind the results of their calls."""
        return self._mode == "prompt" and self.plan.dialect.inline and len(self._tools) > 0

    @property
    def _may_begin_early(self) -> bool:
        """Whether calls of the next reply may start while it is written.

        Not in native mode: there the server's own calls replace what was read from the text.
        """
        plan = self.plan
        return plan.eager and plan.parallel and self._mode == "prompt" and not self._withdrawn

    def _new_batch(self) -> Batch:
        return Batch(
            self._tools,
            self._budget,
            self._repetition,
            self._gates,
            said=self.record.said,
            tainted=self.record.tainted,
            examples=self.plan.examples,
        )

    @property
    def _why(self) -> str:
        return self._route.why if self._route else ""

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
        elif isinstance(error, BackendStatusError) and error.status == 503:
            self._delay = self._budget.next_pause(error)
            self.record.note(f"the server was busy: asked again after {self._delay:g} s")
            return
        elif note := self._asking.another_way(error, self._mode, self.record.conversation):
            self.record.note(note)
            return
        raise Ending("failed", str(error), error=error)

    @property
    def _may_switch(self) -> bool:
        return self._mode == "native" and self.plan.mode == "auto" and bool(self._tools)

    def _switch(self, why: str) -> None:
        self._route = Route(mode="prompt", why=why)
        self._mode = "prompt"

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
            raise last_words(self._withdrawn, reading)
        if self._may_switch and generation.swallowed:
            self.record.note("the reply was empty: asked again in prompt mode")
            self._switch("the server swallowed the model's tool call")
        elif reading.calls:
            yield from self._use(generation)
        elif reading.problems:
            self._correct(generation)
        elif self._runs_on and is_over(self.record, reading):
            raise Ending("answered")
        else:
            self._tell(self._mending.accept(reading, listens=self._listens))

    def _use(self, generation: Generation) -> Generator[Action, Outcome, None]:
        reading = generation.reading
        answer = responded(reading.calls) if self.plan.respond else None
        if answer:
            raise Ending("answered", answer=answer)
        if answer is not None:
            self._tell(self._mending.accept(replace(reading, text=""), listens=False))
        elif all(echoes_example(c, self.record.said, self.plan.examples) for c in reading.calls):
            self._tell(self._mending.refuse_copy(reading))
        else:
            yield from self._run(generation)

    def _run(self, generation: Generation) -> Generator[Action, Outcome, None]:
        reading = generation.reading
        calls, others = counted(reading.calls, parallel=self.plan.parallel)
        self.record.say(reading.text, calls, exact=self._runs_on)
        yield from self._run_calls(calls, others, {})
        if reading.problems and self._mending.may_correct(reading.problems):
            self._correct(generation)

    def _resume(self, paused: Paused) -> Generator[Action, Outcome, None]:
        """Take up the step whose calls waited; what its other calls returned is kept."""
        # Which calls count was settled when they were made, whatever holds for those to come.
        calls = paused.messages[-1].tool_calls
        ids = {call.id for call in calls}
        others = tuple(r for id_, r in paused.settled.items() if id_ not in ids)
        yield from self._run_calls(calls, others, paused.settled)
        last = paused.steps[-1]
        if last.reading.problems and self._mending.may_correct(last.reading.problems):
            self._correct(Generation(raw=last.raw, reading=last.reading))
        self.record.close()

    def _run_calls(
        self,
        calls: tuple[ToolCall, ...],
        others: tuple[ToolResult, ...],
        settled: Mapping[str, ToolResult],
    ) -> Generator[Action, Outcome, None]:
        self._called, self._others = True, others
        handled = yield from self._batch.run(calls, settled)
        self.record.keep(handled.results, beside=others)
        if handled.ending:
            raise handled.ending
        if self._repetition.times <= 1:
            self._mending.went_on()
        withdrawn = handled.withdrawn or self._budget.failed(handled.results)
        if withdrawn:
            self._tell(withdrawal(withdrawn))
        if others:
            proposed = len(calls) + len(others)
            self.record.note(f"only the first of {proposed} calls counts (parallel_tool_calls)")
        self._aside = "\n\n".join(filter(None, (handled.aside, ONE_CALL if others else "")))

    @property
    def _listens(self) -> bool:
        """Whether a call that is only promised in the text is asked for."""
        return bool(self._tools) and (self.plan.read_text or self._mode == "prompt")

    def _correct(self, generation: Generation) -> None:
        forced = self._choice not in ("auto", "none")
        if forced and self._may_switch and self._mending.may_correct(generation.reading.problems):
            self.record.note("asked again in prompt mode, where a call can be begun")
            self._mode = "prompt"
        self._tell(self._mending.correct(generation, self._mode, required=forced))

    def _tell(self, what: str | Withdrawal) -> None:
        """What the model is told next, or that it has no tools any more."""
        if isinstance(what, Withdrawal):
            self._withdrawn = what
        else:
            self._aside = "\n\n".join(filter(None, (self._aside, what)))

    # Ending -------------------------------------------------------------------------------------

    def _ended(self, ending: Ending) -> Ended:
        plan, record = self.plan, self.record
        record.close()
        said = ending.answer
        if self._runs_on and ending.reason != "approval_required":
            ending.answer = answer_of(record, ending)
        if ending.reason in ("answered", "repeated_call", "max_calls"):
            record.say(said)
        turn = Turn(
            answer=ending.final_answer,
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
            window=self._asking.window,
            baseline=self.baseline,
            error=ending.error,
            paused=self._kept(turn.steps) if turn.waiting else None,
        )

    def so_far(self) -> Paused:
        """The turn while calls are run, so that whoever goes on with it knows all but those."""
        return self._kept(self.record.so_far((*self._batch.known, *self._others)))

    def _kept(self, steps: tuple[Step, ...]) -> Paused:
        plan, record = self.plan, self.record
        return Paused(
            turn_id=plan.turn_id,
            model=plan.model,
            mode=self._mode,
            history=record.history,
            messages=record.proposed,
            steps=steps,
            tainted=record.asked_with_untrusted,
            given=self._paused.given if self._paused else (),
            spent=self._mending.spent(self._budget, self._repetition),
        )
