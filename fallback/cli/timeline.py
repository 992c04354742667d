"""A turn while it happens, for a person: what the model writes, what is called, what comes back.

One label stands in front of each piece. What the model writes is shown exactly as it arrives, calls
included, because that is where calls go wrong; below it stands what was made of it.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from fallback.backend import Backend, Chunk, GenerationRequest
from fallback.cli.output import can_show, visible
from fallback.loop.ending import is_answered
from fallback.loop.progress import (
    Progress,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from fallback.messages import Step, ToolCall, ToolResult, Turn
from fallback.session.through import Through

if TYPE_CHECKING:
    from rich.console import Console

INDENT = 10
"""Columns of the labels."""

SHOWN_LINES, SHOWN_CHARS = 20, 2000
"""As much of a result as a person wants to see; the model and ``--json`` get more."""

REPEATED_CHARS = 200
"""A longer answer that has just been shown as the model's text is not shown twice."""


class Timeline:
    """Prints a turn. Give :meth:`watch` every event, and :meth:`heard` every piece of a reply."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._label = ""
        self._breaks = 0
        self._announced: list[tuple[str, str]] = []
        self._dot = " · " if can_show("·") else " - "

    def headline(self, *parts: str) -> None:
        """One line about the whole run, shown once there is something to show."""
        self._announced.append(("", self._dot.join(parts)))

    def heard(self, chunk: Chunk) -> None:
        """Show a piece of what the model writes."""
        self._stream("thinking", chunk.thinking, "dim")
        self._stream("model", chunk.text, "cyan")

    def watch(self, event: Progress) -> None:
        """Show what was made of it."""
        if isinstance(event, StepStarted):
            # Held back until the model answers: a server that refuses leaves nothing but its error.
            self._announced.append((f"step {event.index + 1}", f"{event.mode} mode"))
        elif isinstance(event, ToolStarted):
            self._line("call", call_line(event.call), "green")
        elif isinstance(event, ToolEnded):
            self._result(event.result)
        elif isinstance(event, StepEnded):
            self._leftovers(event.step)
        elif isinstance(event, TurnEnded):
            self._end(event.turn)

    def remark(self, label: str, text: str) -> None:
        """Add what is not part of the turn, such as what to do next."""
        self._line(label, text, "yellow")

    def finish(self) -> None:
        """Leave the cursor at the start of a line, wherever the turn was broken off."""
        if self._label:
            self._out.print()
        self._label, self._breaks = "", 0

    def _result(self, result: ToolResult) -> None:
        style = "green" if result.ok else "red"
        self._line("result" if result.ok else result.status, shortened(result.content), style)
        if result.detail and result.detail not in result.content:  # what the model is not told
            self._line("", result.detail, "dim")
        for warning in result.warnings:
            self._line("", warning, "yellow")

    def _leftovers(self, step: Step) -> None:
        """What a reply held besides the calls that ran."""
        ran = {result.call_id for result in step.results if result.status not in NOT_RUN}
        for call in step.calls:
            if call.id not in ran:
                why = next((r.content for r in step.results if r.call_id == call.id), "")
                self._line("not run", f"{call_line(call)}  {why}".rstrip(), "yellow")
        for problem in step.problems:
            self._line("problem", f"{problem.kind}: {problem.message}", "red")
        for suppressed in step.reading.suppressed:
            self._line("not run", f"{suppressed.reason}: {shortened(suppressed.text)}", "yellow")

    def _end(self, turn: Turn) -> None:
        # Why there is none is said below.
        if turn.answer.strip() and is_answered(turn):
            said = turn.steps[-1].raw.strip() if turn.steps else ""
            above = said == turn.answer.strip() and len(said) > REPEATED_CHARS
            self._line("answer", "(as above)" if above else turn.answer.strip(), "bold")
        if turn.ungrounded:
            self._line("check", f"in no result: {', '.join(turn.ungrounded)}", "yellow")
        if turn.stop_reason != "answered":
            why = f"{turn.stop_reason}: {turn.detail}" if turn.detail else turn.stop_reason
            self._line("stopped", why, "red")
        self._line("", self._dot.join(footer(turn)), "dim")

    def _line(self, label: str, text: str, style: str) -> None:
        self.finish()
        self._show_announced()
        self._print(f"{label:<{INDENT}}", "dim", end="")
        self._print(visible(text).replace("\n", "\n" + " " * INDENT), style, end="\n")

    def _show_announced(self) -> None:
        announced, self._announced = self._announced, []
        for label, text in announced:
            self._line(label, text, "dim")

    def _stream(self, label: str, text: str, style: str) -> None:
        """Show text that is still arriving; line breaks wait until something follows them."""
        if not text:
            return
        if self._label != label:
            self.finish()
            text = text.lstrip("\n")
            if not text:
                return
            self._show_announced()
            self._print(f"{label:<{INDENT}}", "dim", end="")
            self._label = label
        body = text.rstrip("\n")
        if body:
            gap = "\n" * self._breaks
            shown = visible(gap + body).replace("\n", "\n" + " " * INDENT)
            self._print(shown, style, end="")
            self._breaks = 0
        self._breaks += len(text) - len(body)

    def _print(self, text: str, style: str, *, end: str) -> None:
        from rich.text import Text

        self._out.print(Text(text, style=style), end=end)


NOT_RUN = frozenset({"denied", "paused"})
"""Statuses of results that stand for a call that was not made."""


class Overheard(Through):
    """A backend that lets a timeline hear every piece of a reply on its way to the session."""

    def __init__(self, backend: Backend, timeline: Timeline) -> None:
        super().__init__(backend)
        self._timeline = timeline

    def stream(self, request: GenerationRequest) -> Generator[Chunk]:
        """See :meth:`fallback.backend.Backend.stream`."""
        with closing(super().stream(request)) as chunks:
            for chunk in chunks:
                self._timeline.heard(chunk)
                yield chunk


def call_line(call: ToolCall) -> str:
    """A call as one line, and how it had to be read if it was not clean."""
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    repairs = f"  (mended: {', '.join(call.repairs)})" if call.repairs else ""
    return f"{call.name} {arguments}{repairs}"


def shortened(text: str) -> str:
    """The beginning of a long text, and how much more there is."""
    kept = "\n".join(text[:SHOWN_CHARS].splitlines()[:SHOWN_LINES])
    missing = len(text.rstrip()) - len(kept)
    return f"{kept}\n... {missing:,} more characters" if missing > 0 else kept


def footer(turn: Turn) -> Iterator[str]:
    """The facts of a turn, one by one: tools, mode, steps, tokens, time."""
    used = ", ".join(dict.fromkeys(turn.tools_used))
    yield f"tools used: {used}" if used else "no tools"
    modes = dict.fromkeys(f"{step.mode} mode ({step.path})" for step in turn.steps)
    yield from modes
    yield f"{len(turn.steps)} step{'' if len(turn.steps) == 1 else 's'}"
    usage = turn.usage
    cached = "" if usage.cached_tokens is None else f" ({usage.cached_tokens} cached)"
    yield f"{usage.prompt_tokens}{cached} + {usage.completion_tokens} tokens"
    tools = sum(result.seconds for step in turn.steps for result in step.results)
    yield f"{usage.seconds + tools:.1f} s"
