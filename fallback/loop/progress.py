"""What a watcher of a turn is told, between the parser's own events."""

from __future__ import annotations

from dataclasses import dataclass

from fallback.messages import Mode, Step, ToolCall, ToolResult, Turn
from fallback.parsing.events import Event

__all__ = ["Progress", "StepEnded", "StepStarted", "ToolEnded", "ToolStarted", "TurnEnded"]


@dataclass(frozen=True, slots=True)
class StepStarted:
    """The model is asked; the parser's events of its reply follow."""

    index: int
    mode: Mode


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call begins to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A call has run, or failed to."""

    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A reply and its calls are dealt with."""

    step: Step


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """Nothing more will come."""

    turn: Turn


Progress = StepStarted | Event | ToolStarted | ToolEnded | StepEnded | TurnEnded
