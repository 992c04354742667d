"""``typing.TypedDict`` before Python 3.12, which pydantic does not take.

Pydantic asks for the one of ``typing_extensions`` there, because the older class forgets which keys
are required when it is inherited from. The keys that the class does remember are the ones it has
always had, so the same class is made anew from them; people write ``typing.TypedDict``.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
import typing
from typing import Annotated, Any, get_args, get_origin

_NEEDED = sys.version_info < (3, 12)
_MARKS = (typing.Required, typing.NotRequired)


def modern(annotation: Any, active: frozenset[Any] = frozenset()) -> Any:
    """The annotation with every ``typing.TypedDict`` in it made anew where pydantic needs that.

    Those inside dataclasses and models are theirs to declare, and a class that contains itself
    stays as it is: pydantic then says what to do.
    """
    if not _NEEDED:
        return annotation
    if typing.is_typeddict(annotation):
        own = type(annotation).__module__ == "typing" and annotation not in active
        return _rebuilt(annotation, active | {annotation}) if own else annotation
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is None or origin is typing.Literal:
        return annotation
    made = tuple(arg if isinstance(arg, list) else modern(arg, active) for arg in args)
    if origin is Annotated:
        made = (made[0], *args[1:])
    if all(new is old for new, old in zip(made, args, strict=True)):
        return annotation
    if origin in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, made)
    return Annotated[made] if origin is Annotated else origin[made]


def _rebuilt(kind: Any, active: frozenset[Any]) -> Any:
    from typing_extensions import TypedDict

    fields = {}
    for key, hint in typing.get_type_hints(kind, include_extras=True).items():
        bare = get_args(hint)[0] if get_origin(hint) in _MARKS else hint
        mark: Any = typing.Required if key in kind.__required_keys__ else typing.NotRequired
        fields[key] = mark[modern(bare, active)]
    make: Any = TypedDict  # called with what is only known at run time
    made = make(kind.__name__, fields)
    made.__doc__, made.__module__ = kind.__doc__, kind.__module__
    return made
