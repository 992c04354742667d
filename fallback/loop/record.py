"""The conversation and the steps of one turn while they grow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from fallback.loop.actions import Generation
from fallback.loop.paused import Paused
from fallback.messages import Message, Mode, Step, ToolCall, ToolResult, Usage

__all__ = ["Record"]

RAN = frozenset({"ok", "error", "retry", "timeout"})


class Record:
    """Messages and steps are only ever added. A step is open while its calls are dealt with."""

    def __init__(self, history: Iterable[Message], question: Message) -> None:
        self.history = tuple(history)
        self.messages: list[Message] = [question]
        self.steps: list[Step] = []
        self._open: Generation | None = None
        self._mode: Mode = "prompt"
        self._notes: list[str] = []
        self._results: tuple[ToolResult, ...] = ()
        self._reopened: Step | None = None
        self._spent = Usage()
        self.asked_with_untrusted = False

    @classmethod
    def of(cls, paused: Paused) -> Record:
        """The record of a turn that waited, with the step open whose calls it waited for."""
        record = cls(paused.history, paused.messages[0])
        record.messages = list(paused.messages)
        *record.steps, record._reopened = paused.steps
        record.asked_with_untrusted = paused.tainted
        return record

    @property
    def conversation(self) -> tuple[Message, ...]:
        """The history and what this turn has added to it."""
        return (*self.history, *self.messages)

    @property
    def said(self) -> str:
        """All that the user has said, in this turn and before it."""
        return "\n".join(m.content for m in self.conversation if m.role == "user")

    @property
    def tainted(self) -> bool:
        """Whether the model has read untrusted content, in this turn or before it."""
        if self.asked_with_untrusted:
            return True
        return any(m.result is not None and m.result.untrusted for m in self.conversation)

    @property
    def replies(self) -> int:
        """How often the model has spoken in the whole conversation."""
        return sum(message.role == "assistant" for message in self.conversation)

    @property
    def proposed(self) -> tuple[Message, ...]:
        """The messages up to the reply whose calls are being dealt with, without their results."""
        last = max(i for i, message in enumerate(self.messages) if message.role != "tool")
        return tuple(self.messages[: last + 1])

    @property
    def executed(self) -> int:
        """How many calls have run in this turn; of a turn that waited, also before."""
        steps = self.steps if self._reopened is None else [*self.steps, self._reopened]
        results = [r for step in steps for r in step.results]
        return sum(r.status in RAN and r.copy_of is None for r in results)

    @property
    def anything_ran(self) -> bool:
        """Whether a tool has run in this turn."""
        results = (*self._results, *(r for step in self.steps for r in step.results))
        return any(result.status in RAN for result in results)

    def open(self, generation: Generation, mode: Mode, note: str) -> None:
        """Begin a step with the reply that makes it."""
        self._open, self._mode, self._results = generation, mode, ()
        self._notes.insert(0, f"{mode} mode: {note}")
        if generation.cut:
            what = (
                "complete batch of calls" if generation.reading.calls else "call, which was wrong"
            )
            self.note(f"the reply was ended after its first {what}")

    def note(self, text: str) -> None:
        """Remark on the open step, or on the next one if none is."""
        self._notes.append(text)

    def spend(self, usage: Usage) -> None:
        """Charge the next step to be opened, or the open one, with more than its last reply."""
        self._spent += usage

    def say(self, text: str, calls: tuple[ToolCall, ...] = (), *, exact: bool = False) -> None:
        """Keep what the model said; only what was accepted is ever kept.

        ``exact`` keeps the blanks around it, of a text that goes on.
        """
        if text.strip() or calls:
            content = text if exact else text.strip()
            self.messages.append(Message(role="assistant", content=content, tool_calls=calls))

    def keep(self, results: tuple[ToolResult, ...], *, beside: tuple[ToolResult, ...] = ()) -> None:
        """Keep the results of the calls that were said last, one per call, in their order.

        Those ``beside`` them belong to calls that are not kept in the conversation.
        """
        self._results = (*results, *beside)
        self.messages += [Message(role="tool", content=r.content, result=r) for r in results]

    def refuse(self, results: tuple[ToolResult, ...]) -> None:
        """Put results on record of calls that are not kept in the conversation."""
        self._results = results

    def close(self) -> None:
        """End the open step, if one is open."""
        self.steps += self._open_step(self._results)
        if self._open is not None:
            self._spent = Usage()
        if self._reopened is not None or self._open is not None:
            self._notes, self._results = [], ()
        self._reopened = self._open = None

    def so_far(self, results: tuple[ToolResult, ...]) -> tuple[Step, ...]:
        """The steps, the open one among them, with the results that its calls have by now."""
        return (*self.steps, *self._open_step(results))

    def _open_step(self, results: tuple[ToolResult, ...]) -> Iterator[Step]:
        if self._reopened is not None:
            notes = (*self._reopened.notes, *self._notes)
            yield replace(self._reopened, results=results, notes=notes)
        if (generation := self._open) is not None:
            reading = generation.reading
            yield Step(
                index=len(self.steps),
                mode=self._mode,
                path=generation.path,
                source="server" if generation.tool_calls else "text" if reading.calls else "none",
                raw=generation.raw,
                reading=reading,
                results=results,
                usage=_together(self._spent, generation.usage),
                notes=tuple(self._notes),
            )


def _together(before: Usage, reply: Usage) -> Usage:
    """The first token of a reply comes after all that was spent before it."""
    if before == Usage():
        return reply
    first = reply.first_token_seconds
    waited = None if first is None else before.seconds + first
    return replace(before + reply, first_token_seconds=waited)
