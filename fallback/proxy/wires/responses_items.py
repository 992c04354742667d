"""The conversation of a request to ``/v1/responses``: a flat list of items.

What the model said and the calls that follow it are items of their own there; they belong together
until something else comes. Items of the provider's own making (searches, references, compacted or
encrypted reasoning) say nothing to another model and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fallback.proxy.content import Content, array, obj, read_content, text_of
from fallback.proxy.history import History, PastCall
from fallback.proxy.wires.responses_tools import TEXT_ARGUMENT, Offered
from fallback.templating import to_json

__all__ = ["Items", "read_items"]

_CALL, _OUTPUT = "_call", "_call_output"
_WRITTEN = ("arguments", "action", "operation")
"""Where the calls of various types have what they are called with."""


@dataclass(slots=True)
class Items:
    """Builds a conversation.

    Attributes:
        history: what has been told so far.
        left_out: types of items that were.
    """

    offered: Offered
    history: History = field(default_factory=History)
    left_out: dict[str, None] = field(default_factory=dict)
    _said: list[str] = field(default_factory=list)
    _calls: list[PastCall] = field(default_factory=list)

    @property
    def ignored(self) -> tuple[str, ...]:
        """One clause for each type, for the log."""
        return tuple(f"items left out: {kind}" for kind in self.left_out)

    def add(self, item: Mapping[str, Any]) -> None:
        """The next item."""
        kind = text_of(item.get("type"))
        if kind == "reasoning":
            return  # stands between calls that belong together
        if kind.endswith(_OUTPUT):
            self.end_turn()
            told = _output(item.get("output"))
            identity = item.get("call_id") or item.get("id")
            self.history.result(told.text, call_id=identity, images=told.images)
        elif kind.endswith(_CALL) and item.get("call_id"):
            self._calls.append(_past(item, kind, self.offered))
        elif "role" in item or kind == "message":
            self._message(item)
        else:
            self.left_out[kind[:80]] = None

    def end_turn(self) -> None:
        """What the model said and called is complete."""
        if self._said or self._calls:
            self.history.assistant("\n\n".join(self._said), self._calls)
            self._said, self._calls = [], []

    def _message(self, item: Mapping[str, Any]) -> None:
        role = text_of(item.get("role")).lower()
        content = _read(item.get("content"))
        if role == "assistant":
            if self._calls:
                self.end_turn()
            self._said.append(content.text)
            return
        self.end_turn()
        if role in ("system", "developer"):
            self.history.system(content.text)
        elif content.text or content.images:
            self.history.user(content.text, content.images)


def read_items(instructions: Any, value: Any, offered: Offered, *, notice: str = "") -> Items:
    """The whole conversation of a request.

    Args:
        instructions: said before everything else.
        value: ``input``: a text, or items.
        offered: the tools, whose names in old calls are the model's then.
        notice: what we add to the instructions, if there is input.
    """
    items = Items(offered)
    for told in (read_content(instructions).text, notice if value else ""):
        if told.strip():
            items.history.system(told)
    for entry in array(value) if not isinstance(value, str) else [value]:
        if isinstance(entry, str):
            items.end_turn()
            items.history.user(entry)
        else:
            items.add(obj(entry))
    items.end_turn()
    return items


def _past(item: Mapping[str, Any], kind: str, offered: Offered) -> PastCall:
    name = offered.name_of(item) or kind.removesuffix(_CALL)
    if kind == "custom_tool_call":
        return PastCall(item.get("call_id"), name, {TEXT_ARGUMENT: item.get("input")})
    written = next((item[key] for key in _WRITTEN if key in item), None)
    return PastCall(item.get("call_id"), name, written)


def _output(value: Any) -> Content:
    """The result of a call; of an unknown form, its JSON."""
    told = _read(value)
    if told.text or told.images or not value or isinstance(value, str):
        return told
    return Content(to_json(value))


def _read(value: Any) -> Content:
    if not isinstance(value, list):
        return read_content(value)
    return read_content([_plain(part) for part in value])


def _plain(part: Any) -> Any:
    """A part that :func:`read_content` knows."""
    told = obj(part)
    if told.get("type") != "input_file":
        return part
    name = text_of(told.get("filename"))
    return f"[a file{name and ' named '}{name[:200]}, which this server cannot read]"
