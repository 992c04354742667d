"""Who may do what, as values: no I/O, no clock. The gates of the loop ask; the drivers answer."""

from fallback.policy.binding import (
    approval_hash,
    authority,
    call_key,
    operation_key,
    own_key,
    tool_version,
)
from fallback.policy.context import NOBODY, ExecutionContext
from fallback.policy.rules import DEFAULT_POLICY, Deny, Hook, Policy, Rule, Verdict, verdict_of

__all__ = [
    "DEFAULT_POLICY",
    "NOBODY",
    "Deny",
    "ExecutionContext",
    "Hook",
    "Policy",
    "Rule",
    "Verdict",
    "approval_hash",
    "authority",
    "call_key",
    "operation_key",
    "own_key",
    "tool_version",
    "verdict_of",
]
