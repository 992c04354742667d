"""The steps of a flow, and the record of how a run of it went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from fallback.errors import FlowError
from fallback.messages import StopReason

__all__ = ["FORM", "FlowRun", "Step", "StepRun", "Takes"]

Takes = Literal["last", "all", "answer"]
"""What a step hands on: the last tool result, a list of all of them, or the model's words."""

FORM = 1
"""Number of the stored form; what another version has stored is not guessed at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One instruction of a flow.

    Attributes:
        name: what later steps refer to it by.
        ask: what the model is asked. ``${step}`` stands for the value of an earlier step or an
            input, ``${step.key[0]}`` for a part of it, ``$${`` for the characters themselves.
        tools: names of the tools to offer; ``None`` for all of the session.
        takes: what the step hands on.
        of: only results of this tool count; empty for any.
        tool_choice: as in a session; ``None`` requires a call unless ``takes`` is ``answer``.
        max_steps: generations; ``None`` for the session's limit, here and below.
        max_calls: executions of tools.
        seconds: the deadline.
        tries: how often the step is asked anew if it came to nothing and changed nothing.
    """

    name: str
    ask: str
    tools: tuple[str, ...] | None = None
    takes: Takes = "last"
    of: str = ""
    tool_choice: str | None = None
    max_steps: int | None = None
    max_calls: int | None = None
    seconds: float | None = None
    tries: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """How one step went.

    Attributes:
        name: of the step.
        status: ``done``, ``failed``, ``waiting`` for a person, or ``begun`` where a step that may
            change something has not been heard of since.
        question: what the model was asked, references filled in.
        value: what the step hands on, as JSON has it; ``None`` unless it is done.
        untrusted: whether the value holds text from outside, or rests on a value that does.
        answer: the model's words.
        stop_reason, detail: of the turn.
        turn: its id, to resume it.
        calls: ``{"name", "arguments", "status"}`` of each call, in order.
        changed: names of tools that ran and may have changed something.
        tries: how often it was asked.
        seconds: of generations and tools together.
        tokens: prompt and completion together.
    """

    name: str
    status: Literal["begun", "done", "failed", "waiting"]
    question: str
    value: Any = None
    untrusted: bool = False
    answer: str = ""
    stop_reason: StopReason = "answered"
    detail: str = ""
    turn: str = ""
    calls: tuple[dict[str, Any], ...] = ()
    changed: tuple[str, ...] = ()
    tries: int = 1
    seconds: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRun:
    """A run of a flow, as far as it went.

    Attributes:
        flow: fingerprint of the steps, so that a record is not taken up by another flow.
        inputs: what the flow was given.
        steps: those that were begun; all but the last are done.
        total: how many steps the flow has.
    """

    flow: str
    inputs: dict[str, Any] = field(default_factory=dict)
    steps: tuple[StepRun, ...] = ()
    total: int = 0

    @property
    def done(self) -> bool:
        """Whether every step is done."""
        return len(self.steps) == self.total and all(s.status == "done" for s in self.steps)

    @property
    def waiting(self) -> bool:
        """Whether a person has to approve something before it can go on."""
        return bool(self.steps) and self.steps[-1].status == "waiting"

    @property
    def value(self) -> Any:
        """What the last step has handed on; ``None`` unless the flow is done."""
        return self.steps[-1].value if self.done and self.steps else None

    def to_json(self) -> dict[str, Any]:
        """As JSON values, from which the run can be resumed."""
        return {
            "form": FORM,
            "flow": self.flow,
            "done": self.done,
            "value": self.value,
            "inputs": self.inputs,
            "total": self.total,
            "steps": [asdict(step) for step in self.steps],
        }

    @classmethod
    def from_json(cls, stored: Any) -> FlowRun:
        """What :meth:`to_json` wrote.

        Raises:
            FlowError: it was written by another version, or is damaged.
        """
        if not isinstance(stored, Mapping) or stored.get("form") != FORM:
            raise FlowError("this is no record of a flow, or one of another version")
        try:
            steps = tuple(_step(entry) for entry in stored["steps"])
            return cls(
                flow=stored["flow"],
                inputs=dict(stored["inputs"]),
                steps=steps,
                total=int(stored["total"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FlowError(f"the record of the flow is damaged: {error}") from None


def _step(stored: Mapping[str, Any]) -> StepRun:
    lists = {"calls": tuple(stored["calls"]), "changed": tuple(stored["changed"])}
    return StepRun(**{**stored, **lists})
