"""Tools as dictionaries, in the forms that servers, clients and protocols write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fallback.errors import InvalidToolError
from fallback.schema.places import preview

# OpenAI and Ollama; Anthropic (messages API); MCP (specification, server/tools).
_PARAMETERS = ("parameters", "input_schema", "inputSchema")
_EXAMPLES = ("input_examples", "examples")
_LINT_OFF = "x-lint-off"


def read_dict(d: Mapping[str, Any]) -> dict[str, Any]:
    """Name, description, parameters and examples; what else is in there is somebody else's.

    Raises:
        InvalidToolError: no dictionary of a tool.
    """
    if not isinstance(d, Mapping):
        raise InvalidToolError(f"a tool is a dictionary with a name, got {type(d).__name__}")
    inside = d.get("function", d)
    if not isinstance(inside, Mapping):
        kind = type(inside).__name__
        raise InvalidToolError(f'the "function" of a tool must be a dictionary, got {kind}')
    name = inside.get("name")
    if name is None:
        kind = d.get("type", "function")
        why = f"of type {preview(kind)} " if kind not in ("function", "object") else ""
        keys = preview(list(inside), 120)
        raise InvalidToolError(f"a tool {why}has no name; it has the keys {keys}")
    description = inside.get("description")
    return {
        "name": name,
        "description": "" if description is None else description,
        "parameters": next((inside[key] for key in _PARAMETERS if key in inside), None),
        "examples": _examples(inside),
        "lint_off": _lint_off(inside),
    }


def _examples(inside: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    for key in _EXAMPLES:
        held = inside.get(key)
        if isinstance(held, list):
            return tuple(dict(example) for example in held if isinstance(example, Mapping))
    return ()


def _lint_off(inside: Mapping[str, Any]) -> dict[str, Any]:
    """Our own extension; whether it names rules is for ``fallback lint`` to say."""
    held = inside.get(_LINT_OFF)
    return {str(rule): reason for rule, reason in held.items()} if isinstance(held, Mapping) else {}
