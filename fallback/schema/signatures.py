"""A tool as the model reads it: one line like a TypeScript signature, then what is worth saying.

::

    get_weather(city: string, days?: integer = 3, unit?: "c" | "f")
      The weather of the coming days.
      city: name of the place (not empty)
      days: 1 to 7

It says what JSON Schema says in about half of the tokens; validation never uses it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from fallback.schema.compiled import CompiledSchema
from fallback.schema.document import Document, Node
from fallback.schema.flat import Flat, flatten
from fallback.schema.places import printable
from fallback.schema.typetext import TypePrinter

_MOST_FORMS = 8
"""Ways to call one tool that are written out one by one."""


class Described(Protocol):
    """What a tool has to say about itself."""

    @property
    def name(self) -> str: ...  # noqa: D102 - see Tool
    @property
    def description(self) -> str: ...  # noqa: D102 - see Tool
    @property
    def compiled(self) -> CompiledSchema: ...  # noqa: D102 - see Tool


def signature(tool: Described) -> str:
    """The tool in the compact notation, without a line break at the end.

    Alternatives at the top of the schema become one signature each. Types that are used more than
    once or contain themselves stand under ``where``. Descriptions are kept whole.
    """
    schema = tool.compiled
    printer = TypePrinter(schema.document, room=schema.limits.max_schema_chars)
    root = flatten(schema.document, [schema.document.root])
    forms, needs = _forms(schema.document, root)
    lines = [f"{tool.name}({', '.join(_arguments(printer, form))})" for form in forms]
    lines += [f"  {line}" for line in _described(tool.description)]
    printer.declare()
    lines += [f"  {need}" for need in [*needs, *_dependencies(root)]]
    lines += [f"  {path}: {text}" for path, text in printer.notes.items()]
    lines += [f"  where {name} = {text}" for name, text in printer.declared.items()]
    return "\n".join(lines)


def type_text(document: Document, node: Node, limit: int) -> str:
    """The type alone on one line; its plain kind if that is longer than ``limit`` characters."""
    flat = flatten(document, [node])
    text = TypePrinter(document, room=20 * limit).of(flat, "")
    if len(text) <= limit:
        return text
    return " | ".join(flat.kinds or ["any"])


def _described(text: str) -> Iterable[str]:
    """The lines of a description without what would break the shape of the whole."""
    clean = printable(text.expandtabs(4))
    return [line.rstrip() for line in clean.strip().split("\n") if line.strip()]


def _arguments(printer: TypePrinter, form: Flat) -> list[str]:
    """The arguments, and in the end the alternatives that could not be written out one by one."""
    texts = printer.members(form, "")
    for group in form.unions:
        kinds = " | ".join(dict.fromkeys(printer.text([node], "") for node in group))
        texts.append(f"...({kinds})")
    return texts


def _forms(document: Document, root: Flat) -> tuple[list[Flat], list[str]]:
    """The ways to call the tool, and what is needed besides in words."""
    needs, groups = [], []
    for group in root.unions:
        branches = [flatten(document, [node]) for node in group]
        if all(branch.says_nothing for branch in branches):
            needs += _either(branches)
        else:
            groups.append(group)
    root.unions = groups
    if len(groups) != 1 or len(groups[0]) > _MOST_FORMS:
        return [root], needs
    base = [Node(source.pointer, _without_unions(source.schema)) for source in root.sources]
    return [flatten(document, [*base, branch]) for branch in groups[0]], needs


def _without_unions(schema: dict[str, object]) -> dict[str, object]:
    """The schema as one of the sources that :func:`flatten` has found: nothing left to follow."""
    gone = ("anyOf", "oneOf", "allOf", "$ref", "$dynamicRef")
    return {keyword: held for keyword, held in schema.items() if keyword not in gone}


def _either(branches: list[Flat]) -> list[str]:
    """``needs city, or lat and lon`` for alternatives that only say what is required."""
    choices = [" and ".join(branch.required) for branch in branches if branch.required]
    if len(choices) < len(branches) or len(choices) < 2:
        return []
    return [f"needs {', or '.join(choices)}"]


def _dependencies(root: Flat) -> list[str]:
    lines = []
    for source in root.sources:
        held = source.schema.get("dependentRequired")
        for name, needed in held.items() if isinstance(held, dict) else ():
            if isinstance(needed, list) and needed:
                lines.append(f"{name} needs {' and '.join(map(str, needed))}")
    return lines
