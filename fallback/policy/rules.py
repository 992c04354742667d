"""What may run at once, what needs a person, and what may not run at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Literal, get_args

from fallback.errors import ConfigurationError
from fallback.policy.context import ExecutionContext, names
from fallback.tools import Risk, Tool

__all__ = ["DEFAULT_POLICY", "Deny", "Hook", "Policy", "Rule", "Verdict", "verdict_of"]

Rule = Literal["run", "approve", "approve_twice", "deny"]
"""What a tier asks for: nothing, one approver, two of them, or that nobody can allow it."""


@dataclass(frozen=True, slots=True)
class Deny:
    """A hook's refusal. The reason is for the log; the model only hears that it is not allowed."""

    reason: str = ""


Verdict = bool | Deny
Hook = Callable[[Tool, Mapping[str, Any], ExecutionContext], Verdict | Awaitable[Verdict]]
"""A hook: takes the tool, the arguments and the context; ``True`` allows, ``Deny`` refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules of the gates behind validation: allow list, authorisation, approval.

    A rule is read from the tool's declaration and from what the application says, so no text, of a
    model or of a tool's result, can change one.

    Attributes:
        allow: the only tools that may be called; ``None`` for all that are offered.
        authorise: hooks, sync or async, asked in order; the first refusal counts. What is neither
            ``True`` nor a refusal refuses, and so does a hook that raises.
        read_only: rule of tools that only read.
        reversible_write: rule of tools whose effect can be taken back.
        external_communication: rule of tools that send something to somebody.
        destructive: rule of tools whose effect cannot be taken back: consider ``approve_twice``.
        undeclared: rule of tools that do not say what they do. The application wrote them and
            offered them, so they run, until untrusted content was read; ``fallback lint`` reports
            them.
        pre_approved: tools that need no approval of their own any more.
        staged_writes: whether a tool that is not read only needs an approval all the same once
            the model has read untrusted content, which may have been written to steer it.
        approval_seconds: how long an approval, and the wait for one, may last.

    Raises:
        ConfigurationError: a rule that does not exist, or names given as one string.
    """

    allow: AbstractSet[str] | None = None
    authorise: tuple[Hook, ...] = ()
    read_only: Rule = "run"
    reversible_write: Rule = "approve"
    external_communication: Rule = "approve"
    destructive: Rule = "approve"
    undeclared: Rule = "run"
    pre_approved: AbstractSet[str] = frozenset()
    staged_writes: bool = True
    approval_seconds: float = 24 * 3600.0

    def __post_init__(self) -> None:
        for tier in (*Risk, "undeclared"):
            rule = getattr(self, tier)
            if rule not in get_args(Rule):
                known = ", ".join(get_args(Rule))
                raise ConfigurationError(f"Policy({tier}={rule!r}): there are {known}")
        if self.approval_seconds <= 0:
            raise ConfigurationError("approval_seconds has to be more than 0")
        put = object.__setattr__  # frozen: this is the one moment when it is not
        hooks = (self.authorise,) if callable(self.authorise) else self.authorise
        put(self, "authorise", tuple(hooks))
        put(self, "pre_approved", names("pre_approved", self.pre_approved))
        if self.allow is not None:
            put(self, "allow", names("allow", self.allow))

    def allows(self, tool: Tool, context: ExecutionContext) -> bool:
        """Whether neither list excludes the tool and its tier may be used at all."""
        lists = (self.allow, context.allowed_tools)
        return self.rule(tool) != "deny" and all(li is None or tool.name in li for li in lists)

    def rule(self, tool: Tool) -> Rule:
        """The rule of the tool's tier."""
        rule: Rule = getattr(self, tool.risk or "undeclared")
        return rule

    def writes(self, tool: Tool) -> bool:
        """Whether a call may change something: then it is recorded before it runs."""
        if tool.risk is None:
            return self.undeclared != "run"
        return tool.risk is not Risk.READ_ONLY

    def approvers(self, tool: Tool, *, tainted: bool) -> int:
        """How many people have to approve a call of the tool.

        Args:
            tool: what is called.
            tainted: whether the model had read untrusted content before it wrote the call.
        """
        rule = self.rule(tool)
        wanted = {"approve": 1, "approve_twice": 2}.get(rule, 0)
        # What does not say that it only reads may write.
        staged = tainted and self.staged_writes and tool.risk is not Risk.READ_ONLY
        if tool.name in self.pre_approved and not staged:
            return 0
        return max(wanted, 1) if staged else wanted


DEFAULT_POLICY = Policy()


def verdict_of(answer: object) -> Deny | None:
    """What a hook's answer means: ``None`` allows; all that is not clearly ``True`` refuses."""
    if answer is True:
        return None
    if isinstance(answer, Deny):
        return answer
    if answer is False:
        return Deny("refused by a hook")
    return Deny(f"a hook returned {type(answer).__name__}, which is neither True nor Deny")
