"""Schemas written as types: ``{a: string, b?: number}[]``, ``"c" | "f"``, ``integer | null``.

The notation is TypeScript's, with JSON Schema's names for the types, because models have read more
of it than of JSON Schema and it takes a third of the tokens. A type that occurs more than once, or
inside itself, is written by its name and declared once, so the text never grows beyond the schema.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import Any

from fallback.schema.document import Document, Node
from fallback.schema.flat import Flat, flatten
from fallback.schema.places import cut
from fallback.schema.shape import ANNOTATIONS
from fallback.schema.words import bounds, default, literal

_DEEPEST = 24
"""Types written inside types; a model does not follow more, and a hostile schema has more."""

_PLAIN_KEY = re.compile(r"[^\W\d]\w*\Z")
_IN_QUOTES = re.compile(r'"(?:[^"\\]|\\.)*"')
_SMALL_ENUM = 8


class TypePrinter:
    """Writes the types of one document, and collects what is said about them.

    Attributes:
        declared: the types that are written by name, each with its text; complete after
            :meth:`declare`.
    """

    def __init__(self, document: Document, *, room: int) -> None:
        self._document, self._room = document, room
        self._names = _named_types(document)
        self._queue: deque[str] = deque()
        self._depth = 0
        self._said: dict[str, tuple[list[str], list[str]]] = {}
        self.declared: dict[str, str] = {}

    @property
    def notes(self) -> dict[str, str]:
        """Descriptions, and in parentheses behind them the bounds, by place."""
        lines = {}
        for path, (texts, words) in self._said.items():
            text, bound = "; ".join(texts), ", ".join(words)
            if text or bound:
                lines[path] = f"{text} ({bound})" if text and bound else text or bound
        return lines

    def declare(self) -> None:
        """Write the types that have been used by name, and those that these use."""
        while self._queue:
            pointer = self._queue.popleft()
            name = self._names[pointer]
            if name not in self.declared and (node := self._document.target(f"#{pointer}")):
                self.declared[name] = ""
                self.declared[name] = self.of(flatten(self._document, [node]), name)

    def text(self, nodes: list[Node], path: str) -> str:
        """The type of a value to which all these schemas apply; notes are kept under ``path``."""
        return self._typed(nodes, path)[0]

    def _typed(self, nodes: list[Node], path: str) -> tuple[str, Any]:
        """The type, and the default that goes with it."""
        if len(nodes) == 1 and (named := self._name(nodes[0])):
            self._note(path, nodes[0])
            return named, nodes[0].schema.get("default")
        if self._room <= 0:
            return "any", None
        flat = flatten(self._document, nodes)
        return self.of(flat, path), flat.keywords.get("default")

    def of(self, flat: Flat, path: str) -> str:
        """The type of a value of which all is known that there is to know."""
        self._room -= 8
        if self._depth >= _DEEPEST or self._room <= 0:
            return " | ".join(flat.kinds or ["any"])
        self._depth += 1
        self._describe(flat, path)
        parts = [self._alternatives(group, path) for group in flat.unions]
        parts = [part for part in dict.fromkeys(parts) if part != "any"]
        own = self._own(flat, path)
        if not parts or own not in ("any", "object", "array"):
            parts.insert(0, own)
        self._depth -= 1
        if len(parts) > 1:
            parts = [f"({p})" if _outside(p, "|") else p for p in parts if p != "any"]
        return " & ".join(parts)

    def members(self, flat: Flat, path: str) -> list[str]:
        """The members of an object, such as ``days?: integer = 3``, required or not as it says."""
        texts = []
        for name, nodes in flat.properties.items():
            if any(node.schema is False for node in nodes):
                continue
            kind, given = self._typed(nodes, f"{path}.{name}" if path else name)
            optional = "" if name in flat.required else "?"
            texts.append(f"{_key(name)}{optional}: {kind}{default(given)}")
        texts += [f"{_key(n)}: any" for n in flat.required if n not in flat.properties]
        if isinstance(flat.rest, Node):
            texts.append(f"[key: string]: {self.text([flat.rest], f'{path}.*' if path else '*')}")
        elif flat.rest is True and texts:
            texts.append("[key: string]: any")
        return texts

    def _own(self, flat: Flat, path: str) -> str:
        if flat.options is not None:
            shown = [literal(option) for option in flat.options]
            self._room -= sum(map(len, shown))
            return " | ".join(dict.fromkeys(shown)) or "never"
        written = {"object": self._object, "array": self._array}
        texts = [written[k](flat, path) if k in written else k for k in flat.likely_kinds]
        # ``null`` reads best at the end, wherever the schema has it.
        texts = [t for t in texts if t != "null"] + [t for t in texts if t == "null"]
        return " | ".join(dict.fromkeys(texts)) or ("any" if flat.kinds is None else "never")

    def _object(self, flat: Flat, path: str) -> str:
        members = self.members(flat, path)
        if not members:
            return "{}" if flat.rest is False else "object"
        return "{" + ", ".join(members) + "}"

    def _array(self, flat: Flat, path: str) -> str:
        every = self.text([flat.items], f"{path}[]") if flat.items else None
        if flat.prefix:
            first = [self.text([node], f"{path}[{i}]") for i, node in enumerate(flat.prefix)]
            return "[" + ", ".join(first + ([f"...{_items(every)}"] if every else [])) + "]"
        return _items(every) if every else "array"

    def _alternatives(self, group: list[Node], path: str) -> str:
        texts = dict.fromkeys(self.text([node], path) for node in group)
        if "any" in texts:
            return "any"
        ordered = [t for t in texts if t != "null"] + [t for t in texts if t == "null"]
        return " | ".join(f"({t})" if _outside(t, "&") else t for t in ordered)

    def _name(self, node: Node) -> str | None:
        """The name of the type, if the schema is nothing but a reference to one that has a name."""
        target = self._document.reference(node)
        if target is None or target.pointer not in self._names:
            return None
        if set(node.schema) - ANNOTATIONS - {"$ref", "$dynamicRef"}:
            return None
        self._queue.append(target.pointer)
        return self._names[target.pointer]

    def _note(self, path: str, node: Node) -> None:
        """What is said where a named type is used; what is said of the type itself stands there."""
        if path and isinstance(text := node.schema.get("description"), str):
            self._add(path, text, 0)

    def _describe(self, flat: Flat, path: str) -> None:
        if not path:
            return
        if isinstance(text := flat.keywords.get("description"), str):
            self._add(path, text, 0)
        for word in bounds(flat.keywords):
            self._add(path, word, 1)

    def _add(self, path: str, text: str, kind: int) -> None:
        text = cut(text, max(self._room, 1))
        pieces = self._said.setdefault(path, ([], []))[kind]
        if text and text not in pieces:
            pieces.append(text)
            self._room -= len(text)


def _items(text: str | None) -> str:
    if not text or text == "any":
        return "array"
    return f"({text})[]" if _outside(text, "|") or _outside(text, "&") else f"{text}[]"


def _outside(text: str, mark: str) -> bool:
    """Whether a mark stands between types, and not inside braces, brackets or text."""
    if f" {mark} " not in text:
        return False
    depth, bare = 0, _IN_QUOTES.sub("", text)
    for char in bare:
        depth += (char in "{[(") - (char in "}])")
        if char == mark and not depth:
            return True
    return False


def _key(name: str) -> str:
    return name if _PLAIN_KEY.match(name) else literal(name)


def _named_types(document: Document) -> dict[str, str]:
    """Names for the referenced schemas that are used twice or contain themselves, by pointer."""
    sites = [(n, target) for n in document.walk() if (target := document.reference(n))]
    uses = Counter(target.pointer for _, target in sites)
    targets = {target.pointer: target for _, target in sites}
    loops = _in_loops(targets, sites)
    names: dict[str, str] = {}
    for pointer, target in targets.items():
        if pointer in loops or (uses[pointer] > 1 and _is_large(target)):
            word = re.sub(r"\W+", "_", pointer.rpartition("/")[2]).strip("_") or "Arguments"
            number = 2
            name = word
            while name in names.values():
                name, number = f"{word}{number}", number + 1
            names[pointer] = name
    return names


def _is_large(node: Node) -> bool:
    schema = node.schema
    if not isinstance(schema, dict):
        return False
    if any(k in schema for k in ("properties", "anyOf", "oneOf", "allOf", "items")):
        return True
    return isinstance(schema.get("enum"), list) and len(schema["enum"]) > _SMALL_ENUM


def _in_loops(targets: dict[str, Node], sites: list[tuple[Node, Node]]) -> set[str]:
    """The targets from which references lead back to themselves (and some that lie between two)."""
    leads: dict[str, set[str]] = {pointer: set() for pointer in targets}
    for site, target in sites:
        parts = site.pointer.split("/")
        for length in range(1, len(parts) + 1):
            holder = "/".join(parts[:length])
            if holder in leads:
                leads[holder].add(target.pointer)
    reached: dict[str, set[str]] = {pointer: set() for pointer in targets}
    for source, ends in leads.items():
        for end in ends:
            reached[end].add(source)
    left = set(targets)
    for edges, back in ((leads, reached), (reached, leads)):
        count = {p: len(edges[p] & left) for p in left}
        bare = [p for p in left if not count[p]]
        while bare:
            gone = bare.pop()
            left.discard(gone)
            for other in back[gone] & left:
                count[other] -= 1
                if not count[other]:
                    bare.append(other)
    return left
