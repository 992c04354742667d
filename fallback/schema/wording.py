"""One fault of the validator as a sentence for the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fallback.schema.document import Document
from fallback.schema.exact import type_of
from fallback.schema.faults import Violation
from fallback.schema.flat import flatten
from fallback.schema.formats import EXAMPLES
from fallback.schema.places import PREVIEW_CHARS, child, cut, place, preview
from fallback.schema.signatures import type_text
from fallback.schema.words import literal

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_MOST_NAMES = 20
"""Names and values that are listed in a sentence; the catalogue has them all."""

_MOST_CHARS = 300
_STRUCTURES = frozenset({"object", "array"})


class Explainer:
    """Turns the errors of one document's validator into violations."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def __call__(self, error: ValidationError) -> Iterator[Violation]:
        """The violations that one error stands for; several where one keyword has several
        faults."""
        name = error.kind.name
        several: dict[str, Callable[[ValidationError], Iterator[Violation]]] = {
            "additionalProperties": self._unknown,
            "unevaluatedProperties": self._unknown,
            "anyOf": self._alternatives,
            "oneOf": self._alternatives,
        }
        if name in several:
            yield from several[name](error)
        elif name == "required":
            yield self._missing(error)
        else:
            yield self._plain(error)

    def _holder(self, error: ValidationError) -> Any:
        """The schema whose keyword has refused the value."""
        node = self._document.root
        try:
            return node.at(*error.schema_path[:-1])
        except (KeyError, IndexError, TypeError):  # a keyword of a schema that stands elsewhere
            return node

    def _plain(self, error: ValidationError) -> Violation:
        facts, keyword = error.kind.as_dict(), error.kind.name
        if keyword == "contains" and error.schema_path:
            keyword = str(error.schema_path[-1])
        expected, allowed = self._wanted(keyword, facts, error)
        came = got(error.instance)
        if keyword in _MEASURED and isinstance(error.instance, str | list | dict):
            came = f"{len(error.instance)} {_UNITS[type(error.instance)]}"
        message = f"{_subject(error)}: expected {expected}, got {came}"
        if keyword == "falseSchema":
            message = f"{_subject(error)} is not allowed"
        wanted = facts.get("types") or ()
        if isinstance(error.instance, str) and _STRUCTURES.issuperset(wanted) and wanted:
            message += f"; write the {wanted[0]} itself, not text"
        path = place(error.instance_path)
        return Violation(
            path=path,
            keyword=keyword,
            message=message,
            expected=expected,
            got=came,
            allowed=allowed,
        )

    def _wanted(
        self, keyword: str, facts: dict[str, Any], error: ValidationError
    ) -> tuple[str, tuple[str, ...]]:
        """What is right instead, and the list of what is right where there is one."""
        if keyword == "type":
            return self._types(facts["types"], error), ()
        if keyword in ("enum", "const"):
            options = facts["options"] if keyword == "enum" else [facts["expected_value"]]
            return one_of(options), tuple(literal(option) for option in options)
        if keyword == "format":
            return f"a {facts['format']} such as {literal(EXAMPLES[facts['format']])}", ()
        if keyword == "pattern":
            return f"text that matches {cut(facts['pattern'], _MOST_CHARS)}", ()
        if keyword in _BOUNDS:
            return _BOUNDS[keyword].format(literal(facts[_FACT.get(keyword, "limit")])), ()
        return _OTHERS.get(keyword, f"a value that {keyword} allows"), ()

    def _types(self, kinds: list[str], error: ValidationError) -> str:
        words = " or ".join(sorted(kinds, key=lambda kind: kind == "null"))
        if _STRUCTURES.isdisjoint(kinds):
            return words
        written = type_text(self._document, self._holder(error), PREVIEW_CHARS)
        if written == words or written.startswith("any"):
            return words
        return f"{words} {written}" if written.startswith("{") else f"{words} ({written})"

    def _missing(self, error: ValidationError) -> Violation:
        name = str(error.kind.as_dict()["property"])
        holder = self._holder(error)
        path = child(place(error.instance_path), name)
        shown = path if error.instance_path else name
        flat = flatten(self._document, [holder])
        if name in flat.properties:
            inside = flatten(self._document, flat.properties[name])
            expected = (
                one_of(inside.options)
                if inside.options
                else type_text(self._document, flat.properties[name][0], PREVIEW_CHARS)
            )
            allowed = tuple(literal(option) for option in inside.options or ())
        else:
            expected, allowed = "", ()
        message = f"`{shown}` is required" + (f": {expected}" if expected else "")
        if "dependentRequired" in error.schema_path:
            message += " with the other arguments that are given"
        strays = self._strays(error.instance, flat.properties) if flat.rest is None else []
        if strays:
            message += f"; {', '.join(f'`{cut(s)}`' for s in strays)} is not known"
        return Violation(
            path=path, keyword="required", message=message, expected=expected, allowed=allowed
        )

    @staticmethod
    def _strays(value: Any, declared: dict[str, Any]) -> list[str]:
        """Arguments that the schema lets pass but does not know: perhaps the missing one."""
        if not isinstance(value, dict) or not declared:
            return []
        return [name for name in value if name not in declared][:3]

    def _unknown(self, error: ValidationError) -> Iterator[Violation]:
        allowed = tuple(flatten(self._document, [self._holder(error)]).properties)
        for name in error.kind.as_dict()["unexpected"][:_MOST_NAMES]:
            yield unknown(place(error.instance_path), name, allowed)

    def _alternatives(self, error: ValidationError) -> Iterator[Violation]:
        from fallback.schema.branches import meant, same_question

        branches = [branch for branch in error.kind.as_dict()["context"] if branch]
        if not branches:  # ``oneOf`` with more than one that fits
            path = place(error.instance_path)
            message = f"{_subject(error)}: fits more than one of the alternatives; say less or more"
            yield Violation(path=path, keyword="oneOf", message=message, got=got(error.instance))
            return
        shared = same_question(branches, error.instance_path)
        if shared is not None:
            yield self._merged(shared)
            return
        for inner in meant(branches, error.instance_path):
            yield from self(inner)

    def _merged(self, errors: list[ValidationError]) -> Violation:
        """One fault that every alternative finds at the same place: not of the type, not listed."""
        first = errors[0]
        options: list[Any] = []
        kinds: dict[str, None] = {}
        for error in errors:
            facts = error.kind.as_dict()
            kinds.update(dict.fromkeys(facts.get("types", ())))
            options += facts.get("options", [])
            options += [facts["expected_value"]] if "expected_value" in facts else []
        words = [one_of(options)] if options else []
        words += [" or ".join(sorted(kinds, key=lambda kind: kind == "null"))] if kinds else []
        expected, came = " or ".join(words), got(first.instance)
        message = f"{_subject(first)}: expected {expected}, got {came}"
        if isinstance(first.instance, str) and _STRUCTURES.issuperset(kinds) and kinds:
            message += f"; write the {next(iter(kinds))} itself, not text"
        return Violation(
            path=place(first.instance_path),
            keyword="enum" if options else "type",
            message=message,
            expected=expected,
            got=came,
            allowed=tuple(dict.fromkeys(map(literal, options))),
        )


