"""Validated JSON arguments as the keyword arguments of a handler."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fallback.errors import ConfigurationError
from fallback.schema.places import cut, place

if TYPE_CHECKING:
    from fallback.tools.functions import FunctionSignature
    from fallback.tools.record import Tool


class ArgumentsError(ValueError):
    """Arguments that fit the schema, but not the function: for the model, which can mend them.

    Attributes:
        fields: places of the arguments at fault.
    """

    def __init__(self, message: str, *fields: str) -> None:
        super().__init__(message)
        self.fields = fields


def bound_arguments(
    tool: Tool, arguments: Mapping[str, Any], injected_values: Mapping[str, Any]
) -> dict[str, Any]:
    """See :meth:`fallback.tools.Tool.bind`."""
    if sent := tool.injected & arguments.keys():
        names = ", ".join(f"`{name}`" for name in sorted(sent))
        raise ArgumentsError(f"unknown argument {names}")
    if tool.function is not None:
        made = _converted(tool.function, arguments)
    else:
        _check_taken(tool, arguments)
        made = dict(arguments)
    for name in sorted(tool.injected):
        if name in injected_values:
            made[name] = injected_values[name]
        elif not _has_default(tool.handler, name):
            raise ConfigurationError(
                f"tool {tool.name!r} needs a value for its injected parameter {name!r}"
            )
    return made


def _converted(function: FunctionSignature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    from pydantic import ValidationError

    try:
        return function.convert(arguments)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = place(_inside(arguments, first["loc"]))
        raise ArgumentsError(f"`{where}`: {cut(first['msg'], 200)}", where) from None


def _inside(arguments: Any, location: tuple[str | int, ...]) -> list[str | int]:
    """The part of pydantic's location that exists in the arguments; the rest names its own
    types."""
    parts = list(location[:1])
    here: Any = arguments.get(str(location[0])) if location else None
    for part in location[1:]:
        try:
            here = here[part]
        except (TypeError, LookupError):
            break
        parts.append(part)
    return parts


def _check_taken(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Whether the handler of a tool that was declared by its schema takes these names."""
    takes = _parameters(tool.handler)
    if takes is None or any(p.kind is p.VAR_KEYWORD for p in takes.values()):
        return
    named = {
        name: p for name, p in takes.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }
    for name in arguments:
        if name not in named:
            raise ArgumentsError(f"unknown argument `{cut(name)}`")
    for name, p in named.items():
        if p.default is p.empty and name not in arguments and name not in tool.injected:
            raise ArgumentsError(f"`{name}` is required")


def _has_default(handler: Callable[..., Any] | None, name: str) -> bool:
    parameter = (_parameters(handler) or {}).get(name)
    return parameter is not None and parameter.default is not parameter.empty


def _parameters(handler: Callable[..., Any] | None) -> Mapping[str, inspect.Parameter] | None:
    """What a handler says that it takes; ``None`` if it is a builtin that does not say."""
    try:
        return inspect.signature(handler).parameters if handler is not None else None
    except (TypeError, ValueError):
        return None
