"""The places of a tool that a reviewer looks at: every parameter, nested ones included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fallback.catalogue import Catalogue
from fallback.schema.places import place
from fallback.schema.shape import Step, subschemas
from fallback.tools import Tool

__all__ = ["DESCRIPTION", "NAME", "ROOT", "Parameter", "description_of", "kinds", "parameters"]
__all__ += ["schemas"]

ROOT, NAME, DESCRIPTION = "$.parameters", "$.name", "$.description"


class Parameter(NamedTuple):
    """One named value that a model writes. ``alone`` says that nothing restricts which one."""

    tool: str
    name: str
    place: str
    schema: Mapping[str, Any]

    @property
    def description(self) -> str:
        """What its author says about it."""
        return description_of(self.schema)

    @property
    def is_free_text(self) -> bool:
        """Whether it takes any text at all."""
        fixed = ("enum", "const", "pattern", "$ref")
        return "string" in kinds(self.schema) and not any(key in self.schema for key in fixed)


def schemas(tool: Tool) -> Iterator[tuple[Step, Mapping[str, Any]]]:
    """Every schema of a tool's parameters with the way to it, outermost first.

    Booleans, which are schemas too, are left out. The catalogue has checked size and depth.
    """
    waiting: list[tuple[Step, Any]] = [((), tool.parameters)]
    for way, schema in waiting:
        if isinstance(schema, Mapping):
            yield way, schema
            waiting += [((*way, *step), sub) for step, sub in subschemas(schema)]


def parameters(catalogue: Catalogue) -> Iterator[Parameter]:
    """All parameters of all visible tools."""
    for tool in catalogue:
        for way, schema in schemas(tool):
            if len(way) >= 2 and way[-2] == "properties":
                where = place(("parameters", *way))
                yield Parameter(tool.name, str(way[-1]), where, schema)


def kinds(schema: Mapping[str, Any]) -> frozenset[str]:
    """The types that a schema names itself or in its alternatives."""
    own = schema.get("type")
    found = {own} if isinstance(own, str) else {k for k in own or () if isinstance(k, str)}
    for keyword in ("anyOf", "oneOf"):
        for alternative in schema.get(keyword) or ():
            if isinstance(alternative, Mapping) and "enum" not in alternative:
                inner = alternative.get("type")
                found |= {inner} if isinstance(inner, str) else set()
    return frozenset(found)


def description_of(schema: Mapping[str, Any]) -> str:
    """The description, or nothing where it is not text."""
    text = schema.get("description")
    return text.strip() if isinstance(text, str) else ""
