"""What the readers hand to validation: a call as it was written, not yet resolved or checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fallback.messages import Span


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as the model wrote it.

    Attributes:
        name: the tool's name as written.
        arguments: normally an object; whatever else stood there is for validation to refuse.
            ``None`` where there was none.
        positional: arguments without a name, to be bound in the order of the schema's properties.
        repairs: fixes of form that were needed to read it.
        id: the id that the model or the server gave it, if any.
        listed: whether it stands in brackets, in a list of calls, where nothing can be a program.
        textual: whether the arguments are raw texts, in a form that has no other types.
    """

    name: str
    arguments: Any = None
    positional: tuple[Any, ...] = ()
    dialect: str = "json"
    span: Span = Span(0, 0)
    repairs: tuple[str, ...] = ()
    id: str = ""
    listed: bool = False
    textual: bool = False