def unknown(path: str, name: str, allowed: tuple[str, ...]) -> Violation:
    """An argument that the schema does not know, with the one that may have been meant."""
    near = _nearest(name, allowed)
    message = f"unknown argument `{cut(name)}`"
    if path != "$":
        message = f"`{path}`: unknown member `{cut(name)}`"
    message += f"; did you mean `{near}`? " if near else "; "
    message += f"allowed: {_names(allowed)}" if allowed else "none is allowed"
    return Violation(
        path=child(path, name), keyword="additionalProperties", message=message, allowed=allowed
    )


def one_of(options: list[Any]) -> str:
    """``one of "LOW", "MEDIUM", "HIGH"``, or the value alone if there is only one."""
    shown = list(dict.fromkeys(map(literal, options)))
    if len(shown) == 1:
        return cut(shown[0], _MOST_CHARS)
    text = ", ".join(shown[:_MOST_NAMES])
    return f"one of {cut(text, _MOST_CHARS)}{' …' if len(shown) > _MOST_NAMES else ''}"


def got(value: Any) -> str:
    """The type and the value that came, such as ``string "soon"``."""
    kind = type_of(value)
    return kind if kind == "null" else f"{kind} {preview(value)}"


def _subject(error: ValidationError) -> str:
    return f"`{place(error.instance_path)}`" if error.instance_path else "arguments"


def _names(names: tuple[str, ...]) -> str:
    text = ", ".join(cut(name) for name in names[:_MOST_NAMES])
    return f"{text} …" if len(names) > _MOST_NAMES else text


def _nearest(name: str, allowed: tuple[str, ...]) -> str | None:
    """The declared name that a wrong one looks like, or shares a whole word with."""
    from rapidfuzz.distance import OSA, JaroWinkler

    asked = name[:PREVIEW_CHARS].casefold()

    def likeness(declared: str) -> float:
        other = declared.casefold()
        shared = asked in other.split("_") or other in asked.split("_")
        swapped = OSA.normalized_similarity(asked, other) + 0.1
        return max(JaroWinkler.similarity(asked, other), swapped, 0.8 * shared)

    best = max(allowed[:_MOST_COMPARED], key=likeness, default="")
    return best if best and likeness(best) >= _NEAR else None


_NEAR = 0.75
"""Likeness from which a name is suggested: ``cities`` and ``city`` have 0.82, ``nwe`` and ``new``
0.77, ``days`` and ``date`` 0.67."""

_MOST_COMPARED = 200

_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} members",
    "maxProperties": "at most {} members",
}
_FACT = {"multipleOf": "multiple_of"}
_MEASURED = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
)
_UNITS: dict[type, str] = {str: "characters", list: "items", dict: "members"}
_OTHERS = {
    "falseSchema": "nothing",
    "not": "something else",
    "uniqueItems": "each item once",
    "contains": "at least one item of the right kind",
    "minContains": "more items of the right kind",
    "maxContains": "fewer items of that kind",
    "propertyNames": "other names of members",
    "unevaluatedItems": "fewer items",
    "additionalItems": "fewer items",
}
