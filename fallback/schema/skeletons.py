"""A short valid example of a tool's arguments, made from its schema.

Shown where a model has to see the form once: in the worked example of the system prompt and in
corrections. What the author wrote comes first (examples, defaults, listed values); then plain
words. Each value is checked against its own schema, so that an example is only used where it is
right.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from fallback.schema.compiled import CompiledSchema
from fallback.schema.document import Node
from fallback.schema.flat import Flat, flatten
from fallback.schema.samples import sample_number, sample_text

_DEEPEST = 12
_MOST_VALUES = 400
"""Values that are made before a schema is taken to be too odd to make a valid one."""

_MOST_ITEMS = 20


class Sampled(Protocol):
    """What of a tool is needed to make an example."""

    @property
    def compiled(self) -> CompiledSchema: ...  # noqa: D102 - see Tool
    @property
    def examples(self) -> tuple[dict[str, Any], ...]: ...  # noqa: D102 - see Tool


def skeleton(tool: Sampled, *, optional: bool = False) -> dict[str, Any]:
    """Arguments for the tool: its own first valid example, or made ones.

    Args:
        tool: the tool.
        optional: whether arguments that may be left out are shown too.

    Returns:
        A new object, valid wherever a valid one can be made from what the schema says of each part;
        for schemas that cannot be satisfied, or only by a combination of parts, the nearest thing.
    """
    ready = tool.compiled
    for example in tool.examples:
        if ready.accepts(example):
            return copy.deepcopy(example)
    # All members may be needed for one that a condition asks for, so they are tried as well.
    made = [_made(ready, every) for every in ((True, False) if optional else (False, True))]
    valid = [value for value in made if ready.accepts(value)]
    return (valid or made)[0]


def _made(ready: CompiledSchema, every: bool) -> dict[str, Any]:
    maker = _Maker(ready, every)
    root = ready.document.root
    for value in maker.values([root], "arguments"):
        if isinstance(value, dict) and ready.accepts(value):
            return value
    value = next(maker.values([root], "arguments"), {})
    return value if isinstance(value, dict) else {}


class _Maker:
    """Makes values; several for one schema where the first need not be valid."""

    def __init__(self, ready: CompiledSchema, every: bool) -> None:
        self._ready, self._every = ready, every
        self._depth = 0
        self._left = _MOST_VALUES

    def value(self, nodes: Sequence[Node], name: str) -> Any:
        """The first value that all these schemas accept, or the first that was made.

        Raises:
            StopIteration: nothing could be made.
        """
        first = None
        for number, value in enumerate(self.values(nodes, name)):
            first = value if number == 0 else first
            if all(self._ready.part_accepts(node, value) for node in nodes):
                return value
        return first

    def values(self, nodes: Sequence[Node], name: str) -> Iterator[Any]:
        """Candidates, the best first."""
        if self._depth >= _DEEPEST:
            return
        self._depth += 1
        try:
            yield from self._combined(list(nodes), name, frozenset())
        finally:
            self._depth -= 1

    @staticmethod
    def _given(flat: Flat) -> Iterator[Any]:
        """What the author wrote."""
        examples = flat.keywords.get("examples")
        given = list(examples) if isinstance(examples, list) else []
        if flat.keywords.get("default") is not None:
            given.append(flat.keywords["default"])
        given += [option for option in flat.options or () if option is not None]
        yield from copy.deepcopy(given)
        if flat.options and None in flat.options:
            yield None

    def _combined(self, nodes: list[Node], name: str, chosen: frozenset[str]) -> Iterator[Any]:
        """Values of the schemas together with one alternative of each group, each in turn."""
        self._left -= 1
        if self._left <= 0:
            return
        flat = flatten(self._ready.document, nodes)
        yield from self._given(flat)
        open_groups = [group for group in flat.unions if group[0].pointer not in chosen]
        if not open_groups:
            yield from self._of_kinds(flat, name)
            return
        group = open_groups[0]
        # ``null`` shows nothing of the form, so it is the last resort.
        for branch in sorted(group, key=_only_null):
            yield from self._combined([*nodes, branch], name, chosen | {group[0].pointer})

    def _of_kinds(self, flat: Flat, name: str) -> Iterator[Any]:
        kinds = flat.likely_kinds or ["string", "object"]
        for kind in [k for k in kinds if k != "null"] + [k for k in kinds if k == "null"]:
            if kind == "object":
                yield self._object(flat)
            elif kind == "array":
                yield from self._arrays(flat, name)
            elif kind == "string":
                yield sample_text(name, flat.keywords)
            elif kind in ("integer", "number"):
                yield sample_number(kind, flat.keywords)
            elif kind == "boolean":
                yield from (True, False)
            else:
                yield None

    def _object(self, flat: Flat) -> dict[str, Any]:
        made: dict[str, Any] = {}
        least = flat.keywords.get("minProperties", 0)
        for name, nodes in flat.properties.items():
            if name in flat.required or self._every:
                self._put(made, name, nodes, required=name in flat.required)
        rest = [flat.rest] if isinstance(flat.rest, Node) else []
        for name in flat.required:
            if name not in flat.properties:
                self._put(made, name, rest, required=True)
        for name, nodes in flat.properties.items():
            if len(made) < least and name not in made:
                self._put(made, name, nodes, required=False)
        if not made and self._depth > 1 and flat.keywords.get("maxProperties", 1) >= 1:
            # Inside the arguments an empty object would hide the form; one member shows it.
            for name, nodes in list(flat.properties.items())[:1]:
                self._put(made, name, nodes, required=False)
        for number in range(1, _MOST_ITEMS):
            if len(made) >= least or flat.rest is False:
                break
            self._put(made, f"key{number}", rest, required=True)
        return made

    def _unset(self, nodes: list[Node]) -> Any:
        """What a member that may be left out is as good as left out with, if there is such a value.

        A small model copies what it sees: a flag that is shown set is set, and a filter is applied.
        """
        flat = flatten(self._ready.document, nodes)
        if next(self._given(flat), None) is not None or flat.unions:
            return None
        value = {"boolean": False, "array": []}.get((flat.likely_kinds or [""])[0])
        accepted = value is not None and all(self._ready.part_accepts(n, value) for n in nodes)
        return value if accepted else None

    def _put(self, made: dict[str, Any], name: str, nodes: list[Node], *, required: bool) -> None:
        value = self._unset(nodes) if self._every and not required else None
        if value is None:
            value = self.value(nodes, name) if nodes else sample_text(name, {})
        # ``None`` may stand for "nothing could be made", as in a type that contains itself.
        if value is not None or required:
            made[name] = value

    def _arrays(self, flat: Flat, name: str) -> Iterator[list[Any]]:
        """One item shows the form; none is tried last."""
        low = min(int(flat.keywords.get("minItems", 0)), _MOST_ITEMS)
        made = [self.value([node], name) for node in flat.prefix]
        singular = name.removesuffix("s") or name
        while len(made) < max(low, 1) and (flat.items or len(made) < low):
            if flat.keywords.get("uniqueItems") is True:
                made.append(self._different(flat.items, singular, made))
            else:
                made.append(self.value([flat.items], singular) if flat.items else singular)
        yield made
        if not low:
            yield []

    def _different(self, items: Node | None, name: str, made: list[Any]) -> Any:
        for value in self.values([items], name) if items else ():
            if value not in made:
                return value
        number = len(made) + 1
        return number if made and isinstance(made[0], int) else f"{name} {number}"


def _only_null(node: Node) -> bool:
    return isinstance(node.schema, dict) and node.schema.get("type") == "null"
