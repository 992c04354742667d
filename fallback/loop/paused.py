"""A turn that waits for a person: everything that is needed to go on, in any process.

It holds no settings and no authority: who resumes it brings the tools, the policy and the context,
and every call that is still open passes all gates again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fallback.errors import UsageError
from fallback.loop.spent import UNSPENT, Spent
from fallback.messages import (
    Message,
    Mode,
    Problem,
    Reading,
    Source,
    Span,
    Step,
    ToolCall,
    ToolResult,
    Usage,
)

__all__ = ["Paused"]

_FORM = 1
"""Number of the stored form; what another version has stored is not guessed at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """A turn with calls that wait.

    Attributes:
        turn_id: names it.
        model: which model it was begun with.
        mode: in which mode the open calls were made.
        history: the conversation before the turn.
        messages: those of the turn; the last one proposes the open calls, and has no results yet.
        steps: those of the turn; the last one is open, and has the results of its other calls. A
            call without any was about to run.
        tainted: whether the question itself held untrusted text.
        spent: what it has used up of its budgets.
        given: ids of the calls whose results the application has handed in.
    """

    turn_id: str
    model: str
    mode: Mode
    history: tuple[Message, ...]
    messages: tuple[Message, ...]
    steps: tuple[Step, ...]
    tainted: bool = False
    spent: Spent = UNSPENT
    given: tuple[str, ...] = ()

    @property
    def waiting(self) -> tuple[ToolResult, ...]:
        """What stands in for the results of the open calls."""
        return tuple(r for r in self.steps[-1].results if r.status == "paused")

    @property
    def settled(self) -> dict[str, ToolResult]:
        """The results of the other calls of that reply, by id: these are not run again."""
        return {r.call_id: r for r in self.steps[-1].results if r.status != "paused"}

    @property
    def asked(self) -> dict[str, str]:
        """Which approval each open call waits for."""
        return {r.call_id: r.approval for r in self.waiting if r.approval}

    def with_results(self, results: Mapping[str, ToolResult]) -> Paused:
        """The same turn, with results for calls that waited."""
        last = self.steps[-1]
        settled = tuple(results.get(r.call_id, r) for r in last.results)
        return dataclasses.replace(
            self,
            steps=(*self.steps[:-1], dataclasses.replace(last, results=settled)),
            given=(*self.given, *results),
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON values. Of a result the model's text is kept; its Python value is not."""
        return {
            "form": _FORM,
            "turn_id": self.turn_id,
            "model": self.model,
            "mode": self.mode,
            "history": [_message(m) for m in self.history],
            "messages": [_message(m) for m in self.messages],
            "steps": [_step(step) for step in self.steps],
            "tainted": self.tainted,
            "spent": self.spent.to_json(),
            "given": list(self.given),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Paused:
        """What :meth:`to_json` wrote.

        Raises:
            UsageError: it was written by another version, or is damaged.
        """
        if stored.get("form") != _FORM:
            raise UsageError("the paused turn was stored by another version; ask again")
        try:
            read = cls(
                turn_id=stored["turn_id"],
                model=stored["model"],
                mode=stored["mode"],
                history=_each(_read_message, stored["history"]),
                messages=_each(_read_message, stored["messages"]),
                steps=_each(_read_step, stored["steps"]),
                tainted=bool(stored.get("tainted", False)),
                # What was stored before this was counted has spent nothing.
                spent=Spent.from_json(stored["spent"]) if "spent" in stored else UNSPENT,
                given=tuple(map(str, stored.get("given", ()))),
            )
            if not (read.messages and read.steps):
                raise ValueError("nothing is in it")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"the paused turn is damaged: {error}") from None
        return read


def _result(result: ToolResult) -> dict[str, Any]:
    # The value may be anything and may be huge; what the model was shown is what counts.
    return dataclasses.asdict(dataclasses.replace(result, value=None))


def _message(message: Message) -> dict[str, Any]:
    return {
        "role": message.role,
        "content": message.content,
        "tool_calls": [dataclasses.asdict(call) for call in message.tool_calls],
        "result": _result(message.result) if message.result else None,
        "images": list(message.images),
    }


def _step(step: Step) -> dict[str, Any]:
    """A step without the accounting of every character, which belongs to the reply's reader."""
    reading = step.reading
    return {
        "index": step.index,
        "mode": step.mode,
        "path": step.path,
        "source": step.source,
        "raw": step.raw,
        "text": reading.text,
        "reasoning": reading.reasoning,
        "finish_reason": reading.finish_reason,
        "calls": [dataclasses.asdict(call) for call in reading.calls],
        "problems": [dataclasses.asdict(problem) for problem in reading.problems],
        "results": [_result(result) for result in step.results],
        "usage": dataclasses.asdict(step.usage),
        "notes": list(step.notes),
    }


def _each(read: Any, stored: Iterable[Mapping[str, Any]]) -> tuple[Any, ...]:
    return tuple(read(entry) for entry in stored)


def _read_call(stored: Mapping[str, Any]) -> ToolCall:
    spanned = {"span": Span(*stored["span"]), "repairs": tuple(stored["repairs"])}
    return ToolCall(**{**stored, **spanned})


def _read_problem(stored: Mapping[str, Any]) -> Problem:
    return Problem(**{**stored, "span": Span(*stored["span"])})


def _read_result(stored: Mapping[str, Any]) -> ToolResult:
    lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
    lists["provenance"] = _each_source(stored.get("provenance", ()))
    return ToolResult(**{**stored, **lists})


def _each_source(stored: Iterable[Iterable[str]]) -> tuple[Source, ...]:
    return tuple(Source(*source) for source in stored)


def _read_message(stored: Mapping[str, Any]) -> Message:
    return Message(
        role=stored["role"],
        content=stored["content"],
        tool_calls=_each(_read_call, stored["tool_calls"]),
        result=_read_result(stored["result"]) if stored["result"] else None,
        images=tuple(stored["images"]),
    )


def _read_step(stored: Mapping[str, Any]) -> Step:
    reading = Reading(
        text=stored["text"],
        reasoning=stored["reasoning"],
        calls=_each(_read_call, stored["calls"]),
        problems=_each(_read_problem, stored["problems"]),
        finish_reason=stored["finish_reason"],
    )
    return Step(
        index=stored["index"],
        mode=stored["mode"],
        path=stored["path"],
        source=stored["source"],
        raw=stored["raw"],
        reading=reading,
        results=_each(_read_result, stored["results"]),
        usage=Usage(**stored["usage"]),
        notes=tuple(stored["notes"]),
    )
