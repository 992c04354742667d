"""All that a schema says about one value, with references and ``allOf`` dissolved.

For showing a schema and for making an example of it; never for validating, which is done against
the schema itself. Each schema is taken in once, however many references lead to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fallback.schema.document import Document, Node
from fallback.schema.exact import type_of

_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_FIRST = ("description", "default", "examples", "pattern", "format", "multipleOf", "uniqueItems")


@dataclass(slots=True)
class Flat:
    """What holds for one value.

    Attributes:
        kinds: the types it may have, in the order of the schema; ``None`` if the schema does not
            say.
        options: the only values it may have (``enum``, ``const``), if they are listed.
        properties: per name, every schema that applies to that member.
        required: names of members that must be there, in order.
        rest: the schema of members that are not named; ``True`` or ``False`` where it says just
            that.
        prefix: the schemas of the first items.
        items: the schema of the other items.
        unions: groups of alternatives (``anyOf``, ``oneOf``), of each of which one has to hold.
        keywords: bounds, of which the tightest is kept, and annotations, of which the first is.
        sources: the schemas that were taken in, in order.
    """

    kinds: list[str] | None = None
    options: list[Any] | None = None
    properties: dict[str, list[Node]] = field(default_factory=dict)
    required: dict[str, None] = field(default_factory=dict)
    rest: Node | bool | None = None
    prefix: list[Node] = field(default_factory=list)
    items: Node | None = None
    unions: list[list[Node]] = field(default_factory=list)
    keywords: dict[str, Any] = field(default_factory=dict)
    sources: list[Node] = field(default_factory=list)

    @property
    def likely_kinds(self) -> list[str]:
        """The types, or what the other keywords are about where the schema does not say."""
        if self.kinds is not None:
            return self.kinds
        about_objects = bool(self.properties) or isinstance(self.rest, Node)
        about_arrays = bool(self.prefix) or self.items is not None
        return ["object"] * about_objects + ["array"] * about_arrays

    @property
    def says_nothing(self) -> bool:
        """Whether every value is as good as any other."""
        told = self.kinds, self.options, self.items
        return all(t is None for t in told) and not (self.properties or self.prefix or self.unions)


def flatten(document: Document, nodes: Iterable[Node]) -> Flat:
    """The schemas of one value as one."""
    flat = Flat()
    seen: set[str] = set()
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        if node.pointer in seen:
            continue
        seen.add(node.pointer)
        if node.schema is False:
            flat.options = []
        if not isinstance(node.schema, dict):
            continue
        _take(flat, node)
        # A stack: what comes first in the document is pushed last.
        parts = node.schema.get("allOf")
        if isinstance(parts, list):
            waiting += [node.at("allOf", i) for i in range(len(parts) - 1, -1, -1)]
        if target := document.reference(node):
            waiting.append(target)
    return flat


def _take(flat: Flat, node: Node) -> None:
    schema = node.schema
    flat.sources.append(node)
    _take_kinds(flat, schema)
    _take_members(flat, node)
    for keyword in ("anyOf", "oneOf"):
        held = schema.get(keyword)
        if isinstance(held, list) and held:
            flat.unions.append([node.at(keyword, i) for i in range(len(held))])
    for keyword in _FIRST:
        if keyword in schema:
            flat.keywords.setdefault(keyword, schema[keyword])
    for keywords, tightest in ((_LOWER, max), (_UPPER, min)):
        for keyword in keywords:
            bound = schema.get(keyword)
            if isinstance(bound, int | float) and not isinstance(bound, bool):
                flat.keywords[keyword] = tightest(flat.keywords.get(keyword, bound), bound)


def _take_kinds(flat: Flat, schema: dict[str, Any]) -> None:
    kind = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else kind
    if isinstance(kinds, list):
        kinds = [k for k in kinds if isinstance(k, str)]
        flat.kinds = kinds if flat.kinds is None else [k for k in flat.kinds if _within(k, kinds)]
    options = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(options, list):
        before = flat.options
        flat.options = options if before is None else [o for o in before if o in options]
    if flat.options is not None and flat.kinds is not None:
        flat.options = [o for o in flat.options if _within(type_of(o), flat.kinds)]


def _within(kind: str, kinds: list[str]) -> bool:
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _take_members(flat: Flat, node: Node) -> None:
    schema = node.schema
    if isinstance(schema.get("properties"), dict):
        for name in schema["properties"]:
            flat.properties.setdefault(name, []).append(node.at("properties", name))
    if isinstance(schema.get("required"), list):
        flat.required.update(dict.fromkeys(n for n in schema["required"] if isinstance(n, str)))
    if flat.rest is None and "additionalProperties" in schema:
        rest = schema["additionalProperties"]
        flat.rest = rest if isinstance(rest, bool) else node.at("additionalProperties")
    if flat.rest is None and isinstance(schema.get("patternProperties"), dict):
        for pattern in list(schema["patternProperties"])[:1]:
            flat.rest = node.at("patternProperties", pattern)
    if flat.items is None and isinstance(schema.get("items"), dict):
        flat.items = node.at("items")
    if not flat.prefix and isinstance(schema.get("prefixItems"), list):
        flat.prefix = [node.at("prefixItems", i) for i in range(len(schema["prefixItems"]))]
