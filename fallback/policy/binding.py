"""Fingerprints: of a tool as it is declared, of a call that was approved, of an operation.

Two values have one fingerprint only if they are the same in every part that matters. The order of
keys in an object does not; whether a number is written ``1`` or ``1.0`` does.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, time
from enum import Enum
from hashlib import sha256
from typing import Any

from fallback.messages import ToolCall
from fallback.policy.context import ExecutionContext
from fallback.tools import Tool

__all__ = [
    "approval_hash",
    "authority",
    "call_key",
    "canonical_json",
    "operation_key",
    "own_key",
    "tool_version",
]


def canonical_json(value: Any) -> str:
    """One text for all spellings of a JSON value: keys sorted, ASCII, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)


def tool_version(tool: Tool) -> str:
    """Fingerprint of what a tool is declared as: name, description, schema, tier."""
    declared = [tool.name, tool.description, tool.parameters, tool.risk, sorted(tool.injected)]
    return _digest("tool", declared)


def authority(context: ExecutionContext, tool: Tool) -> dict[str, Any]:
    """The part of a context that a call of the tool depends on, as plain data.

    Of the injected values only those that this tool receives, and of objects that are not data
    (connections, clients) only their kind: they are others in every process.
    """
    values = context.injected
    return {
        "user": context.user,
        "tenant": context.tenant,
        "scopes": sorted(context.scopes),
        "allowed_tools": None if context.allowed_tools is None else sorted(context.allowed_tools),
        "locale": context.locale,
        "values": {name: _data(values[name]) for name in sorted(tool.injected & values.keys())},
    }


def approval_hash(tool: Tool, arguments: Mapping[str, Any], context: ExecutionContext) -> str:
    """What an approval is bound to: the tool as declared, the exact arguments, the authority."""
    return _digest("approval", [tool_version(tool), arguments, authority(context, tool)])


def operation_key(
    turn: str, tool: Tool, arguments: Mapping[str, Any], context: ExecutionContext
) -> str:
    """Names one operation: the same call, for the same authority, within one turn."""
    return _digest("operation", [turn, tool.name, arguments, authority(context, tool)])


def call_key(turn: str, step: int, tool: Tool, call: ToolCall, context: ExecutionContext) -> str:
    """Names one call of one reply: the same call again, in a later reply, is another one.

    The number of the reply is part of it, for servers give the same ids again.
    """
    made = [turn, step, call.id, tool.name, call.arguments, authority(context, tool)]
    return _digest("call", made)


def own_key(name: str, tool: Tool, context: ExecutionContext) -> str:
    """Names an operation that the tool itself has a name for; apart for each user and tenant."""
    return _digest("own operation", [name, tool.name, context.user, context.tenant])


def _digest(kind: str, value: Any) -> str:
    return sha256(f"{kind}/1:{canonical_json(value)}".encode()).hexdigest()


def _data(value: Any) -> str:
    try:
        return canonical_json(value)
    except (TypeError, ValueError, RecursionError):  # odd keys, cycles: an object, not data
        return _kind(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return [type(value).__qualname__, value.value]
    if isinstance(value, date | time):
        return [type(value).__qualname__, value.isoformat()]
    if isinstance(value, AbstractSet):
        return sorted(map(canonical_json, value))
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.repr}
    if isinstance(value, bytes | bytearray):
        return ["bytes", value.hex()]
    return _kind(value)


def _kind(value: Any) -> str:
    return f"({type(value).__module__}.{type(value).__qualname__})"
