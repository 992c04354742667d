"""Undoing an operation: its tool's ``compensate`` handler, run once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fallback.errors import ConfigurationError, LedgerError
from fallback.execution import Wake, execute
from fallback.ledger.operations import Operations
from fallback.ledger.values import (
    NOTHING_HAPPENED,
    UNCERTAIN,
    Begun,
    Finished,
    Operation,
    Stored,
    Unknown,
)
from fallback.limits import DEFAULT_LIMITS
from fallback.loop.actions import Job
from fallback.messages import ToolCall, ToolResult
from fallback.tools import Tool, bind_compensation

__all__ = ["undo"]


def undo(
    operations: Operations,
    name: str,
    tools: Iterable[Tool],
    *,
    context: Mapping[str, Any],
    by: str,
    seconds: float | None,
) -> ToolResult:
    """See :meth:`fallback.ledger.Ledger.undo`."""
    stored = _undoable(operations, name)
    tool = _tool(tools, stored)
    values = {key: context[key] for key in tool.injected if key in context}
    call = _compensation(tool, stored, values)
    operation = Operation(
        tool=tool.name,
        arguments={"undoes": stored.id},
        user=stored.user,
        tenant=stored.tenant,
        seconds=seconds,
    )
    begun = operations.begin(f"undo:{stored.id}", operation, undoes=stored.id, by=by)
    if isinstance(begun, Finished):
        return begun.result
    if not isinstance(begun, Begun):
        state = "unknown" if isinstance(begun, Unknown) else "in progress"
        raise LedgerError(
            f"undoing {stored.id} was started before and is {state};"
            f" see `fallback ledger show {begun.id}`"
        )
    result = _run(operations, begun, call, seconds)
    why = result.detail or result.content
    if result.kind in NOTHING_HAPPENED:
        operations.fail(begun, why, effect="none")
    elif result.kind in UNCERTAIN:
        operations.fail(begun, why, effect="unknown")
    else:
        operations.finish(begun, result)
    return result


def _undoable(operations: Operations, name: str) -> Stored:
    stored = operations.get(name)
    if stored is None:
        raise LedgerError(f"no operation {name!r} in the ledger; see `fallback ledger list`")
    if stored.undoes is not None:
        raise LedgerError(f"operation {stored.id} undid {stored.undoes}; that cannot be undone")
    if stored.state != "finished" or stored.result is None or not stored.result.ok:
        state = stored.result.status if stored.result else stored.state
        raise LedgerError(f"operation {stored.id} is {state}; only a finished one can be undone")
    return stored


def _tool(tools: Iterable[Tool], stored: Stored) -> Tool:
    tool = next((tool for tool in tools if tool.name == stored.tool), None)
    if tool is None:
        raise LedgerError(
            f"operation {stored.id} ran {stored.tool!r}, which is not among the tools"
        )
    if tool.compensate is None:
        raise LedgerError(
            f"tool {tool.name!r} does not say how its calls are undone: no compensate"
        )
    return tool


def _compensation(tool: Tool, stored: Stored, values: Mapping[str, Any]) -> Callable[[], Any]:
    """The call to make; built before anything is recorded, so that a mistake costs nothing."""
    compensate = tool.compensate
    assert compensate is not None  # noqa: S101 - _tool has looked
    result = stored.result.value if stored.result else None
    try:
        made = bind_compensation(tool, stored.arguments, values, result)
    except (ValueError, ConfigurationError) as error:
        raise LedgerError(
            f"operation {stored.id} cannot be undone with these tools: {error}"
        ) from None
    if inspect.iscoroutinefunction(compensate):

        async def acall() -> Any:
            return await compensate(**made)

        return acall
    return lambda: compensate(**made)


def _run(
    operations: Operations, begun: Begun, call: Callable[[], Any], seconds: float | None
) -> ToolResult:
    """Run it as any tool is run: with its deadline, and whatever it raises as a result."""
    handler = Tool(name=begun.tool, handler=call)
    job = Job(
        call=ToolCall(id=begun.id, name=begun.tool, arguments={}), tool=handler, seconds=seconds
    )
    try:
        return execute(job, {}, DEFAULT_LIMITS, Wake())
    except BaseException:
        # An interrupt may come at any moment; what was done until then nobody knows.
        operations.fail(begun, "interrupted", effect="unknown")
        raise
