"""A catalogue as an MCP server: the same validation, gates and masking as in a session.

The client stands where the model stands otherwise: what it sends is checked, what it must not see
is neither listed nor called, and nobody can be asked here, so a call that needs a person is refused
with words that say so.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fallback.catalogue import Catalogue
from fallback.execution import Pace, Rates, Wake, amake, check_context
from fallback.execution.hooks import aplay
from fallback.execution.shown import Mask
from fallback.ledger import Ledger
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.loop import Check, Job
from fallback.messages import Problem, ToolCall, ToolResult
from fallback.parsing.rawcall import RawCall
from fallback.policy import DEFAULT_POLICY, NOBODY, ExecutionContext, Policy
from fallback.session.deciding import authorised
from fallback.session.provenance import Provenance
from fallback.session.recording import Recorder
from fallback.tools import Risk, Tool
from fallback.validation import validate

__all__ = ["Service", "hints_of"]

NOT_ALLOWED = "Not run: this is not allowed."
NEEDS_A_PERSON = "Not run: a person has to approve this call, and nobody can be asked here."


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The tools of a catalogue, for clients of MCP.

    Attributes:
        catalogue: of it those that are visible, have a handler, and are not forbidden, are served.
        policy: which calls run; those that need an approval do not.
        context: under whose authority they run; fills injected parameters.
        ledger: where calls that may change something are recorded before they run.
        limits: bounds of a call and its result.
        masks: what no result may show.

    Raises:
        ConfigurationError: an injected parameter has no value.
    """

    catalogue: Catalogue
    ledger: Ledger
    policy: Policy = DEFAULT_POLICY
    context: ExecutionContext = NOBODY
    limits: Limits = DEFAULT_LIMITS
    masks: Sequence[Mask] = ()
    rates: Rates = field(default_factory=Rates, repr=False)

    def __post_init__(self) -> None:
        for tool in self.catalogue:
            check_context(tool, self.context.injected)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What a client may see and call."""
        return tuple(
            tool
            for tool in self.catalogue
            if tool.handler is not None and self.policy.allows(tool, self.context)
        )

    async def call(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        """Pass a call through the gates, and run it if they let it; never raises for a call.

        Args:
            tool: one of :attr:`tools`.
            arguments: as the client sent them.
        """
        raw = RawCall(name=tool.name, arguments=dict(arguments))
        name = f"call_{secrets.token_hex(8)}"
        call = validate(raw, Catalogue([tool]), id=name, dialect="mcp")
        if isinstance(call, Problem):
            return ToolResult(
                call_id=name,
                name=tool.name,
                status="retry",
                kind="invalid_arguments",
                content=f"Error: {call.message}",
            )
        refused = await self._refused(tool, call)
        return refused or await self._run(tool, call)

    async def _refused(self, tool: Tool, call: ToolCall) -> ToolResult | None:
        checks = [Check(call=call, tool=tool)]
        (refusal,) = await aplay(authorised(checks, self.policy, self.context))
        refused = ToolResult(call_id=call.id, name=call.name, status="denied")
        if refusal is not None:
            return replace(refused, kind="denied", content=NOT_ALLOWED, detail=refusal.reason)
        if self.policy.approvers(tool, tainted=False):
            return replace(refused, kind="approval_required", content=NEEDS_A_PERSON)
        return None

    async def _run(self, tool: Tool, call: ToolCall) -> ToolResult:
        seconds = self.limits.tool_seconds if tool.timeout is None else tool.timeout
        job = Job(call=call, tool=tool, seconds=seconds, writes=self.policy.writes(tool))
        wake = Wake()
        pace = Pace(
            rates=self.rates,
            clock=time.monotonic,
            left=lambda: None,
            limits=self.limits,
            retries=self.limits.max_transient_retries,
            masks=self.masks,
        )

        async def make(job: Job) -> ToolResult:
            return await amake(job, self.context.injected, pace, wake)

        try:
            if not job.writes:
                return await make(job)
            return await aplay(self._recorder(call).run(job, make))
        finally:
            wake.cancel()  # a client that has gone waits for nothing

    def _recorder(self, call: ToolCall) -> Recorder:
        # Each call of a client is one operation: there is no turn that could repeat it.
        turn = f"mcp_{call.id}"
        provenance = Provenance(
            turn=turn, conversation="", context=self.context, model="", digest="", dialect="fenced"
        )
        return Recorder(ledger=self.ledger, turn=turn, context=self.context, provenance=provenance)


def hints_of(tool: Tool) -> dict[str, bool]:
    """The tool's tier in MCP's words; empty where nobody has said what it does."""
    if tool.risk is None:
        return {}
    if tool.risk is Risk.READ_ONLY:
        return {"read_only_hint": True, "open_world_hint": tool.untrusted}
    return {
        "read_only_hint": False,
        "destructive_hint": tool.risk is Risk.DESTRUCTIVE,
        "idempotent_hint": tool.idempotent,
        "open_world_hint": tool.untrusted or tool.risk is Risk.EXTERNAL_COMMUNICATION,
    }
