"""What is wrong with arguments, in sentences that a small model can act on.

The validator's own texts are for developers: they quote the schema and list every branch of an
``anyOf``. Here each fault is one sentence with the place, what is wanted and what came; of
alternatives only the one that was evidently meant is explained.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from fallback.schema.compiled import CompiledSchema, compiled
from fallback.schema.places import child
from fallback.schema.shape import flaw, is_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One fault of the arguments.

    Attributes:
        path: JSONPath of the fault, such as ``$.days``; for a missing argument, where it should be.
        keyword: the keyword of the schema that refuses it (``type``, ``required``,
            ``additionalProperties``, ``enum`` ...); ``depth`` for what is too deep or costly to
            check, ``unicode`` for text that is none.
        message: the sentence for the model.
        expected: what is wanted, in the words of the sentence.
        got: what came, cut to some 80 characters; empty for what is missing.
        allowed: the values or names that are right, where they can be listed.
    """

    path: str
    keyword: str
    message: str
    expected: str = ""
    got: str = ""
    allowed: tuple[str, ...] = ()


def violations(schema: Mapping[str, Any] | CompiledSchema, arguments: Any) -> tuple[Violation, ...]:
    """Everything that is wrong with the arguments; empty if nothing is.

    Args:
        schema: the schema; compiled (``tool.compiled``) where it is used more than once.
        arguments: any JSON value. What is no object, too deep or not JSON is a violation too.

    Returns:
        At most ``limits.max_violations``, each place once.
    """
    ready = compiled(schema)
    refused = ready.forbidden and isinstance(arguments, dict) and ready.forbidden & arguments.keys()
    if not refused and ready.accepts(arguments):
        return ()
    if not (ready.checkable(arguments) and ready.explainable(arguments)):
        return (_unchecked(ready, arguments),)
    found = [*_forbidden(ready, refused or ()), *_explained(ready, arguments)]
    unique = {(v.path, v.keyword, v.message): v for v in found}
    return tuple(islice(unique.values(), ready.limits.max_violations))


def _explained(ready: CompiledSchema, arguments: Any) -> Iterator[Violation]:
    from fallback.schema.wording import Explainer

    explain = Explainer(ready.document)
    try:
        errors = list(islice(ready.errors(arguments), ready.limits.max_violations))
    except ValueError:
        message = "the arguments hold something that JSON has no form for"
        yield Violation(path="$", keyword="json", message=message)
        return
    for error in errors:
        yield from explain(error)


def _forbidden(ready: CompiledSchema, names: Iterable[str]) -> Iterator[Violation]:
    from fallback.schema.wording import unknown

    allowed = tuple(n for n in ready.schema.get("properties", {}) if n not in ready.forbidden)
    for name in sorted(names):
        yield unknown("$", name, allowed)


def _unchecked(ready: CompiledSchema, arguments: Any) -> Violation:
    """What is said of arguments that the validator may not see."""
    most = ready.limits.max_depth
    found = flaw(arguments, most)
    if found == "unicode":
        where = _bad_text(arguments, "$")
        message = f"`{where}`: half of a character in it; write the character itself, not \\ud83d"
        return Violation(path=where, keyword="unicode", message=message)
    expected = "arrays and objects nested less deeply"
    if found == "depth":
        expected = f"at most {most} levels of arrays and objects"
    message = f"the arguments do not fit, and are too deep to say where: expected {expected}"
    return Violation(path="$", keyword="depth", expected=expected, message=message)


def _bad_text(value: Any, path: str) -> str:
    """Where the first text stands that cannot be encoded."""
    if isinstance(value, str):
        return "" if is_text(value) else path
    items: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        if any(not is_text(key) for key in value if isinstance(key, str)):
            return path
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return next(filter(None, (_bad_text(item, child(path, key)) for key, item in items)), "")
