"""A schema made ready for use: compiled once, asked many times.

Nothing is ever fetched: a reference that leaves the document finds no retriever. Nothing that is
too deep or too costly reaches the validator: it recurses on the stack of the process, and it
follows every way through a schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from fallback.errors import InvalidToolError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.schema.document import Document, Node
from fallback.schema.normal import Schema, modernise
from fallback.schema.places import cut
from fallback.schema.shape import flaw

if TYPE_CHECKING:
    from jsonschema_rs import Registry, ValidationError, Validator

_ROOT = "urn:fallback:schema"


class CompiledSchema:
    """A schema with its validators, each made when it is first needed.

    Attributes:
        schema: the schema in plain 2020-12 form, see :func:`fallback.schema.normalise`. Read only.
        forbidden: names of arguments that are refused whatever the schema says: the application
            fills them in.
        limits: bounds of what is looked at.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        forbidden: frozenset[str] = frozenset(),
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.schema, self.forbidden, self.limits = schema, forbidden, limits
        self.document = Document(schema)
        self._parts: dict[str, Validator] = {}

    @cached_property
    def validator(self) -> Validator:
        """The validator of the whole schema.

        Raises:
            InvalidToolError: not valid JSON Schema; its cause is the error of jsonschema-rs.
        """
        try:
            return _validator(self.schema)
        except ValueError as error:
            raise InvalidToolError(f"not a valid schema: {cut(str(error), 160)}") from error

    @cached_property
    def _registry(self) -> Registry:
        from jsonschema_rs import Registry

        return Registry([(_ROOT, self.schema)], retriever=_refuse)

    def checkable(self, value: Any) -> bool:
        """Whether the validator may see the value: JSON, not too deep, and not too costly."""
        if flaw(value, self.limits.max_depth) is not None:
            return False
        return self._affordable(self.document.root, value, self.limits.max_schema_cost)

    def explainable(self, value: Any) -> bool:
        """Whether the validator may say what is wrong with a value that it may see."""
        return self._affordable(self.document.root, value, self.limits.max_explain_cost)

    def accepts(self, value: Any) -> bool:
        """Whether the value is valid; what cannot be checked is not."""
        return self.checkable(value) and _is_valid(self.validator, value)

    def accepts_decoded(self, value: Any) -> bool:
        """The same for what a JSON decoder has made of plain ASCII within the limit of depth: that
        has no flaw, so none is looked for."""
        if not self._affordable(self.document.root, value, self.limits.max_schema_cost):
            return False
        return _is_valid(self.validator, value)

    def part_accepts(self, node: Node, value: Any) -> bool:
        """Whether the value is valid against one schema inside this one."""
        if not self._affordable(node, value, self.limits.max_schema_cost):
            return False
        part = self._parts.get(node.pointer)
        if part is None:
            part = _validator({"$ref": f"{_ROOT}#{node.pointer}"}, registry=self._registry)
            self._parts[node.pointer] = part
        return _is_valid(part, value)

    def argument_accepts(self, name: str, value: Any) -> bool:
        """Whether one declared argument may have that value, whatever the others are.

        Raises:
            KeyError: no such argument stands under ``properties``.
        """
        return self.part_accepts(self.document.root.at("properties", name), value)

    def pattern_matches(self, pattern: str, text: str) -> bool:
        """Whether a regular expression of the schema is found in the text, in linear time."""
        part = self._parts.get(f"pattern {pattern}")
        if part is None:
            part = _validator({"pattern": pattern})
            self._parts[f"pattern {pattern}"] = part
        return _is_valid(part, text)

    def errors(self, value: Any) -> Iterator[ValidationError]:
        """The faults of a value that is :meth:`checkable` and :meth:`explainable`.

        Raises:
            ValueError: the value holds what JSON cannot hold, such as a set.
        """
        return self.validator.iter_errors(value)

    def _affordable(self, node: Node, value: Any, most: int) -> bool:
        return not self.document.multiplies or self.document.affordable(node, value, most)


def compiled(schema: Mapping[str, Any] | CompiledSchema) -> CompiledSchema:
    """The schema made ready; one that is ready already is returned as it is.

    Raises:
        InvalidToolError: not JSON, too deep or too large.
    """
    return schema if isinstance(schema, CompiledSchema) else CompiledSchema(modernise(schema))


def _validator(schema: Schema, registry: Registry | None = None) -> Validator:
    from jsonschema_rs import Draft202012Validator

    from fallback.schema.formats import CHECKERS

    return Draft202012Validator(
        schema, formats=CHECKERS, validate_formats=True, retriever=_refuse, registry=registry
    )


def _is_valid(validator: Validator, value: Any) -> bool:
    try:
        return validator.is_valid(value)
    except ValueError:  # a set, a key that is no string: not JSON, so not valid
        return False


def _refuse(uri: str) -> NoReturn:
    raise ValueError("references to other documents are not followed")
