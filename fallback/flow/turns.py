"""What a turn has come to, for the step that it was made for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from fallback.execution.content import to_text
from fallback.execution.masking import safe_error
from fallback.flow.record import Step, StepRun
from fallback.messages import ToolResult, Turn
from fallback.session.base import SessionBase

__all__ = ["broken_off", "outcome"]


def outcome(
    step: Step, question: str, turn: Turn, session: SessionBase, *, tries: int, tainted: bool
) -> StepRun:
    """The record of a step.

    A step is done if it has a value: what the model says around it does not matter, except where
    its words are the value.
    """
    results = [result for part in turn.steps for result in part.results]
    taken = [r for r in results if r.ok and (not step.of or r.name == step.of)]
    status, value, detail = _value(step, turn, taken)
    # Words of the model rest on everything that it has read.
    read = {"all": taken, "last": taken[-1:], "answer": results}[step.takes]
    return StepRun(
        name=step.name,
        status=status,
        question=question,
        value=value,
        untrusted=tainted or any(result.untrusted for result in read),
        answer=turn.answer,
        stop_reason=turn.stop_reason,
        detail=detail,
        turn=turn.id,
        calls=_calls(turn),
        changed=tuple(dict.fromkeys(r.name for r in results if _may_have_changed(r, session))),
        tries=tries,
        seconds=round(turn.usage.seconds + sum(r.seconds for r in results), 3),
        tokens=turn.usage.prompt_tokens + turn.usage.completion_tokens,
    )


def broken_off(
    step: Step,
    question: str,
    turn: Turn,
    session: SessionBase,
    error: BaseException,
    *,
    tainted: bool,
) -> StepRun:
    """The record of a step whose turn was broken off: failed, with what it had changed by then.

    What it has is not taken for its value, for the model may not have been done.
    """
    made = outcome(step, question, turn, session, tries=1, tainted=tainted)
    return replace(made, status="failed", value=None, detail=f"broken off: {safe_error(error)}")


def _value(step: Step, turn: Turn, taken: list[ToolResult]) -> tuple[Any, Any, str]:
    if turn.stop_reason == "approval_required":
        return "waiting", None, turn.detail
    if step.takes == "answer":
        if turn.stop_reason == "answered" and turn.answer.strip():
            return "done", turn.answer, turn.detail
        return "failed", None, turn.detail or f"no answer: {turn.stop_reason}"
    if not taken:
        wanted = f"of {step.of}" if step.of else "of a tool"
        why = turn.detail or (f"the model said: {turn.answer[:200]}" if turn.answer else "")
        return "failed", None, f"there is no result {wanted}" + (f"; {why}" if why else "")
    values = [_plain(result.value) for result in taken]
    return "done", values if step.takes == "all" else values[-1], turn.detail


def _plain(value: Any) -> Any:
    """The value in its JSON form; as text where it has none."""
    if isinstance(value, str):
        return value
    text = to_text(value)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _calls(turn: Turn) -> tuple[dict[str, Any], ...]:
    status = {r.call_id: r.status for part in turn.steps for r in part.results}
    return tuple(
        {"name": c.name, "arguments": c.arguments, "status": status.get(c.id, "denied")}
        for part in turn.steps
        for c in part.calls
    )


def _may_have_changed(result: ToolResult, session: SessionBase) -> bool:
    """Whether a call ran that the policy takes for one that writes."""
    if result.status not in ("ok", "error", "timeout") or result.copy_of is not None:
        return False
    tool = session.catalogue.get(result.name)
    return tool is None or session.policy.writes(tool)
