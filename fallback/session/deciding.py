"""Asking the application's hooks whether calls are authorised.

A hook that raises, or answers anything but ``True``, refuses. It is given copies, so that nothing
it does to the arguments reaches the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import partial

from fallback.execution.hooks import Steps
from fallback.execution.masking import safe_error
from fallback.loop import Check
from fallback.policy import Deny, ExecutionContext, Policy, verdict_of

__all__ = ["authorised"]


def authorised(
    checks: Sequence[Check], policy: Policy, context: ExecutionContext
) -> Steps[tuple[Deny | None, ...]]:
    """The first refusal of each call, or ``None``."""
    refusals: list[Deny | None] = []
    for check in checks:
        refusal = yield from _first_refusal(check, policy, context)
        refusals.append(refusal)
    return tuple(refusals)


def _first_refusal(check: Check, policy: Policy, context: ExecutionContext) -> Steps[Deny | None]:
    for hook in policy.authorise:
        arguments = deepcopy(check.call.arguments)
        try:
            answer = yield partial(hook, check.tool, arguments, context)
        except Exception as error:  # noqa: BLE001 # a foreign hook may raise anything; it refuses
            return Deny(f"a hook failed: {safe_error(error)}")
        if (refusal := verdict_of(answer)) is not None:
            return refusal
    return None
