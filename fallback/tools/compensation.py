"""The handler that undoes a tool's call: what it may take, and what it is given.

It names what it wants to know: parameters of the tool, injected ones included, and ``result`` for
what the call returned (in the form that JSON gives it, because it may be undone in another process,
days later). ``result`` always means the returned value, also for a tool with a parameter of that
name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fallback.errors import InvalidToolError

if TYPE_CHECKING:
    from fallback.tools.record import Tool

__all__ = ["bind_beside", "bind_compensation", "bound_to", "check_compensation"]

RESULT = "result"


def check_compensation(tool: Tool) -> None:
    """Make sure that a tool's ``compensate`` can be called when it is needed.

    Raises:
        InvalidToolError: it is no function, or takes what the tool does not have.
    """
    if not callable(tool.compensate):
        kind = type(tool.compensate).__name__
        raise InvalidToolError(f"tool {tool.name!r}: compensate is a function, got {kind}")
    known = _known(tool) | {RESULT}
    for name, parameter in _parameters(tool.compensate, tool).items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise InvalidToolError(
                f"tool {tool.name!r}: compensate takes {name!r} by position; it is called by name"
            )
        if name not in known and parameter.default is parameter.empty:
            raise InvalidToolError(
                f"tool {tool.name!r}: compensate takes {name!r}; it may take parameters of the tool"
                f" and {RESULT!r}"
            )


def bind_compensation(
    tool: Tool, arguments: Mapping[str, Any], injected_values: Mapping[str, Any], result: Any
) -> dict[str, Any]:
    """The keyword arguments of ``compensate`` for a call that was made.

    Args:
        tool: one with ``compensate``.
        arguments: the call's.
        injected_values: what the application knows, as :meth:`Tool.bind` takes them.
        result: what the call returned, in its JSON form.

    Raises:
        ArgumentsError, ConfigurationError: as :meth:`Tool.bind`.
    """
    assert tool.compensate is not None  # noqa: S101 - the caller has looked
    return bind_beside(tool, tool.compensate, arguments, injected_values, {RESULT: result})


def bind_beside(
    tool: Tool,
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    injected_values: Mapping[str, Any],
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The keyword arguments of a function that stands beside the handler, such as ``preview``.

    It is given what the handler would be given, defaults included, and ``more``, as far as it takes
    it.

    Raises:
        ArgumentsError, ConfigurationError: as :meth:`Tool.bind`.
    """
    made = {**_defaults(tool), **tool.bind(arguments, injected_values), **(more or {})}
    takes = _parameters(function, tool)
    if any(p.kind is p.VAR_KEYWORD for p in takes.values()):
        return made
    return {name: value for name, value in made.items() if name in takes}


def bound_to(function: Callable[..., Any] | None, instance: Any) -> Callable[..., Any] | None:
    """The method of an object, where a function beside the handler was declared in its class."""
    if function is None or next(iter(_signature(function)), None) != "self":
        return function
    method: Callable[..., Any] = function.__get__(instance)
    return method


def _known(tool: Tool) -> set[str]:
    named = set(tool.injected)
    if tool.function is not None:
        return named | set(tool.function.fields.values())
    return named | set(tool.parameters.get("properties", {}))


def _defaults(tool: Tool) -> dict[str, Any]:
    """What the handler takes where an argument was left out."""
    signature = _signature(tool.handler) if tool.handler is not None else {}
    return {name: p.default for name, p in signature.items() if p.default is not p.empty}


def _parameters(compensate: Callable[..., Any], tool: Tool) -> dict[str, inspect.Parameter]:
    found = _signature(compensate)
    if tool.function is not None and tool.function.bound:
        found.pop("self", None)
    return found


def _signature(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a builtin that does not say: it is given nothing
        return {}
