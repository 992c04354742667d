"""Arguments made into the types that their schema demands, where that loses nothing.

Rule: a value changes only if the schema refuses it as it stands, the change is exact (see
:mod:`fallback.schema.exact`), and there is one way to make it. A string that may be a string stays
one (``"12345"``, ``"007"``, ``"true"``); where two branches of an ``anyOf`` would give different
values, nothing is changed. What is left is for :func:`fallback.schema.violations` to explain.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from fallback.schema.compiled import CompiledSchema, compiled
from fallback.schema.document import Node
from fallback.schema.exact import NOT_EXACT, READERS, type_of
from fallback.schema.places import child
from fallback.schema.shape import holds_float, too_deep

MOST_TRIALS = 10_000
"""Branches tried in one value: far beyond any real one, and an end to a hostile one."""

DEEPEST_CHAIN = 100
"""References followed for one value, one leading to the next."""

_CHANGING = frozenset({"enum", "const", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf"})


def coerce(value: Any, schema: Mapping[str, Any] | CompiledSchema) -> tuple[Any, tuple[str, ...]]:
    """The value with lossless corrections of type, and a note for each of them.

    Args:
        value: any JSON value, usually the arguments of a call. It is not changed; parts that need
            no correction are shared with the result.
        schema: the schema; compiled (``tool.compiled``) where it is used more than once.

    Returns:
        The value and notes such as ``string_to_integer $.days``, in the order of the schema's walk.
    """
    ready = compiled(schema)
    if ready.accepts(value):
        if not (ready.document.has_integers and holds_float(value)):
            return value, ()
    elif not ready.checkable(value):
        return value, ()
    run = _Run(ready)
    try:
        result = run.node(ready.document.root, value, "$")
    except RecursionError:  # a chain of references as long as a document can be
        return value, ()
    if too_deep(result, ready.limits.max_depth):
        return value, ()
    return result, tuple(run.notes)


def coerce_at(value: Any, node: Node, ready: CompiledSchema) -> Any:
    """A part of a value as :func:`coerce` would correct it, before the whole is there.

    Args:
        value: not nested deeper than ``ready.limits.max_depth``.
        node: the schema inside ``ready`` that the part has to follow.
        ready: the schema of the whole.
    """
    try:
        return _Run(ready).node(node, value, "$")
    except RecursionError:  # as above
        return value


class _Run:
    """The walk through one value. ``notes`` grows as corrections are made."""

    def __init__(self, ready: CompiledSchema) -> None:
        self._ready, self._document = ready, ready.document
        self._trials = 0
        self._known: dict[tuple[str, int, str], tuple[Any, list[str], Any]] = {}
        self.notes: list[str] = []

    def node(self, node: Node, value: Any, path: str) -> Any:
        """The value as one schema wants it. Each pair of schema and value is worked out once."""
        if not isinstance(node.schema, dict):
            return value
        key = (node.pointer, id(value), path)
        if key in self._known:
            result, notes, _ = self._known[key]
            self.notes += notes
            return result
        # Set before it is worked out: a schema that refers to itself for the same value ends here.
        # The value is kept with the result, because its identity is the key.
        self._known[key] = (value, [], value)
        before = len(self.notes)
        result = self._work(node, value, path)
        self._known[key] = (result, self.notes[before:], value)
        return result

    def _work(self, node: Node, value: Any, path: str) -> Any:
        schema = node.schema
        if target := self._document.reference(node):
            value = self.node(target, value, path)
        for position in range(len(_list(schema, "allOf"))):
            value = self.node(node.at("allOf", position), value, path)
        value = self._typed(schema, value, path)
        if isinstance(value, dict):
            value = self._object(node, value, path)
        elif isinstance(value, list):
            value = self._array(node, value, path)
        for keyword in ("anyOf", "oneOf"):
            branches = [node.at(keyword, i) for i in range(len(_list(schema, keyword)))]
            if branches:
                value = self._union(branches, value, path)
        return value

    def _typed(self, schema: dict[str, Any], value: Any, path: str) -> Any:
        """The value as ``type``, ``enum`` and ``const`` want it."""
        options = [schema["const"]] if "const" in schema else schema.get("enum")
        options = options if isinstance(options, list) else None
        kinds = _kinds(schema, options)
        if not kinds:
            return value
        if isinstance(value, str):
            return self._from_text(value, kinds, options, path)
        if isinstance(value, bool) and options is not None and "boolean" not in kinds:
            return self._from_boolean(value, options, path)
        whole = isinstance(value, float) and value.is_integer()
        listed = options is None or value in options
        if whole and listed and "integer" in kinds and "number" not in kinds:
            self.notes.append(f"float_to_integer {path}")
            return int(value)
        return value

    def _from_boolean(self, value: bool, options: list[Any], path: str) -> Any:
        """``True`` where the schema lists the word: the one that is spelt like it, if only one."""
        words = _same_word(str(value), options)
        if len(words) != 1:
            return value
        self.notes.append(f"boolean_to_enum {path}")
        return words[0]

    def _from_text(self, text: str, kinds: set[str], options: list[Any] | None, path: str) -> Any:
        if options is None and "string" in kinds:
            return text
        if options is not None and text in options:
            return text
        if "number" in kinds:
            kinds = kinds - {"integer"}  # ``5.0`` would be two values otherwise
        found = self._readings(text, kinds, options)
        if len(found) != 1:
            return text
        value, note = found[0]
        self.notes.append(f"{note} {path}")
        return value

    @staticmethod
    def _readings(text: str, kinds: set[str], options: list[Any] | None) -> list[tuple[Any, str]]:
        """The different values that the text can stand for, each with the note of its reading."""
        found: list[tuple[Any, str]] = []
        for kind in sorted(kinds - {"string"}):
            value = READERS[kind](text) if kind in READERS else NOT_EXACT
            if value is not NOT_EXACT and (options is None or value in options):
                found.append((value, f"string_to_{kind}"))
        if options is not None and "string" in kinds:
            found += [(option, "enum_case") for option in _same_word(text, options)]
        if len(found) < 2:
            return found
        return list({_identity(value): (value, note) for value, note in reversed(found)}.values())

    def _object(self, node: Node, value: dict[str, Any], path: str) -> dict[str, Any]:
        schema = node.schema
        patterns, rest = _map(schema, "patternProperties"), schema.get("additionalProperties")
        properties = _map(schema, "properties")
        changed = value
        for key, item in value.items():
            if key in properties and _settled(properties[key], item) and not patterns:
                continue
            steps = [("properties", key)] if key in properties else []
            steps += [
                ("patternProperties", p) for p in patterns if self._ready.pattern_matches(p, key)
            ]
            rules = [node.at(*step) for step in steps]
            if not steps and isinstance(rest, dict):
                rules = [node.at("additionalProperties")]
            new = item
            for rule in rules:
                new = self.node(rule, new, child(path, key))
            if new is not item:
                changed = dict(value) if changed is value else changed
                changed[key] = new
        return changed

    def _array(self, node: Node, value: list[Any], path: str) -> list[Any]:
        first, rest = _list(node.schema, "prefixItems"), node.schema.get("items")
        every = node.at("items") if isinstance(rest, dict) else None
        changed = value
        for position, item in enumerate(value):
            rule = node.at("prefixItems", position) if position < len(first) else every
            if rule is None:
                break
            new = self.node(rule, item, child(path, position))
            if new is not item:
                changed = list(value) if changed is value else changed
                changed[position] = new
        return changed

    def _union(self, branches: list[Node], value: Any, path: str) -> Any:
        """The one value that some branch accepts; the value as it is if there are more, or none."""
        self._trials += len(branches)
        if self._trials > MOST_TRIALS:
            return value
        valid = [b for b in branches if self._ready.part_accepts(b, value)]
        if valid and not holds_float(value):
            return value
        tried = [(b, *self._try(b, value, path)) for b in valid or branches]
        accepted = [(v, n) for b, v, n in tried if self._ready.part_accepts(b, v)]
        good = list({_identity(v): (v, n) for v, n in reversed(accepted)}.values())
        if not good:
            # Nothing fits. If only one branch is of the right type, its corrections still make what
            # is wrong inside easier to name.
            good = [(v, n) for b, v, n in tried if self._of_type(b, v)]
        if len(good) != 1:
            return value
        result, notes = good[0]
        self.notes += notes
        return result

    def _try(self, branch: Node, value: Any, path: str) -> tuple[Any, list[str]]:
        outside, self.notes = self.notes, []
        result = self.node(branch, value, path)
        notes, self.notes = self.notes, outside
        return result, notes

    def _of_type(self, branch: Node, value: Any) -> bool:
        for _ in range(DEEPEST_CHAIN):
            target = self._document.reference(branch)
            if target is None:
                break
            branch = target
        if not isinstance(branch.schema, dict):
            return False
        return type_of(value) in _kinds(branch.schema, None)


def _settled(schema: Any, value: Any) -> bool:
    """Whether a plain value of a plain type is what the schema wants: the usual case, told fast."""
    if not isinstance(schema, dict) or isinstance(value, dict | list):
        return False
    return schema.get("type") == type_of(value) and _CHANGING.isdisjoint(schema)


def _kinds(schema: dict[str, Any], options: list[Any] | None) -> set[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, list):
        return {k for k in kind if isinstance(k, str)}
    return {type_of(option) for option in options or ()}


def _same_word(text: str, options: list[Any]) -> list[str]:
    """The options that are the same word: but for outer space if there is one, else for case
    too."""
    words = [option for option in options if isinstance(option, str)]
    by: tuple[Callable[[str], str], ...] = (str.strip, lambda word: word.strip().casefold())
    for fold in by:
        if same := [word for word in words if fold(word) == fold(text)]:
            return same
    return []


def _identity(value: Any) -> str:
    """Equal for equal JSON values only: ``1``, ``1.0``, ``true`` and ``"1"`` all differ."""
    return json.dumps(value, sort_keys=True)


def _list(schema: dict[str, Any], keyword: str) -> list[Any]:
    held = schema.get(keyword)
    return held if isinstance(held, list) else []


def _map(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    held = schema.get(keyword)
    return held if isinstance(held, dict) else {}
