"""Values as JSON objects: the shapes that ``parse`` and ``run --json`` print.

They are read by other programs, so a key here stays. The schema in words is in the README.
"""

from __future__ import annotations

from typing import Any

from fallback.messages import Problem, Reading, Step, ToolCall, ToolResult, Turn, Usage


def reading_record(reading: Reading) -> dict[str, Any]:
    """What ``fallback parse`` prints for one reply."""
    return {
        "calls": [call_record(call) for call in reading.calls],
        "text": reading.text,
        "reasoning": reading.reasoning,
        "problems": [
            {"kind": problem.kind, "message": problem.message} for problem in reading.problems
        ],
        "suppressed": [
            {"reason": suppressed.reason, "text": suppressed.text}
            for suppressed in reading.suppressed
        ],
    }


def segments_record(reading: Reading) -> list[dict[str, Any]]:
    """What became of each part of a reply, in order; the parts tile it."""
    return [segment._asdict() for segment in reading.segments]


def call_record(call: ToolCall) -> dict[str, Any]:
    """A call without its identity, which belongs to the turn."""
    return {
        "name": call.name,
        "arguments": call.arguments,
        "dialect": call.dialect,
        "repairs": list(call.repairs),
    }


def turn_record(turn: Turn) -> dict[str, Any]:
    """What ``fallback run --json`` prints: the answer and the whole record of how it came about."""
    return {
        "answer": turn.answer,
        "id": turn.id,
        "stop_reason": turn.stop_reason,
        "detail": turn.detail,
        "ungrounded": list(turn.ungrounded),
        "tools_used": list(turn.tools_used),
        "usage": usage_record(turn.usage),
        "steps": [step_record(step) for step in turn.steps],
    }


def step_record(step: Step) -> dict[str, Any]:
    """One generation and what became of its calls; tokens as the server counts them, seconds."""
    return {
        "index": step.index,
        "mode": step.mode,
        "path": step.path,
        "source": step.source,
        "raw": step.raw,
        "text": step.reading.text,
        "reasoning": step.reading.reasoning,
        "finish_reason": step.reading.finish_reason,
        "calls": [
            {"id": call.id, **call_record(call), "span": list(call.span)} for call in step.calls
        ],
        "problems": [problem_record(problem) for problem in step.problems],
        "suppressed": [
            {"reason": suppressed.reason, "text": suppressed.text}
            for suppressed in step.reading.suppressed
        ],
        "results": [result_record(result) for result in step.results],
        **usage_record(step.usage),
        "notes": list(step.notes),
    }


def problem_record(problem: Problem) -> dict[str, Any]:
    """A refused call, with the place of the fault."""
    return {
        "kind": problem.kind,
        "message": problem.message,
        "tool": problem.tool,
        "path": problem.path,
        "span": list(problem.span),
    }


def result_record(result: ToolResult) -> dict[str, Any]:
    """What a tool gave back, tied to its call by ``call_id``."""
    return {
        "call_id": result.call_id,
        "name": result.name,
        "status": result.status,
        "kind": result.kind,
        "approval": result.approval,
        "content": result.content,
        "retryable": result.retryable,
        "fields": list(result.fields),
        "provenance": result.envelope["provenance"],
        "untrusted": result.untrusted,
        "warnings": list(result.warnings),
        "seconds": round(result.seconds, 3),
    }


def usage_record(usage: Usage) -> dict[str, Any]:
    """Tokens and seconds of a generation, or of a turn."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "seconds": round(usage.seconds, 3),
    }
