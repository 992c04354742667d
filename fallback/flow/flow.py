"""Running a flow: one turn for each step, each in a conversation of its own.

A step is not told what was said before it; it is given values. They are what tools returned, not
what the model made of it: a number misread in one step cannot become the truth of the next.
The order of things is written once, as a generator; the two drivers only make the turns.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fallback.errors import FlowError
from fallback.execution.content import to_text
from fallback.execution.shown import shown
from fallback.flow.record import FlowRun, Step, StepRun
from fallback.flow.reference import NAME, Reference, filled, references, resolved
from fallback.flow.turns import broken_off, outcome
from fallback.limits import Limits
from fallback.messages import Turn
from fallback.rendering.fences import neutralise
from fallback.session import AsyncSession, Session
from fallback.session.base import SessionBase

__all__ = ["Flow"]

_HINT_CHARS = 300

OnStep = Callable[[FlowRun], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """A turn that is to be made: a question, or the id of a turn that waits."""

    session: Any
    question: str
    resume: str = ""


class Flow:
    """Instructions that build on each other.

    ::

        flow = Flow([
            Step(name="find", ask="Find the order of ${customer}.", tools=("find_order",)),
            Step(name="price", ask="What does order ${find.id} cost?", tools=("get_price",)),
        ], inputs=["customer"])
        run = flow.run(session, inputs={"customer": "Ada"})

    Args:
        steps: in their order.
        inputs: names of the values that a run has to be given.

    Raises:
        FlowError: names the step and what is wrong with it.
    """

    def __init__(self, steps: Iterable[Step], *, inputs: Iterable[str] = ()) -> None:
        self.steps = tuple(steps)
        self.inputs = tuple(inputs)
        if not self.steps:
            raise FlowError("a flow has at least one step")
        known = list(self.inputs)
        for name in self.inputs:
            _check_name(name, "input")
        for number, step in enumerate(self.steps, 1):
            try:
                _check(step, known)
            except FlowError as error:
                raise FlowError(f"step {number} {step.name!r}: {error}") from None
            known.append(step.name)

    @property
    def fingerprint(self) -> str:
        """A hash of all that the steps say; a record fits the flow that made it."""
        told = json.dumps([_plain_step(step) for step in self.steps], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    def run(
        self,
        session: Session,
        *,
        inputs: Mapping[str, Any] | None = None,
        record: FlowRun | None = None,
        again: bool = False,
        on_step: OnStep | None = None,
    ) -> FlowRun:
        """Make one turn for each step that is not done yet.

        Args:
            session: its model, tools, policy and ledger are used, its conversation is not.
            inputs: values by name, as JSON has them.
            record: of an earlier run, to be taken up where it ended.
            again: whether a step that has changed something and then failed may be asked again.
            on_step: told the run so far after each step, so that it can be kept; of a step that may
                change something also before.

        Raises:
            FlowError: an input is missing, a reference leads nowhere, or the record does not fit.
            BackendError: the model server could not do what was asked; ``on_step`` has heard of
                every step before.
        """
        play = self._play(session, inputs, record, again, on_step)
        try:
            ask = next(play)
            while True:
                fork = ask.session
                try:
                    turn = fork.resume(ask.resume) if ask.resume else fork.run(ask.question)
                except BaseException as error:
                    play.throw(error)
                    raise
                ask = play.send(turn)
        except StopIteration as stop:
            ended: FlowRun = stop.value
            return ended

    async def arun(
        self,
        session: AsyncSession,
        *,
        inputs: Mapping[str, Any] | None = None,
        record: FlowRun | None = None,
        again: bool = False,
        on_step: OnStep | None = None,
    ) -> FlowRun:
        """:meth:`run` for asyncio."""
        play = self._play(session, inputs, record, again, on_step)
        try:
            ask = next(play)
            while True:
                fork = ask.session
                made = fork.resume(ask.resume) if ask.resume else fork.run(ask.question)
                try:
                    turn = await made
                except BaseException as error:
                    play.throw(error)
                    raise
                ask = play.send(turn)
        except StopIteration as stop:
            ended: FlowRun = stop.value
            return ended

    def _play(
        self,
        session: SessionBase,
        inputs: Mapping[str, Any] | None,
        record: FlowRun | None,
        again: bool,
        on_step: OnStep | None,
    ) -> Generator[_Ask, Turn, FlowRun]:
        run, last = self._begun(inputs, record, again)
        self._check_tools(session)

        def tell(made: StepRun) -> FlowRun:
            told = replace(run, steps=(*run.steps, made))
            if on_step is not None:
                on_step(told)
            return told

        for step in self.steps[len(run.steps) :]:
            made = yield from self._step(session, run, step, last, tell)
            last = None
            run = tell(made)
            if made.status != "done":
                break
        return run

    def _begun(
        self, inputs: Mapping[str, Any] | None, record: FlowRun | None, again: bool
    ) -> tuple[FlowRun, StepRun | None]:
        """The run to go on with, and how its open step had gone."""
        if record is None:
            given = {name: _plain(value) for name, value in (inputs or {}).items()}
            if missing := [name for name in self.inputs if name not in given]:
                raise FlowError(f"the flow needs the input {missing[0]!r}")
            if unknown := sorted(given.keys() - set(self.inputs)):
                raise FlowError(f"the flow has no input {unknown[0]!r}")
            return FlowRun(flow=self.fingerprint, inputs=given, total=len(self.steps)), None
        if record.flow != self.fingerprint:
            raise FlowError("the record is of another flow, or the steps have changed since")
        if inputs and {n: _plain(v) for n, v in inputs.items()} != record.inputs:
            raise FlowError("the record was begun with other inputs; leave them out to resume it")
        last = record.steps[-1] if record.steps else None
        if last is None or last.status == "done":
            return record, None
        if last.status == "begun" and not again:
            raise FlowError(
                f"step {last.name!r} was broken off, and nobody knows what it has changed; look"
                " what has happened, and say that it may be asked again (again=True, --again)"
            )
        if last.status == "failed" and last.changed and not again:
            raise FlowError(
                f"step {last.name!r} failed after {', '.join(last.changed)} had run; look what has"
                " happened, and say that it may be asked again (again=True, --again)"
            )
        return replace(record, steps=record.steps[:-1]), last

    def _check_tools(self, session: SessionBase) -> None:
        # A session of its own, as each step has it: so tools of MCP servers are there already.
        catalogue = session.fork().catalogue
        for number, step in enumerate(self.steps, 1):
            for name in (*(step.tools or ()), *filter(None, (step.of,))):
                if name not in catalogue:
                    known = ", ".join(catalogue.names) or "none at all"
                    lacks = f"no tool is called {name!r}; there are {known}"
                    raise FlowError(f"step {number} {step.name!r}: {lacks}")

    def _step(
        self,
        session: SessionBase,
        run: FlowRun,
        step: Step,
        last: StepRun | None,
        tell: Callable[[StepRun], object],
    ) -> Generator[_Ask, Turn, StepRun]:
        """Ask, and ask again as long as that can help and do no harm."""
        values = {**run.inputs, **{done.name: done.value for done in run.steps}}
        foreign = {done.name for done in run.steps if done.untrusted}
        used = {reference.name for reference in references(step.ask)}
        tainted = bool(used & foreign)
        fork = session.fork(
            tools=step.tools,
            tool_choice=_choice(step),
            limits=_limits(session, step),
            tainted=tainted,
        )

        def write(reference: Reference) -> str:
            foreign_text = reference.name in foreign
            limit, masks = fork.limits.result_chars, fork.masks
            text = to_text(resolved(reference, values))
            view = shown(text, limit=limit, masks=masks, untrusted=foreign_text)
            return neutralise(view.content)

        question = filled(step.ask, write)
        resume = last.turn if last is not None and last.status == "waiting" else ""
        made = StepRun(name=step.name, status="begun", question=question)
        if not resume and any(fork.policy.writes(tool) for tool in fork.catalogue):
            tell(made)  # before anything can happen: nothing may be heard of this process any more
        for number in range(1, step.tries + 1):
            asked = question if number == 1 else f"{question}\n\n{_hint(made)}"
            try:
                turn = yield _Ask(session=fork, question=asked, resume=resume)
            except BaseException as error:
                if fork.turn is not None and not resume:
                    tell(broken_off(step, question, fork.turn, fork, error, tainted=tainted))
                raise
            made = outcome(step, question, turn, fork, tries=number, tainted=tainted)
            if made.status != "failed" or made.changed:
                break
            fork, resume = fork.fork(tainted=tainted), ""
        return made


def _hint(failed: StepRun) -> str:
    """What is said when a step is asked anew; the same words would get the same reply."""
    return f"The last try came to nothing: {neutralise(failed.detail[:_HINT_CHARS])}"


def _check(step: Step, known: list[str]) -> None:
    _check_name(step.name, "step")
    if step.name in known:
        raise FlowError("the name is taken by an input or an earlier step")
    if not step.ask.strip():
        raise FlowError("there is nothing to ask")
    if step.tries < 1:
        raise FlowError("tries has to be at least 1")
    if step.takes not in ("last", "all", "answer"):
        raise FlowError(f"takes {step.takes!r} is none of last, all, answer")
    if step.of and step.tools is not None and step.of not in step.tools:
        raise FlowError(f"results of {step.of!r} are wanted, but it is not among the tools")
    for reference in references(step.ask):
        if reference.name not in known:
            raise FlowError(
                f"${{{reference.text}}} is neither an input nor an earlier step;"
                f" there are {', '.join(known) or 'none'}"
            )


def _check_name(name: str, what: str) -> None:
    if not NAME.match(name):
        raise FlowError(f"{name!r} is no name for {'an' if what == 'input' else 'a'} {what}")


def _choice(step: Step) -> str:
    if step.tool_choice is not None:
        return step.tool_choice
    return "auto" if step.takes == "answer" else "required"


def _limits(session: SessionBase, step: Step) -> Limits:
    wanted: dict[str, Any] = {
        "max_steps": step.max_steps,
        "max_calls_per_turn": step.max_calls,
        "turn_seconds": step.seconds,
    }
    return replace(session.limits, **{k: v for k, v in wanted.items() if v is not None})


def _plain(value: Any) -> Any:
    """A value as JSON has it, so that a run that is resumed goes on with the same."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise FlowError(f"an input is not JSON: {error}") from None


def _plain_step(step: Step) -> list[Any]:
    fields = (step.name, step.ask, step.takes, step.of, step.tool_choice)
    return [*fields, list(step.tools) if step.tools is not None else None]
