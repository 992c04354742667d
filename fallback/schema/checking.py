"""Whether a schema may be used at all; said once, when the tool is declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fallback.errors import InvalidToolError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.schema.compiled import CompiledSchema
from fallback.schema.document import Node
from fallback.schema.normal import normalise, pointer_parts
from fallback.schema.places import cut, place, preview

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_REFERENCES = ("$ref", "$dynamicRef")
_TYPES = "object, array, string, number, integer, boolean and null"


def check(schema: Mapping[str, Any], *, limits: Limits = DEFAULT_LIMITS, name: str = "") -> None:
    """Refuse the parameters of a tool that cannot be offered or are not safe to validate with.

    Args:
        schema: the parameters, in any form that :func:`~fallback.schema.normalise` reads.
        limits: ``max_depth`` and ``max_schema_chars`` count.
        name: the tool's name, for the message.

    Raises:
        InvalidToolError: not an object schema, not valid JSON Schema, too deep, too large, too many
            ways through it, or with a reference that leads out of it. Names the tool and the place.
    """
    try:
        check_compiled(CompiledSchema(normalise(schema, limits=limits), limits=limits))
    except InvalidToolError as error:
        raise InvalidToolError(f"tool {name!r}: {error}" if name else str(error)) from None


def check_compiled(compiled: CompiledSchema) -> None:
    """The same for a schema that has been normalised; leaves it compiled.

    Raises:
        InvalidToolError: see :func:`check`.
    """
    from jsonschema_rs import ValidationError

    document = compiled.document
    seen = set()
    waiting = [document.root]
    while waiting:
        node = waiting.pop()
        if node.pointer in seen or not isinstance(node.schema, dict):
            continue
        seen.add(node.pointer)
        waiting += _targets(compiled, node)
        waiting += document.children(node)
    if document.longest_chain > compiled.limits.max_depth:
        most = compiled.limits.max_depth
        raise InvalidToolError(f"references lead to each other in a chain longer than {most}")
    if not (compiled.checkable({}) and compiled.explainable({})):
        raise InvalidToolError("the references of the schema multiply beyond what can be checked")
    try:
        _ = compiled.validator
    except InvalidToolError as error:
        cause = error.__cause__
        said = _fault(cause) if isinstance(cause, ValidationError) else str(error)
        raise InvalidToolError(said) from None


def _targets(compiled: CompiledSchema, node: Node) -> list[Node]:
    """Where the references of one node lead; each must lead somewhere in the same document."""
    found = []
    for keyword in _REFERENCES:
        ref = node.schema.get(keyword)
        if not isinstance(ref, str):
            continue
        target = compiled.document.target(ref)
        if target is None:
            why = "leads nowhere" if ref.startswith("#") else "leads out of the schema"
            where = place(pointer_parts(node.pointer))
            raise InvalidToolError(f"{where}: {keyword} {preview(ref)} {why}; nothing is fetched")
        found.append(target)
    return found


def _fault(error: ValidationError) -> str:
    where, seen = place(error.instance_path), preview(error.instance)
    last = error.instance_path[-1] if error.instance_path else ""
    if last == "type":
        return f"{where}: {seen} is no type of JSON Schema; these are {_TYPES}"
    if error.kind.name == "format" and last == "pattern":
        return f"{where}: {seen} is not a regular expression that can be used"
    return f"{where}: {cut(error.message, 160)}"
