"""Which of several alternatives the model meant.

Reporting every branch of an ``anyOf`` hides the cause (and fills a small window); the branch that
was meant shows itself: it has the right type, its fixed members (``"kind": "agent"``) are right,
and fewer things in it are wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

Branch = Sequence["ValidationError"]
Path = Sequence[str | int]
_LISTED = ("enum", "const")


def meant(branches: Sequence[Branch], path: Path) -> Branch:
    """The errors of the branch that fits best; the first of equals."""
    return min(_opened(branches, path), key=lambda branch: _distance(branch, path))


def same_question(branches: Sequence[Branch], path: Path) -> list[ValidationError] | None:
    """The error of each branch, if all that are of the right type ask for the same thing.

    That is another type for the whole value, or one of the listed values at one place, as a
    discriminator that fits no branch. One sentence then says it for all.
    """
    branches = _opened(branches, path)
    right = [branch for branch in branches if not _wrong_type(branch, path)]
    if not right:
        return [error for branch in branches for error in branch if _is_type_of(error, path)]
    listed = [{_at(e): e for e in branch if e.kind.name in _LISTED} for branch in right]
    shared = set(listed[0]).intersection(*listed[1:])
    if not shared or len(right) < 2:
        return None
    place = min(shared, key=len)
    wrong = [e for b in branches if _wrong_type(b, path) for e in b if _is_type_of(e, path)]
    return [found[place] for found in listed] + (wrong if place == tuple(path) else [])


def _opened(branches: Sequence[Branch], path: Path) -> list[Branch]:
    """The branches, with those of alternatives inside alternatives beside the outer ones."""
    opened: list[Branch] = []
    for branch in branches:
        only = branch[0] if len(branch) == 1 else None
        inside = only.kind.as_dict().get("context") if only and _at(only) == tuple(path) else None
        if inside and all(inside):
            opened += _opened(inside, path)
        else:
            opened.append(branch)
    return opened


def _distance(branch: Branch, path: Path) -> tuple[int, int, int, int]:
    fixed = sum(error.kind.name in _LISTED for error in branch)
    missing = sum(error.kind.name == "required" for error in branch)
    return int(_wrong_type(branch, path)), fixed, missing, len(branch)


def _wrong_type(branch: Branch, path: Path) -> bool:
    return any(_is_type_of(error, path) for error in branch)


def _is_type_of(error: ValidationError, path: Path) -> bool:
    return error.kind.name == "type" and _at(error) == tuple(path)


def _at(error: ValidationError) -> tuple[str | int, ...]:
    return tuple(error.instance_path)
