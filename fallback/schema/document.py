"""One schema document: what its references mean, and how much work it can cause.

A schema is written by somebody else. References can form loops, which is legal and common (a tree),
and they can multiply: ``a`` uses ``b`` twice, ``b`` uses ``c`` twice ... so that a hundred lines
stand for more evaluations than there are atoms. A validator follows every one of them. So the
number of ways through a schema is counted first, and where it is not small the cost for a given
value is worked out, with every pair of schema and value counted once, before a validator may see
that value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from fallback.schema.normal import Schema, follow, pointer_parts
from fallback.schema.shape import Step, subschemas

MANY_WAYS = 20_000
"""Ways through a schema beyond which its cost is worked out for each value. A schema that repeats
nothing has as many as it has nodes; those met in practice have under 2,000."""

SAME_VALUE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
"""Keywords whose schemas apply to the value itself, not to a part of it."""

_HUGE = 10**9


class Node(NamedTuple):
    """A schema and where it stands, as a JSON pointer in a URI fragment (without the ``#``)."""

    pointer: str
    schema: Any

    def at(self, *step: str | int) -> Node:
        """The node that these keys lead to."""
        here: Any = self.schema
        for key in step:
            here = here[key]
        return Node(self.pointer + "".join(f"/{escape(str(key))}" for key in step), here)


def escape(key: str) -> str:
    """A key as one part of a JSON pointer in a URI fragment (RFC 6901, section 6)."""
    if key.isalnum() and key.isascii():
        return key
    key = key.replace("~", "~0").replace("/", "~1")
    safe = frozenset("-._~!$&'()*+,;=:@")
    return "".join(
        c if (c.isascii() and c.isalnum()) or c in safe else f"%{ord(c):02X}"
        for c in key.encode("utf-8").decode("latin-1")
    )


class Document:
    """A schema in plain 2020-12 form and the meaning of its references."""

    def __init__(self, root: Schema) -> None:
        self.root = Node("", root)

    def target(self, ref: Any) -> Node | None:
        """Where a reference leads; ``None`` if it leads nowhere inside this document."""
        if not isinstance(ref, str) or not ref.startswith("#"):
            return None
        if len(ref) > 1 and not ref.startswith("#/"):
            return self._anchors.get(ref[1:])
        found = follow(self.root.schema, ref)
        if found is None:
            return None
        return Node("".join(f"/{escape(part)}" for part in pointer_parts(ref[1:])), found)

    def reference(self, node: Node) -> Node | None:
        """Where the reference of a node leads, if it has one that leads anywhere."""
        if not isinstance(node.schema, dict):
            return None
        ref = node.schema.get("$ref") or node.schema.get("$dynamicRef")
        return self.target(ref) if ref else None

    @staticmethod
    def children(node: Node) -> list[Node]:
        """The schemas directly inside a node."""
        if not isinstance(node.schema, dict):
            return []
        return [node.at(*step) for step, _ in subschemas(node.schema)]

    def walk(self) -> Iterator[Node]:
        """Every schema of the document once, references not followed."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += self.children(node)[::-1]

    @cached_property
    def _anchors(self) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for node in self.walk():
            if isinstance(node.schema, dict):
                for keyword in ("$anchor", "$dynamicAnchor"):
                    if isinstance(name := node.schema.get(keyword), str):
                        found.setdefault(name, node)
        return found

    @cached_property
    def has_integers(self) -> bool:
        """Whether any value is asked to be an integer."""
        kinds = (node.schema.get("type") for node in self.walk() if isinstance(node.schema, dict))
        return any("integer" in (kind if isinstance(kind, list) else (kind,)) for kind in kinds)

    @cached_property
    def multiplies(self) -> bool:
        """Whether there are many ways through the schema, or endlessly many."""
        ways, loops = self._counted([self.root], self._below, sum)
        return loops or ways[self.root.pointer] > MANY_WAYS

    @cached_property
    def longest_chain(self) -> int:
        """How many schemas can apply to one value, each reached through the one before."""
        chains, _ = self._counted(list(self.walk()), self._same_value, lambda n: max(n, default=0))
        return max(chains.values())

    @staticmethod
    def _counted(
        starts: list[Node],
        below: Callable[[Node], list[Node]],
        together: Callable[[list[int]], int],
    ) -> tuple[dict[str, int], bool]:
        """One more than what is counted below, for each node; and whether there are loops.

        Depth first without recursion: a chain of references may be as long as the document.
        """
        counted: dict[str, int] = {}
        on_the_way: set[str] = set()
        loops = False
        waiting: list[tuple[Node, list[Node] | None]] = [(node, None) for node in starts]
        while waiting:
            node, under = waiting.pop()
            if under is not None:
                known = [counted[n.pointer] for n in under if n.pointer in counted]
                counted[node.pointer] = 1 + min(together(known), _HUGE)
                on_the_way.discard(node.pointer)
            elif node.pointer in on_the_way:
                loops = True
            elif node.pointer not in counted:
                on_the_way.add(node.pointer)
                under = below(node)
                waiting.append((node, under))
                waiting.extend((n, None) for n in under if n.pointer not in counted)
        return counted, loops

    def _below(self, node: Node) -> list[Node]:
        """The schemas that a value, or a part of it, meets after this one."""
        if not isinstance(node.schema, dict):
            return []
        steps = [step for step, _ in subschemas(node.schema)]
        below = [node.at(*step) for step in steps if step[0] not in ("$defs", "definitions")]
        target = self.reference(node)
        return [*below, target] if target else below

    def _same_value(self, node: Node) -> list[Node]:
        """The schemas that the same value meets after this one."""
        if not isinstance(node.schema, dict):
            return []
        steps = [step for step, _ in subschemas(node.schema)]
        found = [node.at(*step) for step in steps if step[0] in SAME_VALUE]
        target = self.reference(node)
        return [*found, target] if target else found

    def affordable(self, node: Node, value: Any, most: int) -> bool:
        """Whether checking ``value`` takes at most so many evaluations."""
        try:
            return _Costs(self, most).of(node, value) <= most
        except RecursionError:
            return False


class _Costs:
    """Counts each pair of schema and value once, however many ways lead to it."""

    def __init__(self, document: Document, most: int) -> None:
        self._document, self._most = document, most
        self._known: dict[tuple[str, int], int] = {}

    def of(self, node: Node, value: Any) -> int:
        key = (node.pointer, id(value))
        if key in self._known:
            return self._known[key]
        if len(self._known) > self._most:
            return self._most + 1
        self._known[key] = 1  # a schema that refers to itself for the same value adds nothing
        total = 1 + sum(self.of(sub, item) for sub, item in self._parts(node, value))
        self._known[key] = min(total, self._most + 1)
        return self._known[key]

    def _parts(self, node: Node, value: Any) -> Iterator[tuple[Node, Any]]:
        schema = node.schema
        if not isinstance(schema, dict):
            return
        if target := self._document.reference(node):
            yield target, value
        for step, _ in subschemas(schema):
            if step[0] in SAME_VALUE:
                yield node.at(*step), value
            elif isinstance(value, dict):
                yield from self._members(node, step, value)
            elif isinstance(value, list):
                yield from self._items(node, step, value)

    @staticmethod
    def _members(node: Node, step: Step, value: dict[str, Any]) -> Iterator[tuple[Node, Any]]:
        if step[0] == "properties":
            if step[1] in value:
                yield node.at(*step), value[str(step[1])]
        elif step[0] in ("patternProperties", "additionalProperties", "unevaluatedProperties"):
            for item in value.values():
                yield node.at(*step), item

    @staticmethod
    def _items(node: Node, step: Step, value: list[Any]) -> Iterator[tuple[Node, Any]]:
        if step[0] in ("items", "contains", "unevaluatedItems"):
            for item in value:
                yield node.at(*step), item
        elif step[0] == "prefixItems" and isinstance(step[1], int) and step[1] < len(value):
            yield node.at(*step), value[step[1]]
