"""Where in an object that states a call its arguments begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from fallback.parsing.live.arguments import Arguments
from fallback.parsing.vocabulary import ALIAS_KEYS, ARGUMENT_KEYS, HOLDER_KEYS, NAME_KEYS

_LONGEST_NAME = 200
_NAMES, _ARGUMENTS = frozenset(NAME_KEYS), frozenset(ARGUMENT_KEYS)
_HOLDERS = frozenset(HOLDER_KEYS)


class _Level:
    """One object or array: what may stand in it, the last key, and the name it has given."""

    __slots__ = ("begun", "key", "kind", "name", "size")

    def __init__(self, kind: Literal["call", "list", "other"]) -> None:
        self.kind = kind
        self.key = self.name = ""
        self.begun = False
        self.size = 0  # keys so far


class Finder:
    """Follows an object and hands the arguments of its calls to writers.

    Args:
        begin: the writer for the arguments of a tool; ``None`` if nothing is to be told of them.
        known: whether a name is one of a tool.
        enveloped: whether a marker said that this is a call.
    """

    names: tuple[str, ...] = ()

    def __init__(
        self,
        begin: Callable[[str], Arguments | None],
        known: Callable[[str], bool],
        *,
        enveloped: bool,
    ) -> None:
        self._begin, self._known, self._enveloped = begin, known, enveloped
        self.stopped = False
        self._levels = [_Level("call")]
        self._arguments: Arguments | None = None
        self._depth = 0  # of what is open inside the arguments, themselves included
        self._name: list[str] | None = None  # a string that may be a name

    @property
    def direct(self) -> Callable[[str], None] | None:
        """What takes plain characters of the open string without any delay, if there is one."""
        return None if self._arguments is None else self._arguments.direct

    def stop(self) -> None:
        """What follows cannot be told."""
        self.stopped = True

    def flush(self) -> None:
        """Tell what has become certain."""
        if self._arguments is not None:
            self._arguments.flush()

    def key(self, key: str) -> None:
        """The name of the next value."""
        if self._arguments is not None:
            if not self._arguments.stopped:
                self._arguments.key(key)
            return
        level = self._levels[-1]
        level.key = key
        level.size += 1
        if level.kind == "call" and not self._enveloped and key not in ALIAS_KEYS:
            self.stop()

    def scalar(self, value: Any) -> None:
        """A number or a literal."""
        if self._arguments is not None and not self._arguments.stopped:
            self._arguments.scalar(value)

    def open(self, opener: str) -> None:
        """An object or an array begins: the arguments, what holds a call, or something else."""
        if self._arguments is not None:
            self._depth += 1
            if not self._arguments.stopped:
                self._arguments.open(opener)
            return
        level = self._levels[-1]
        name = self._named(level)
        if opener == "{" and name:
            if not level.begun:
                level.begun = True
                self._arguments, self._depth = self._begin(name), 1
                if self._arguments is not None:
                    return
            self._levels.append(_Level("other"))
            return
        holds = level.kind == "call" and level.key in _HOLDERS and not level.name
        if holds and opener == "[":
            self._levels.append(_Level("list"))
        elif (holds or level.kind == "list") and opener == "{":
            self._levels.append(_Level("call"))
        else:
            self._levels.append(_Level("other"))

    def _named(self, level: _Level) -> str:
        """The tool whose arguments an object here would be."""
        if level.kind != "call":
            return ""
        if level.key in _ARGUMENTS:
            return level.name
        # {"get_weather": {"city": "Rome"}}: only a marker around it says that this is no answer.
        alone = self._enveloped and level.size == 1 and level.key not in ALIAS_KEYS
        return level.key if alone and self._known(level.key) else ""

    def close(self) -> None:
        """The innermost one ends."""
        if self._arguments is None:
            self._levels.pop()
            return
        self._depth -= 1
        if not self._arguments.stopped:
            self._arguments.close()
        if not self._depth:
            self._arguments.flush()
            self._arguments = None

    def string(self) -> Callable[[str], None]:
        """A string begins."""
        if self._arguments is not None:
            return _nothing if self._arguments.stopped else self._arguments.string()
        level = self._levels[-1]
        if level.kind == "call" and level.key in _NAMES and not level.name:
            self._name = []
            return self._collect
        return _nothing

    def end_string(self) -> None:
        """The string ends."""
        if self._arguments is not None:
            if not self._arguments.stopped:
                self._arguments.end_string()
        elif self._name is not None:
            name, self._name = "".join(self._name), None
            self._levels[-1].name = name if self._known(name) else ""

    def _collect(self, piece: str) -> None:
        if self._name is not None:
            self._name.append(piece)
            if sum(map(len, self._name)) > _LONGEST_NAME:
                self.stop()


def _nothing(_: str) -> None:
    return
