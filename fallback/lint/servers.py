"""What a server forgets of a schema before its model sees it, in native mode.

Source: Ollama, ``api/types.go`` (``ToolFunctionParameters``, ``ToolProperty``) at commit
fb3076099, August 2026. Go's decoder drops what the structs do not name, without a word; what lies
under ``items`` and ``$defs`` is kept as it is. In prompt mode nothing is lost, and in either mode
every argument is checked against the whole schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fallback.lint.places import ROOT, description_of
from fallback.lint.record import Found, Rule, Subject
from fallback.lint.words import listed
from fallback.schema.places import place
from fallback.schema.shape import Step
from fallback.tools import Tool

__all__ = ["RULES"]

KEPT_AT_ROOT = frozenset(("type", "$defs", "items", "required", "properties"))
KEPT_IN_PROPERTY = frozenset(
    ("anyOf", "type", "items", "description", "enum", "properties", "required")
)
"""Keywords that reach the model's template."""

_SHAPES = listed(
    "$ref oneOf allOf anyOf not if then else const patternProperties prefixItems dependentSchemas"
    " dependentRequired"
)
"""Without these the model does not know what to write at all."""

_BOUNDS = listed(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern"
    " format minItems maxItems uniqueItems default"
)
"""Without these it writes what is then refused, unless the description says them, too."""


def _dropped(subject: Subject) -> Iterator[Found]:
    for tool in subject.catalogue:
        bounds: list[str] = []
        for way, schema in _decoded(tool):
            kept = KEPT_IN_PROPERTY if way else KEPT_AT_ROOT
            where = place(("parameters", *way)) if way else ROOT
            lost = [keyword for keyword in schema if keyword not in kept]
            for keyword in lost:
                if keyword in _SHAPES:
                    yield _lost(tool.name, where, keyword)
            told = description_of(schema)
            silent = [k for k in lost if k in _BOUNDS and not _says(told, schema[k])]
            bounds += [f"{keyword} of {where[len(ROOT) :] or '$'}" for keyword in silent]
        if bounds:
            shown = ", ".join(bounds[:4]) + (f" and {len(bounds) - 4} more" * (len(bounds) > 4))
            yield Found(
                tool.name,
                ROOT,
                f"Ollama does not tell the model of {shown}",
                "say it in the description too, or use prompt mode",
                "note",
            )


def _decoded(tool: Tool) -> Iterator[tuple[Step, Mapping[str, Any]]]:
    """The schemas that become a struct of the server, with the way to each."""
    waiting: list[tuple[Step, Any]] = [((), tool.parameters)]
    for way, schema in waiting:
        if not isinstance(schema, Mapping):
            continue
        yield way, schema
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            waiting += [((*way, "properties", name), sub) for name, sub in properties.items()]
        if way:
            alternatives = schema.get("anyOf") or ()
            waiting += [((*way, "anyOf", i), sub) for i, sub in enumerate(alternatives)]


def _says(description: str, value: Any) -> bool:
    return str(value).strip("^$") in description


def _lost(tool: str, where: str, keyword: str) -> Found:
    return Found(
        tool,
        where,
        f"Ollama drops `{keyword}` before the model sees the tool",
        "write it without, as plain type, enum, properties and anyOf of a property; or use prompt"
        " mode, where it is shown",
    )


def _booleans(subject: Subject) -> Iterator[Found]:
    for tool in subject.catalogue:
        for way, schema in _decoded(tool):
            properties = schema.get("properties")
            for name, inner in properties.items() if isinstance(properties, Mapping) else ():
                if isinstance(inner, bool):
                    yield Found(
                        tool.name,
                        place(("parameters", *way, "properties", name)),
                        f"`{name}` has the schema {str(inner).lower()}; Ollama answers 400 to that",
                        "write {} or the type",
                    )


RULES: tuple[Rule, ...] = (
    Rule(
        name="dropped_by_server",
        severity="warning",
        finds="schema keywords that Ollama drops silently in native mode (a note for bounds and"
        " defaults)",
        why="the model is not told what the call is then refused for",
        check=_dropped,
    ),
    Rule(
        name="refused_by_server",
        severity="warning",
        finds="a schema of `true` or `false`, which Ollama refuses in native mode",
        why="the whole request of another client fails; ours writes an object in its place",
        check=_booleans,
    ),
)
