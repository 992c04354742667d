"""Any client's conversation as ours: calls and results of earlier turns brought together.

Clients know a call by its id, by its tool's name, or not at all; arguments come as an object or as
JSON text, and sometimes as what was once meant to be JSON. Nothing of that is refused: a history
that is refused once is refused for ever.

Source of the forms: requests of some thirty clients, such as ``tool_name`` that holds an id (Dify),
results with neither id nor name (LangChain, Home Assistant), and ids that are all ``0`` (AutoGen).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fallback.errors import InvalidToolError
from fallback.messages import Message, ToolCall, ToolResult
from fallback.rendering.fences import header_word, neutralise, quote
from fallback.tools.names import check_name

__all__ = ["History", "PastCall"]

_NAMELESS = "unknown"


class PastCall(NamedTuple):
    """A call of an earlier turn, as the client tells it."""

    id: Any
    name: Any
    arguments: Any


@dataclass(slots=True)
class _Open:
    """A call that waits for its result."""

    id: str
    name: str
    answered: bool = False


class History:
    """Builds the conversation, entry by entry, in the order in which the client tells it."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._open: list[_Open] = []
        self._names: dict[str, str] = {}
        self._malformed = 0
        self._orphans = 0

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return tuple(self._messages)

    @property
    def notes(self) -> tuple[str, ...]:
        """What did not fit together, for the log."""
        found = (
            (self._malformed, "old calls whose arguments are no object"),
            (self._orphans, "results of calls that are not there"),
        )
        return tuple(f"{count} {what}" for count, what in found if count)

    def system(self, text: str) -> None:
        """Instructions, wherever they stand."""
        self._messages.append(Message(role="system", content=text))

    def user(self, text: str, images: Iterable[str] = ()) -> None:
        """What the user says."""
        self._messages.append(Message(role="user", content=text, images=tuple(images)))

    def assistant(self, text: str, calls: Sequence[PastCall] = ()) -> None:
        """What the model said, and which tools it called.

        A call whose arguments are no object is told in the text, as a quotation with its error.
        """
        good: list[ToolCall] = []
        told = [text]
        opened: list[_Open] = []
        for index, call in enumerate(calls):
            name = _name(call.name)
            identity = _identity(call.id) or f"call_{len(self._messages)}_{index}"
            arguments = _arguments(call.arguments)
            opened.append(_Open(identity, name))
            self._names[identity] = name
            if arguments is None:
                self._malformed += 1
                told.append(_quoted(name, call.arguments))
            else:
                good.append(ToolCall(id=identity, name=name, arguments=arguments))
        self._open = opened or self._open
        content = "\n\n".join(filter(str.strip, told))
        self._messages.append(Message(role="assistant", content=content, tool_calls=tuple(good)))

    def result(
        self,
        text: str,
        *,
        call_id: Any = None,
        name: Any = None,
        images: Iterable[str] = (),
        failed: bool = False,
    ) -> None:
        """What a tool returned: matched by id, else by name, else by order."""
        identity, called = _identity(call_id), name if isinstance(name, str) else ""
        found = self._find(identity, called)
        if found is not None:
            found.answered = True
            identity, called = found.id, found.name
        else:
            self._orphans += 1
            called = self._names.get(identity) or self._names.get(called) or called
        result = ToolResult(
            call_id=identity or "none",
            name=_name(called),
            status="error" if failed else "ok",
            content=text,
        )
        self._messages.append(
            Message(role="tool", content=text, result=result, images=tuple(images))
        )

    def _find(self, identity: str, name: str) -> _Open | None:
        waiting = [call for call in self._open if not call.answered]
        for wanted in filter(None, (identity, name)):  # a name may hold an id
            for call in waiting:
                if call.id == wanted:
                    return call
        named = [call for call in waiting if name and call.name == name]
        if named:
            return named[0]
        # An id that belongs to an earlier call is no reason to take the result for another's.
        if identity and identity in self._names:
            return None
        return waiting[0] if waiting else None


def _identity(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value)[:200]


def _name(value: Any) -> str:
    """A name that can stand in a prompt; it names old calls only, so it may be mended."""
    if not isinstance(value, str) or not value.strip():
        return _NAMELESS
    try:
        return check_name(value)
    except InvalidToolError:
        return header_word(value.strip())


def _arguments(value: Any) -> dict[str, Any] | None:
    """The arguments as an object; ``None`` for what is none."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _quoted(name: str, arguments: Any) -> str:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return (
        f"(A call of {name} could not be run, because its arguments were no JSON object:\n"
        f"{quote(neutralise(written))})"
    )
