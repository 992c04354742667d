"""Arguments written down as JSON text while they arrive, as far as they are certain.

The text is what ``json.dumps(arguments, ensure_ascii=False)`` gives for the final arguments. A
value that the schema may still change is held until it is there, and then written as the schema
wants it; a string that stays a string is written as it comes, also inside lists and objects. Where
something is written in a way that only the whole can explain, nothing more is told before that.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

from fallback.parsing.live.calls import StartedCall
from fallback.parsing.live.nodes import Kind, Nodes
from fallback.schema.document import Node
from fallback.tools import Tool

_WRAPPERS = frozenset({"arguments", "parameters", "args", "input"})


class _Held:
    """A value that is put together because it is not certain yet."""

    __slots__ = ("_keys", "_stack", "done", "value")

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._keys: list[str] = []
        self.done = False
        self.value: Any = None

    def key(self, key: str) -> None:
        self._keys.append(key)

    def put(self, value: Any) -> None:
        if not self._stack:
            self.value, self.done = value, True
        elif isinstance(self._stack[-1], dict):
            self._stack[-1][self._keys.pop()] = value
        else:
            self._stack[-1].append(value)

    def open(self, opener: str) -> None:
        self._stack.append({} if opener == "{" else [])

    def close(self) -> None:
        self.put(self._stack.pop())


class Arguments:
    """Writes the arguments of one call. Told of each value in order; whoever tells it flushes.

    Attributes:
        stopped: whether what follows is left to the end.
        names: the declared parameters in order, for values without a name.
    """

    def __init__(self, tool: Tool, starter: Callable[[], StartedCall]) -> None:
        self._nodes = Nodes(tool)
        self._starter = starter
        self._call: StartedCall | None = None
        self._injected = tool.injected
        self._required = frozenset(tool.parameters.get("required") or ())
        self._properties = tool.parameters.get("properties") or {}
        self.names = tuple(self._properties)
        self.stopped = not self._nodes.takes(self._nodes.root, "object")
        self._out = ["{"]
        self._stack: list[tuple[Node | None, str]] = [(self._nodes.root, "{")]
        self._counts = [0]
        self._given: set[str] = set()
        self._lead = ""  # what stands between the value before and the next one
        self._node: Node | None = None  # the schema of the next value
        self._name = ""  # the argument that is being written
        self._held: _Held | None = None
        self._parts: list[str] | None = None  # a string that is held
        self._streaming = False  # whether a string is being told

    def start(self) -> StartedCall:
        """Tell that the call has begun."""
        if self._call is None:
            self._call = self._starter()
        return self._call

    def flush(self) -> None:
        """Tell what has become certain."""
        if self._out and (len(self._out) > 1 or self._call is not None):
            self.start().tell("".join(self._out))
            self._out.clear()

    @property
    def direct(self) -> Callable[[str], None] | None:
        """What tells plain characters of the open string at once, if nothing stands before them."""
        if self._call is None or self.stopped or self._out or not self._streaming:
            return None
        return self._call.tell

    def stop(self) -> None:
        """Leave everything from here on to the end."""
        self.stopped = True

    # -- what is read

    def key(self, key: str) -> None:
        """The name of the next value."""
        if self._held is not None:
            self._held.key(key)
            return
        parent = self._stack[-1][0]
        if len(self._stack) == 1:
            self._name = key
            unknown = key not in self._properties and (
                key in _WRAPPERS or self._nodes.closed or "\\" in key
            )
            if unknown or key in self._given or key in self._injected:
                self.stop()
                return
            self._given.add(key)
        elif "\\" in key:
            self.stop()
            return
        self._node = self._nodes.member(parent, key)
        self._lead = f"{', ' if self._counts[-1] else ''}{encode_basestring(key)}: "

    def scalar(self, value: Any) -> None:
        """A number, a literal, or a string that is known at once."""
        if self._held is None:
            self._decided(value)
        else:
            self._hold(lambda held: held.put(value))

    def open(self, opener: str) -> None:
        """An object or an array begins."""
        if self._held is None:
            self._item()
            kind: Kind = "object" if opener == "{" else "array"
            if self._nodes.takes(self._node, kind):
                self._out.append(self._lead + opener)
                inner = self._node if opener == "{" else self._nodes.item(self._node)
                self._stack.append((inner, opener))
                self._counts.append(0)
                return
            self._held = _Held()
        self._held.open(opener)

    def close(self) -> None:
        """The innermost object or array ends; in the end the arguments themselves."""
        if self._held is not None:
            self._hold(_Held.close)
            return
        _, opener = self._stack.pop()
        self._counts.pop()
        self._out.append("}" if opener == "{" else "]")
        if self._counts:
            self._counts[-1] += 1
        else:
            self.stop()

    def string(self) -> Callable[[str], None]:
        """A string begins; returns what takes its pieces, decoded."""
        if self._held is None:
            self._item()
            if self.streams:
                self._out.append(self._lead + '"')
                self._streaming = True
                return self._stream
        self._parts = []
        return self._parts.append

    def end_string(self) -> None:
        """The string ends."""
        if self._parts is None:
            self._streaming = False
            self._out.append('"')
            self._counts[-1] += 1
            return
        value, self._parts = "".join(self._parts), None
        self.scalar(value)

    @property
    def streams(self) -> bool:
        """Whether the next value, if it is a string, stays as it is."""
        return self._nodes.takes(self._node, "string")

    @property
    def nullable(self) -> bool:
        """Whether the argument that is being written may be ``null``."""
        return self._name in self._properties and self._nodes.may_be_null(self._name)

    def _stream(self, text: str) -> None:
        self._out.append(encode_basestring(text)[1:-1])

    def _item(self) -> None:
        """In an array the next value has its separator and the schema of the items."""
        node, opener = self._stack[-1]
        if opener == "[":
            self._node = node
            self._lead = ", " if self._counts[-1] else ""

    def _hold(self, add: Callable[[_Held], None]) -> None:
        held = self._held
        if held is not None:
            add(held)
            if held.done:
                self._held = None
                self._decided(held.value)

    def _decided(self, value: Any) -> None:
        """A whole value: written as the schema wants it."""
        self._item()
        value = self._nodes.coerced(self._node, value)
        last = len(self._stack) == 1
        if value is None and last and self._name not in self._required and not self.nullable:
            self.stop()  # it says that the argument is left out, or is refused
        elif isinstance(value, float) and not math.isfinite(value):
            self.stop()
        else:
            self._out.append(self._lead + json.dumps(value, ensure_ascii=False))
            self._counts[-1] += 1
