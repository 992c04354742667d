"""One reply while it arrives: chunks in, events out, and at the end a :class:`Generation`.

No I/O: the drivers feed it. In both modes the text goes through the parser, because models that
are said to call natively write calls as text all the same; where the server does report
structured calls, those win, and what the parser read from the text is kept as suppressed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fallback.backend import Chunk
from fallback.errors import BackendError
from fallback.loop.actions import Generate, Generation
from fallback.loop.runaway import Runaway
from fallback.messages import FinishReason, Problem, Reading, Suppressed, Usage
from fallback.parsing.events import (
    BatchComplete,
    CallReady,
    End,
    Event,
    ProblemFound,
    ReasoningDelta,
    TextDelta,
)
from fallback.parsing.parser import Parser, chosen_tool
from fallback.parsing.whole import parse
from fallback.rendering.running import Running
from fallback.validation import read_native

__all__ = ["Reply"]

_STRUCTURED_WINS = "the server reported structured calls"


class Reply:
    """Collects one reply.

    Feed every chunk; stop asking the backend for more once :attr:`finished` is true; then
    :meth:`close`, once, however it ended.
    """

    def __init__(self, action: Generate) -> None:
        self._action = action
        self._parser: Parser | None = None
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._tool_calls: list[Mapping[str, Any]] = []
        self._usage = Usage()
        self._path = ""
        self._begun = self._written = 0
        self._num_ctx: int | None = None
        self._cut = False
        self._runaway = Runaway()
        self._running = None if action.place is None else Running(action.place)
        # What follows a call in running text is an invented result, be the call right or wrong.
        self._ends = (BatchComplete, ProblemFound) if self._running else (BatchComplete,)
        self._finish: FinishReason | None = None

    @property
    def finished(self) -> bool:
        """Whether the rest of the reply, if any, is of no interest."""
        return self._cut or self._finish is not None

    def feed(self, chunk: Chunk) -> list[Event]:
        """Take one chunk; returns what it means."""
        if self._parser is None:
            self._parser = self._open(reasoning_open=chunk.reasoning_open)
        events: list[Event] = []
        if chunk.prefill and not self._action.continues:
            self._text.append(chunk.prefill)
            self._begun = len(chunk.prefill)
            told = self._action.told
            self._parser.feed(chunk.prefill[:told])
            events += self._parser.feed(chunk.prefill[told:])
        if chunk.thinking:
            self._thinking.append(chunk.thinking)
            self._written += chunk.pieces
            events.append(ReasoningDelta(chunk.thinking))
        if chunk.text:
            self._text.append(chunk.text)
            self._written += chunk.pieces
            events += self._parser.feed(chunk.text)
            if self._action.closing and self._begun and self._runaway.feed(chunk.text):
                self._finish = "length"
        self._tool_calls.extend(chunk.tool_calls)
        self._path = chunk.path or self._path
        self._usage = chunk.usage or self._usage
        self._num_ctx = chunk.num_ctx or self._num_ctx
        if chunk.done:
            self._finish = chunk.finish_reason or "stop"
        # A server that has begun to report calls is heard to the end: its batch is the one that
        # counts.
        over = any(isinstance(event, self._ends) for event in events)
        if over and not self._tool_calls and not chunk.done:
            self._cut = True
        return self._running_on(self._untold(events))

    def close(
        self,
        *,
        finish_reason: FinishReason | None = None,
        error: BackendError | None = None,
        elapsed: float = 0.0,
        seconds: float = 0.0,
    ) -> tuple[list[Event], Generation]:
        """End the reply; returns the last events and the whole of it.

        Args:
            finish_reason: why the driver ended it (``cancelled``), if it was the driver.
            error: what the backend raised.
            elapsed: seconds since the turn began.
            seconds: duration of this reply, for servers that do not say.
        """
        finish = self._finish_reason(finish_reason, error)
        parser = self._parser or self._open(reasoning_open=False)
        events = self._complete(parser, finish) + parser.close(finish)
        thinking = "".join(self._thinking)
        reading = self._reading(parser.reading, thinking, finish)
        generation = Generation(
            raw="".join(self._text),
            thinking=thinking,
            reading=reading,
            tool_calls=tuple(self._tool_calls),
            finish_reason=finish,
            usage=self._spent(seconds),
            path=self._path,
            error=error,
            elapsed=elapsed,
            cut=self._cut,
            num_ctx=self._num_ctx,
        )
        if error is None:  # else it is asked again, and goes on from the same place
            events = self._running_on(events, over=_is_nothing(reading))
        return self._untold(events), generation

    def _running_on(self, events: list[Event], *, over: bool | None = None) -> list[Event]:
        """The events with the text as it stands behind what was told before.

        Args:
            events: the next ones.
            over: with the last ones, whether the whole text ends with the reply.
        """
        running = self._running
        if running is None:
            return events
        told: list[Event] = []
        for event in events:
            if isinstance(event, TextDelta):
                told.append(TextDelta(running.says(event.text)))
                continue
            if isinstance(event, End):
                told.append(TextDelta(running.end() if over else running.pause()))
            told.append(event)
        return [event for event in told if event != TextDelta("")]

    def _untold(self, events: list[Event]) -> list[Event]:
        """Without the calls that an earlier reply of the same step has told already.

        What a listener does to a call that it is told of is not done to the call that will run.
        """
        told = self._action.told
        return [
            replace(event, call=event.call.apart()) if isinstance(event, CallReady) else event
            for event in events
            if not (isinstance(event, CallReady) and event.call.span.end <= told)
        ]

    def _complete(self, parser: Parser, finish: FinishReason) -> list[Event]:
        """Close a call that was begun for the model, if it has written the arguments and no more.

        A server that is held to a schema ends with the value, and it may be with the end of its
        line. A server that ignores the schema has let the model close the call itself, and then the
        rest is no JSON value.
        """
        closing = self._action.closing
        if not (closing and self._begun and finish == "stop"):
            return []
        value = "".join(self._text)[self._begun :]
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return []
        if value.endswith("\n"):
            closing = closing.removeprefix("\n")
        self._text.append(closing)
        return parser.feed(closing)

    def _open(self, *, reasoning_open: bool) -> Parser:
        action = self._action
        return Parser(
            action.catalogue,
            tool_choice=action.tool_choice if action.read_text else "none",
            reasoning_open=reasoning_open,
            limits=action.limits,
            id_prefix=action.id_prefix,
            said=action.said,
            dialects=action.dialects,
        )

    def _finish_reason(
        self, given: FinishReason | None, error: BackendError | None
    ) -> FinishReason:
        if given is not None:
            return given
        if error is not None:
            return "error"
        if self._finish is not None:
            return self._finish
        return "tool_call" if self._cut else "error"

    def _spent(self, seconds: float) -> Usage:
        """The server's figures; where the reply was ended before they came, what can be counted.

        A server streams one token per chunk, so the pieces of text stand for tokens.
        """
        usage = self._usage
        if not usage.seconds:
            usage = replace(usage, seconds=seconds)
        if not usage.completion_tokens:
            usage = replace(usage, completion_tokens=self._written)
        return usage

    def _reading(self, read: Reading, thinking: str, finish: FinishReason) -> Reading:
        if self._tool_calls:
            return self._structured(read, thinking, finish)
        problems = read.problems
        silent = not read.text.strip() and not read.calls and not problems
        if thinking and silent and self._action.read_text:
            problems = self._left_in(thinking, finish)
        if not read.calls and finish in ("stop", "tool_call") and (not problems or self._evaded):
            problems = self._missing() or problems
        return replace(read, reasoning=_joined(thinking, read.reasoning), problems=problems)

    def _structured(self, read: Reading, thinking: str, finish: FinishReason) -> Reading:
        action = self._action
        calls, problems = read_native(
            self._tool_calls,
            action.catalogue,
            id_prefix=action.id_prefix,
            only=chosen_tool(action.tool_choice),
            limits=action.limits,
            said=action.said,
            cut_short=finish == "length",
        )
        raw = "".join(self._text)
        written = tuple(
            Suppressed(reason=_STRUCTURED_WINS, text=raw[slice(*call.span)], span=call.span)
            for call in read.calls
        )
        return replace(
            read,
            calls=tuple(calls),
            problems=tuple(problems),
            suppressed=(*read.suppressed, *written),
            reasoning=_joined(thinking, read.reasoning),
        )

    @property
    def _evaded(self) -> bool:
        """Whether a call was begun for the model, and it went on with words.

        What is wrong then is no form of a call: there is none.
        """
        said = "".join(self._text)[self._begun :]
        return self._begun > 0 and not any(mark in said for mark in "{(=")

    def _missing(self) -> tuple[Problem, ...]:
        """The problem of a reply that had to be a call and is none."""
        choice = self._action.tool_choice
        if choice in ("auto", "none"):
            return ()
        tool = chosen_tool(choice)
        wanted = f"A call of `{tool}`" if tool else "A tool call"
        message = f"{wanted} is required here, and there was none. Write the call and nothing else."
        return (Problem(kind="required_call_missing", message=message, tool=tool),)

    def _left_in(self, thinking: str, finish: FinishReason) -> tuple[Problem, ...]:
        """Problems of a call that was only thought of (field ``thinking`` of the server)."""
        action = self._action
        thought = parse(
            thinking,
            action.catalogue,
            finish_reason=finish,
            reasoning_open=True,
            limits=action.limits,
        )
        return tuple(p for p in thought.problems if p.kind == "in_reasoning")


def _joined(thinking: str, reasoning: str) -> str:
    return "\n".join(filter(None, (thinking, reasoning)))


def _is_nothing(reading: Reading) -> bool:
    """Whether a reply had nothing to add, so that what was said before it is all."""
    told = reading.text.strip() or reading.calls or reading.problems
    return reading.finish_reason == "stop" and not told
