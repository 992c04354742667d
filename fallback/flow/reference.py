"""References to earlier values: ``${find}``, ``${find.rows[0].id}``. Nothing is evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from fallback.errors import FlowError

__all__ = ["NAME", "Reference", "filled", "references", "resolved"]

NAME = re.compile(r"[A-Za-z_][\w-]{0,63}\Z")
_REFERENCE = re.compile(r"\$(\$\{)|\$\{([^{}]{0,200})\}|\$\{")
_WHOLE = re.compile(r"([A-Za-z_][\w-]{0,63})((?:\.[^\s.\[\]]{1,100}|\[\d{1,9}\])*)\Z")
_PART = re.compile(r"\.([^\s.\[\]]+)|\[(\d+)\]")


class Reference(NamedTuple):
    """One reference: the name of a step or input, and the way into its value."""

    text: str
    name: str
    way: tuple[str | int, ...]


def references(ask: str) -> Iterator[Reference]:
    """The references of an instruction, in order.

    Raises:
        FlowError: one that is none, such as ``${}``.
    """
    for match in _REFERENCE.finditer(ask):
        if match[1] is None:
            yield _read(match)


def filled(ask: str, write: Callable[[Reference], str]) -> str:
    """The instruction with the text of each reference in its place."""
    return _REFERENCE.sub(lambda match: match[1] or write(_read(match)), ask)


def resolved(reference: Reference, values: Mapping[str, Any]) -> Any:
    """The value that a reference means.

    Raises:
        FlowError: there is no such part; says which there are.
    """
    here = values[reference.name]
    for part in reference.way:
        try:
            here = _inside(here, part)
        except LookupError:
            raise FlowError(f"${{{reference.text}}}: {_lacks(here, part)}") from None
    return here


def _inside(value: Any, part: Any) -> Any:
    if not isinstance(value, list if isinstance(part, int) else dict):
        raise LookupError(part)
    return value[part]


def _read(match: re.Match[str]) -> Reference:
    whole = _WHOLE.match(match[2] or "")
    if whole is None:
        raise FlowError(
            f"{match[0][:60]} is no reference; write ${{name}} or ${{name.key[0]}},"
            " and $${ for the characters"
        )
    way = tuple(
        part[1] if part[1] is not None else int(part[2]) for part in _PART.finditer(whole[2])
    )
    return Reference(match[2], whole[1], way)


def _lacks(value: Any, part: str | int) -> str:
    if isinstance(value, dict):
        known = ", ".join(map(str, list(value)[:10])) or "nothing"
        return f"there is no {part!r} in it, only {known}"
    if isinstance(value, list):
        return f"{part!r} is not one of its {len(value)} items"
    return f"{part!r} is sought in {type(value).__name__}, which has no parts"
