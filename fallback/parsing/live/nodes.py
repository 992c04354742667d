"""What a tool's schema may still change about a value that is being written."""

from __future__ import annotations

from typing import Any, Literal

from fallback.schema.coercion import DEEPEST_CHAIN, coerce_at
from fallback.schema.document import Node
from fallback.schema.shape import ANNOTATIONS
from fallback.tools import Tool

Kind = Literal["string", "object", "array"]

_MIXED = frozenset({"allOf", "anyOf", "oneOf", "enum", "const", "$dynamicRef"})
_BY_PLACE = frozenset({"patternProperties", "prefixItems"})
_PLAIN = ANNOTATIONS | {"type"}
_NOTHING = {"type": "null"}


class Nodes:
    """The schemas of one tool's arguments."""

    def __init__(self, tool: Tool) -> None:
        self.ready = tool.compiled
        self.root = self.settled(self.ready.document.root)
        # Whether no other argument than the declared ones is taken.
        self.closed = self.ready.schema.get("additionalProperties") is False

    def settled(self, node: Node | None) -> Node | None:
        """Where plain references lead, and what is optional without its ``null``."""
        for _ in range(DEEPEST_CHAIN):
            if node is None or not isinstance(node.schema, dict):
                return None
            if "$ref" in node.schema and _MIXED.isdisjoint(node.schema):
                target = self.ready.document.reference(node)
                if target is None or "type" in node.schema:
                    return node
                node = target
                continue
            words = _MIXED & node.schema.keys()
            if words not in ({"anyOf"}, {"oneOf"}) or "type" in node.schema:
                return node
            (word,) = words
            options = node.schema[word]
            left = [i for i, option in enumerate(options) if option != _NOTHING]
            if len(left) != 1:
                return node
            node = node.at(word, left[0])
        return node

    def takes(self, node: Node | None, kind: Kind) -> bool:
        """Whether a value of that kind stays as it is, but for what stands inside."""
        if node is None:
            return True
        schema = node.schema
        mixed = _MIXED & schema.keys()
        if kind == "string" and len(mixed) == 1 and _has_any_string(schema, *mixed):
            mixed = frozenset()
        if "$ref" in schema or mixed:
            return False
        if kind != "string" and not _BY_PLACE.isdisjoint(schema):
            return False
        wanted = schema.get("type", kind)
        return kind in wanted if isinstance(wanted, list) else bool(wanted == kind)

    def member(self, node: Node | None, key: str) -> Node | None:
        """The schema of one member of an object; ``None`` if anything may stand there."""
        if node is None:
            return None
        properties = node.schema.get("properties")
        if isinstance(properties, dict) and key in properties:
            return self.settled(node.at("properties", key))
        return self._beside(node, "additionalProperties")

    def item(self, node: Node | None) -> Node | None:
        """The schema of the items of an array; ``None`` if anything may stand there."""
        return None if node is None else self._beside(node, "items")

    def _beside(self, node: Node, word: str) -> Node | None:
        rest = node.schema.get(word)
        return self.settled(node.at(word)) if isinstance(rest, dict) else None

    def coerced(self, node: Node | None, value: Any) -> Any:
        """The value as the schema wants it."""
        if node is None or (type(value) is str and self.takes(node, "string")):
            return value
        return coerce_at(value, node, self.ready)

    def may_be_null(self, name: str) -> bool:
        """Whether a declared argument may be ``null``."""
        return self.ready.argument_accepts(name, None)


def _has_any_string(schema: dict[str, Any], word: str) -> bool:
    """Whether one of several schemas takes every string as it is."""
    if word not in ("anyOf", "oneOf"):
        return False
    return any(
        isinstance(option, dict) and option.get("type") == "string" and option.keys() <= _PLAIN
        for option in schema[word]
    )
