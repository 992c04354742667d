"""What is measured of a turn, stage by stage, from the need for a call to the final answer.

A stage is measured only of turns that can show it; of the others its value is ``None``. So a
model that calls no tool is not blamed for wrong arguments as well, and each share has an ``n`` of
its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fallback.compare.cases import Case
from fallback.compare.grading import Call, CallsGrade, answer_faults, grade_of

__all__ = ["MEASURES", "STAGES", "Judgement", "Measure", "Stage", "judge"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A share of turns. ``good`` says whether a large share is what one wants."""

    name: str
    label: str
    meaning: str
    good: bool = True
    kind: Literal["share", "mean"] = "share"


STAGES: tuple[Stage, ...] = (
    Stage("right", "wholly right", "the right calls and no other, and the right answer"),
    Stage("need", "need", "a tool was called for just when one was needed"),
    Stage("selection", "selection", "where calls are right: the right tools, each often enough"),
    Stage("calls", "calls", "where calls are right: exactly these, with all arguments"),
    Stage("arguments", "arguments", "where the right tools were called: every argument is right"),
    Stage("fields", "fields", "where calls are right: share of arguments that are", kind="mean"),
    Stage("schema", "schema", "where something was called: valid at the first attempt"),
    Stage("unauthorised", "unauthorised", "a tool ran, or would have, that was not meant", False),
    Stage("execution", "execution", "where tools ran: none of them failed"),
    Stage("handled", "result used", "after the right calls: the turn ended with an answer"),
    Stage("grounded", "grounded", "where an answer is known: it says that, and nothing else"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a turn; ``share`` picks the percentile, ``None`` is the mean."""

    name: str
    label: str
    of: str
    share: float | None = None
    digits: int = 1


MEASURES: tuple[Measure, ...] = (
    Measure("prompt_tokens", "prompt tokens", "prompt_tokens", digits=0),
    Measure("cached_tokens", "of them cached", "cached_tokens", digits=0),
    Measure("completion_tokens", "completion tokens", "completion_tokens", digits=0),
    Measure("first_token_p50", "first token, p50 (s)", "first_token_seconds", 0.5, 2),
    Measure("first_token_p95", "first token, p95 (s)", "first_token_seconds", 0.95, 2),
    Measure("seconds_p50", "total, p50 (s)", "seconds", 0.5, 2),
    Measure("seconds_p95", "total, p95 (s)", "seconds", 0.95, 2),
    Measure("corrections", "corrections", "corrections", digits=2),
    Measure("repairs", "repairs", "repairs", digits=2),
    Measure("swallowed", "swallowed", "swallowed", digits=2),
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One record, judged.

    Attributes:
        stages: by name; a flag, a share, or ``None`` where the turn cannot show it.
        numbers: tokens, seconds and counts of the turn.
        faults: what is wrong, a clause each; empty if the turn is wholly right.
        made: the calls that ran, or would have.
    """

    stages: Mapping[str, bool | float | None]
    numbers: Mapping[str, float | None]
    faults: tuple[str, ...] = ()
    made: tuple[Call, ...] = field(default=())


_RAN = frozenset({"ok", "error", "retry", "timeout"})
_MADE = _RAN | {"paused"}
"""A call without a handler waits for the application: it would have run."""


def judge(record: Mapping[str, Any], case: Case) -> Judgement:
    """Judge a record of a case."""
    steps = record["steps"]
    made = [[_call(c) for c in step["calls"] if _counts(c, case)] for step in steps]
    grade = grade_of(case, made)
    attempts = [step for step in steps if step["calls"] or step["problems"]]
    all_made = tuple(call for step in made for call in step)
    answered = record["stop"] == "answered" and bool(record["answer"].strip())
    wrong_answer = _answer_faults(case, record, answered=answered)
    asked = bool(steps) or record["error"] is None
    stages: dict[str, bool | float | None] = {
        "right": grade.exact and not wrong_answer,
        "need": bool(attempts) == bool(case.calls) if asked else None,
        "schema": not attempts[0]["problems"] if attempts else None,
        "unauthorised": not {c.name for c in all_made} <= {c.name for c in case.calls},
        "execution": _execution(case, steps),
        "grounded": not wrong_answer if case.answer else None,
    }
    faults = (*_trouble(record), *grade.faults, *wrong_answer)
    return Judgement(
        stages=stages | _of_calls(case, grade, answered=answered),
        numbers=_numbers(steps),
        faults=faults if not stages["right"] else (),
        made=all_made,
    )


def _counts(call: Mapping[str, Any], case: Case) -> bool:
    """Whether a call counts as made. Of equal calls in one reply only one runs; but where nothing
    runs, what was written counts, as on the leaderboard ("draw three random numbers").
    """
    return call["status"] in _MADE and not (call["copy"] and case.results)


def _call(call: Mapping[str, Any]) -> Call:
    return Call(call["name"], call["arguments"])


def _of_calls(case: Case, grade: CallsGrade, *, answered: bool) -> dict[str, bool | float | None]:
    """The stages of a case in which tools are to be called."""
    if not case.calls:
        return dict.fromkeys(("selection", "calls", "arguments", "fields", "handled"))
    return {
        "selection": grade.names,
        "calls": grade.exact,
        "arguments": grade.exact if grade.names else None,
        "fields": grade.fields_right / grade.fields if grade.fields else float(grade.exact),
        "handled": answered if case.results and grade.exact else None,
    }


def _execution(case: Case, steps: Sequence[Mapping[str, Any]]) -> bool | None:
    ran = [c["status"] for step in steps for c in step["calls"] if c["status"] in _RAN]
    if not ran or any(result.failed for result in case.results):
        return None  # where the case lets a tool fail, its failure says nothing
    return all(status == "ok" for status in ran)


def _answer_faults(case: Case, record: Mapping[str, Any], *, answered: bool) -> tuple[str, ...]:
    """What is wrong with how the turn ended: it has to answer, unless the case ends with its calls.

    So no turn is right in which nothing was called only because it failed.
    """
    ends_with_calls = bool(case.calls) and not case.results and case.answer is None
    failed = record["error"] is not None or record["stop"] == "failed"
    faults = answer_faults(case.answer, record["answer"]) if case.answer else ()
    if failed or not (answered or ends_with_calls):
        return (f"there is no answer ({record['stop']})", *faults)
    return faults


def _trouble(record: Mapping[str, Any]) -> tuple[str, ...]:
    error = record["error"]
    problems = [p["message"] for step in record["steps"] for p in step["problems"]]
    return (*([error["message"]] if error else []), *problems)


def _numbers(steps: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    usages = [step["usage"] for step in steps]
    first = usages[0]["first_token_seconds"] if usages else None
    cached = [u["cached_tokens"] for u in usages if u["cached_tokens"] is not None]
    return {
        "prompt_tokens": sum(u["prompt_tokens"] for u in usages) if usages else None,
        "cached_tokens": sum(cached) if cached else None,
        "completion_tokens": sum(u["completion_tokens"] for u in usages) if usages else None,
        "first_token_seconds": first,
        "seconds": sum(u["seconds"] - u["load_seconds"] for u in usages) if usages else None,
        "corrections": sum(n.startswith("corrected") for step in steps for n in step["notes"]),
        "repairs": sum(len(call["repairs"]) for step in steps for call in step["calls"]),
        "swallowed": sum(map(_swallowed, steps)),
    }


def _swallowed(step: Mapping[str, Any]) -> bool:
    """Whether the server wrote tokens and showed none: it could not read its model's call."""
    shown = step["raw"].strip() or step["reasoning"].strip() or step["calls"] or step["problems"]
    return step["mode"] == "native" and not shown and step["usage"]["completion_tokens"] > 1
