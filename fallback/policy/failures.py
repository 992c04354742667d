"""Every way in which a call can fail: at which gate, and whether trying again makes sense.

The table in ``docs/gates.md`` is compared with this one by a test.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from fallback.messages import FailureKind, ProblemKind

__all__ = ["FAILURES", "Failure", "Gate", "Retry"]

Gate = Literal[
    "parse",
    "declared name",
    "schema",
    "allow list, authorisation",
    "approval",
    "budget",
    "idempotency",
    "execution",
]

Retry = Literal["once", "adapt", "application", "wait", "no"]
"""Whether trying again makes sense.

``once``: the model is shown its mistake and may mend it one time. ``adapt``: the model may call
again, with what it was told in mind. ``application``: it is tried again without the model, a few
times, where that does no harm. ``wait``: a person decides. ``no``: nothing would be different.
"""


class Failure(NamedTuple):
    """One kind of failure; ``told`` is what the model is told of it."""

    gate: Gate
    retry: Retry
    told: str


FAILURES: dict[ProblemKind | FailureKind, Failure] = {
    "invalid_json": Failure("parse", "once", "its own words, what is wrong with them, an example"),
    "truncated": Failure("parse", "once", "that the call was cut off, and to write less"),
    "oversized": Failure("parse", "once", "how much is allowed"),
    "in_reasoning": Failure("parse", "once", "that a call counts only outside the reasoning"),
    "required_call_missing": Failure("parse", "once", "that a call is required here"),
    "unknown_tool": Failure("declared name", "once", "the nearest names, and the tools there are"),
    "wrong_tool": Failure("declared name", "once", "which tool may be called now"),
    "invalid_arguments": Failure("schema", "once", "each field at fault, and what belongs there"),
    "denied": Failure("allow list, authorisation", "no", "that it is not allowed"),
    "approval_required": Failure("approval", "wait", "nothing: the turn ends, and is kept"),
    "not_run": Failure("budget", "no", "which limit was reached"),
    "outcome_unknown": Failure("idempotency", "no", "that a person has to look"),
    "timeout": Failure("execution", "application", "how long was waited"),
    "cancelled": Failure("execution", "no", "nothing: the turn ends"),
    "transient": Failure("execution", "application", "that it is not available right now"),
    "conflict": Failure("execution", "adapt", "the current state, and what can be done"),
    "partial": Failure("execution", "adapt", "for each item, whether it is done, or why not"),
    "failed": Failure("execution", "no", "the tool's own words"),
    "internal": Failure("execution", "no", "the kind of error"),
}
