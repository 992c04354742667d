"""One answer in the making: what to ask the model next, and what of its reply may go out.

Strategy. A reply is read while it comes. Prose goes out at once, a call when it is complete and
validated, and after the first batch of calls the model is not heard any further. A reply whose call
could not be read is asked for once more, with a correction that the client never sees. No I/O here;
:mod:`fallback.proxy.answer` drives it.

What must stay true: nothing that went out is taken back or said twice; every answer ends with one
``Finished`` or ``Failed``; once a call is out, the answer ends as one with calls, whatever happens
behind, because several clients are already running it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from fallback.backend import ModelInfo
from fallback.catalogue import Catalogue
from fallback.errors import (
    BackendError,
    BackendProtocolError,
    BackendStatusError,
    CapabilityError,
)
from fallback.limits import Limits
from fallback.loop import Decide, Generate, Generation
from fallback.loop.asides import EMPTY
from fallback.loop.echo import COPIED, echoes_example
from fallback.messages import Message, Problem, Reading, ToolCall
from fallback.parsing import events as parsed
from fallback.proxy.ask import Ask
from fallback.proxy.deciding import Baselines, Deciding, Questions, decide_of, nothing_asked
from fallback.proxy.events import Event, Failed, Finished, TextDelta
from fallback.proxy.failures import failure_of, no_call
from fallback.proxy.leftover import leftover
from fallback.proxy.outlet import Outlet
from fallback.proxy.record import Record
from fallback.proxy.render import Rendered, fits_format, rendered
from fallback.proxy.settings import ModelSettings
from fallback.rendering import correction_text
from fallback.rendering.text import offered
from fallback.routing import Route
from fallback.templating import render_text

__all__ = ["Course"]

_NO_ANSWER = "(The model gave no answer.)"
"""Some clients repeat a request without end if its answer is empty."""


class Course:
    """One answer. Ask for :meth:`action`, feed :meth:`take`, then :meth:`close`, until done.

    Args:
        ask: what the client wants.
        info: what the server says of the model.
        route: the mode to begin with.
        settings: the model's.
        limits: of one reply.
        id_prefix: beginning of the ids of its calls, unlike that of any other answer.
        live: tell calls while they are written, before anybody knows whether they are valid.

    Attributes:
        undecided: whether it is to be decided which tool is called, before a reply is asked for.
    """

    def __init__(
        self,
        ask: Ask,
        info: ModelInfo,
        route: Route,
        settings: ModelSettings,
        *,
        limits: Limits,
        id_prefix: str,
        live: bool = False,
    ) -> None:
        self._ask, self._info, self.settings, self._limits = ask, info, settings, limits
        self._live = live
        self._dialect = settings.record
        self._tools = offered(ask.catalogue, ask.tool_choice)
        self._forced = ask.tool_choice not in ("auto", "none")
        self._may_switch = settings.mode == "auto"
        self.record = Record(mode=route.mode, why=route.why)
        self._left = max(settings.corrections, 0)
        self._aside = ""
        self._plain = False
        decide = decide_of(settings, route)
        self.deciding = Deciding(decide or Decide(), self._tools, self._dialect, limits)
        self.undecided = decide is not None and self._is_question
        self._outlet = Outlet(ask, id_prefix)
        self._held: list[str] = []
        self.done = False

    # Asking -------------------------------------------------------------------------------------

    @property
    def wants_tools(self) -> bool:
        """Whether calls are looked for."""
        return len(self._tools) > 0 and not self._plain

    def rendered(self) -> Rendered:
        """What the model is told next."""
        return rendered(
            self._ask,
            self._info,
            self.record.mode,
            self._dialect,
            tools=self.wants_tools,
            extra=_extra(self.settings.template, self._ask, self._tools),
            aside=self._aside,
        )

    def action(self, told: Rendered, num_ctx: int, num_predict: int) -> Generate:
        """The next request, in a window of that many tokens."""
        ask = self._ask
        options = {k: v for k, v in ask.options.items() if k not in ("num_ctx", "stop")}
        if self.wants_tools:
            # A call has one right spelling: the likeliest token unless the client wants variety.
            options.setdefault("temperature", 0.0)
        options["num_predict"] = num_predict
        think = ask.think if ask.think is not None else self.settings.think
        request = replace(
            told.request, options=options, num_ctx=num_ctx, think=think, keep_alive=ask.keep_alive
        )
        self._held = []
        self._outlet.next_reply()
        action = Generate(
            request=request,
            catalogue=self._tools,
            tool_choice=ask.tool_choice if self.wants_tools else "none",
            limits=self._limits,
            read_text=self.record.mode == "prompt" or self.settings.read_text is not False,
            said="\n".join(m.content for m in ask.messages if m.role == "user"),
        )
        if self.undecided:
            return action
        action = self.deciding.begun(action)
        self.record.rounds += not action.told and action.given is None
        return action

    # Deciding -----------------------------------------------------------------------------------

    @property
    def _is_question(self) -> bool:
        """Whether the model may answer or call. Behind results it goes on by itself, and what has
        to be a call is no question.
        """
        last = self._ask.messages[-1] if self._ask.messages else None
        asked = last is not None and last.role == "user" and self._ask.tool_choice == "auto"
        return asked and self.record.mode == "prompt" and self.wants_tools

    def decide(self, action: Generate, model: str, known: Baselines) -> Questions:
        """Ask what has to be known for that.

        Args:
            action: the request for the reply, as it is without a decision.
            model: its name and digest.
            known: what was found out for earlier answers.
        """
        asked = action.request
        nothing = replace(asked, messages=self._nothing_asked())
        if self.deciding.doubted:
            return self.deciding.unasked(asked, nothing, action.said)
        if self._outlet.calls:
            return self.deciding.again(asked, nothing)
        return self.deciding.first(asked, nothing, model, known)

    def _nothing_asked(self) -> tuple[Message, ...]:
        """The messages of a question that asks for nothing, with the same tools and rules."""
        ask = nothing_asked(self._ask)
        extra = _extra(self.settings.template, ask, self._tools)
        told = rendered(ask, self._info, "prompt", self._dialect, tools=True, extra=extra)
        return told.request.messages

    def decided(self) -> Iterator[Event]:
        """It has been; where no other call follows, the answer ends."""
        self.undecided = False
        self.record.decided = tuple(self.deciding.notes)
        if self._outlet.calls and not self.deciding.begins:
            yield from self._finish("tool_calls")
        elif not self.deciding.begins:
            self._plain = True

    def undecidable(self) -> Iterator[Event]:
        """It cannot be; the model says itself whether it calls a tool."""
        self.undecided = False
        if self._outlet.calls and not self.deciding.begins:
            yield from self._finish("tool_calls")

    def drafted(self, generation: Generation) -> None:
        """A call has been written, and something of it may still be left out."""
        self.undecided = self.deciding.drafted(generation)

    # A reply under way --------------------------------------------------------------------------

    @property
    def enough(self) -> Literal["stop", "tool_call"] | None:
        """Why the model need not go on, although it would."""
        if self._outlet.stop is not None:
            return "stop"
        one = self._outlet.calls and not self._ask.parallel
        return "tool_call" if one or self._outlet.broken else None

    def take(self, events: Iterable[parsed.Event]) -> Iterator[Event]:
        """What of these events goes out."""
        for event in events:
            if isinstance(event, parsed.TextDelta):
                yield from self._text(event.text)
            elif isinstance(event, parsed.ReasoningDelta):
                yield event
            elif self.record.mode == "prompt":
                yield from self._call_event(event)

    def _call_event(self, event: parsed.Event) -> Iterator[Event]:
        if isinstance(event, parsed.CallReady):
            yield from self._call(event.index, event.call)
        elif not self._live or self.deciding.told:
            return  # behind calls that have gone out, one that may be the same is told whole
        elif isinstance(event, parsed.CallStarted):
            yield from self._before_calls()
            yield from self._outlet.begin(event.index, event.name)
        elif isinstance(event, parsed.ArgumentsDelta):
            yield from self._outlet.fragment(event.index, event.fragment)
        elif isinstance(event, parsed.CallWithdrawn):
            self._outlet.withdraw(event.index)

    @property
    def _holds(self) -> bool:
        """Whether text has to wait until it is known what it belongs to."""
        return self._forced or self.record.rounds > 1 or self._checks_format

    @property
    def _checks_format(self) -> bool:
        return self._ask.format is not None and self.wants_tools

    def _text(self, text: str) -> Iterator[Event]:
        if self._holds:
            self._held.append(text)
        else:
            yield from self._outlet.say(text)

    def _call(self, number: int, call: ToolCall) -> Iterator[Event]:
        if not self._outlet.begun and echoes_example(call, self._last_words()):
            return
        if self.deciding.told and self.deciding.made_before(call):
            return
        yield from self._before_calls()
        for event in self._outlet.call(number, call):
            self.record.repairs += call.repairs
            yield event

    def _before_calls(self) -> Iterator[Event]:
        """What was said in front of the first call, unless the client has heard other words."""
        if not self._outlet.begun and not self._outlet.said:
            yield from self._release()

    def _release(self) -> Iterator[Event]:
        """Say what was held back."""
        held, self._held = "".join(self._held), []
        if self._outlet.said and held.strip():
            held = f"\n\n{held}"
        yield from self._outlet.say(held)

    def _last_words(self) -> str:
        return next((m.content for m in reversed(self._ask.messages) if m.role == "user"), "")

    # The end of a reply -------------------------------------------------------------------------

    def close(self, events: Iterable[parsed.Event], generation: Generation) -> Iterator[Event]:
        """The reply has ended; says the last of it, and decides whether there is another one."""
        yield from self.take(events)
        reading = generation.reading
        record = self.record
        record.path = generation.path or record.path
        usage = generation.usage
        if self.deciding.told:  # it is one reply, though it was asked for in pieces
            record.deciding += replace(usage, completion_tokens=0)
            usage = replace(usage, prompt_tokens=0, cached_tokens=None)
        record.usage += usage
        record.problems += tuple(problem.kind for problem in reading.problems)
        record.suppressed += len(reading.suppressed)
        if record.mode == "native":
            for number, call in enumerate(reading.calls):
                yield from self._call(number, call)
        record.calls = self._outlet.calls
        if self._outlet.broken:
            yield from self._broken(reading)
        elif self._outlet.calls:
            if self._ask.parallel and self.deciding.heard(generation):
                self.undecided = True
            else:
                yield from self._finish("tool_calls")
        elif generation.error is not None:
            yield from self._failed(generation, generation.error)
        elif self._outlet.stop is not None:
            yield from self._finish("stop")
        else:
            yield from self._judge(generation, reading)

    def _broken(self, reading: Reading) -> Iterator[Event]:
        """The beginning of a call went out, and it is none: the client must not run it."""
        self.done = True
        told = Problem(kind="truncated", message="its arguments did not hold what they promised")
        yield Failed(no_call(next(iter(reading.problems), told)))

    def _failed(self, generation: Generation, error: BackendError) -> Iterator[Event]:
        self.record.upstream_error = type(error).__name__
        nothing_yet = not self._outlet.said and not generation.raw
        refused = isinstance(error, CapabilityError | BackendStatusError)
        if self.deciding.began and nothing_yet and refused:
            return  # it does not let a reply be begun: the next one is the model's own
        if self.record.mode == "native" and self._may_switch and self.wants_tools and nothing_yet:
            lacking = isinstance(error, CapabilityError) and error.missing == "tools"
            broken = isinstance(error, BackendStatusError) and error.status == 500
            if lacking or broken or isinstance(error, BackendProtocolError):
                self._switch(f"asked natively, the server failed: {error}")
                return
        self.done = True
        yield Failed(failure_of(error))

    def _switch(self, why: str) -> None:
        self.record.mode, self.record.why = "prompt", why

    def _judge(self, generation: Generation, reading: Reading) -> Iterator[Event]:
        """A whole reply without a call that went out."""
        text = reading.text.strip()
        cut = generation.finish_reason == "length"
        problems = self._problems(reading)
        if self._swallowed(generation):
            self._switch("the server swallowed the model's tool call")
        elif problems and self._left > 0:
            self._correct(problems, generation)
        elif problems and self._forced:
            self.done = True
            yield Failed(no_call(problems[0]))
        elif problems:
            yield from self._as_text(generation)
        elif self._checks_format and not fits_format(text, self._ask.format):
            self._plain = True
        elif not text and not self._outlet.said and not cut and self.wants_tools:
            yield from self._empty()
        else:
            yield from self._release()
            yield from self._finish("length" if cut else "stop")

    def _problems(self, reading: Reading) -> tuple[Problem, ...]:
        if reading.calls:  # there were calls, and none went out: all of them echo the example
            return (Problem(kind="invalid_arguments", message=COPIED),)
        return reading.problems if self.wants_tools else ()

    def _swallowed(self, generation: Generation) -> bool:
        """Whether a server has eaten a call that it could not read: tokens, nothing to show."""
        return (
            self.record.mode == "native"
            and self._may_switch
            and self.wants_tools
            and not generation.raw.strip()
            and not generation.thinking.strip()
            and not generation.tool_calls
            and generation.usage.completion_tokens > 0
        )

    def _correct(self, problems: tuple[Problem, ...], generation: Generation) -> None:
        self._left -= 1
        dialect = self._dialect if self.record.mode == "prompt" else None
        quoted = [_with_words(problem, generation) for problem in problems[:4]]
        self._aside = correction_text(quoted, self._tools, dialect, required=self._forced)

    def _empty(self) -> Iterator[Event]:
        if self._left > 0:
            self._left -= 1
            self._aside = EMPTY
            return
        yield TextDelta(_NO_ANSWER)
        yield from self._finish("stop")

    def _as_text(self, generation: Generation) -> Iterator[Event]:
        """What could not be read as a call is told as the text that it was."""
        self._held = [leftover(generation, said=self._outlet.said and not self._holds)]
        yield from self._release()
        cut = generation.finish_reason == "length"
        yield from self._finish("length" if cut else "stop")

    def _finish(self, reason: Literal["stop", "length", "tool_calls"]) -> Iterator[Event]:
        self.done = True
        yield from self._outlet.rest()
        yield Finished(reason, self.record.usage, self._outlet.stop)


def _extra(template: str, ask: Ask, tools: Catalogue) -> str:
    """What the operator adds to the system prompt."""
    return render_text(template, model=ask.model, tools=list(tools.names)) if template else ""


def _with_words(problem: Problem, generation: Generation) -> Problem:
    """The problem with the words that it is about."""
    return problem if problem.text else replace(problem, text=generation.raw[slice(*problem.span)])
