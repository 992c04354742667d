"""The tools of a request as a catalogue, and the choice among them.

A client sends the same tools with every request of a conversation; making a catalogue of them
compiles their schemas, so the last ones are kept. What cannot be offered as it is, is offered with
an open schema, or left out: a request is never refused for a tool that nobody may ever call.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fallback.catalogue import Catalogue
from fallback.errors import InvalidToolError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.proxy.ask import Refused
from fallback.proxy.content import array, obj, text_of
from fallback.proxy.events import Failure
from fallback.tools import Tool

__all__ = ["Choice", "Toolbox", "Tools", "bare_tool", "read_choice"]

_KEPT = 64


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of one request.

    Attributes:
        catalogue: those that can be offered.
        ignored: one clause for each that is left out or changed, for the log.
    """

    catalogue: Catalogue
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """``tool_choice`` in our words, and the tools that are left of the catalogue."""

    value: str
    catalogue: Catalogue


class Toolbox:
    """Makes catalogues, and keeps the last ones."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._kept: OrderedDict[str, Tools] = OrderedDict()

    def read(self, tools: Iterable[Mapping[str, Any]]) -> Tools:
        """The catalogue of these tools, each ``{"name", "description"?, "parameters"?}``.

        Raises:
            Refused: there are more than ``limits.max_tools``.
        """
        given = list(tools)
        if not given:
            return Tools(Catalogue())
        if len(given) > self._limits.max_tools:
            raise Refused(
                Failure(
                    kind="too_large",
                    message=f"{len(given)} tools are offered, at most {self._limits.max_tools} are"
                    " taken; offer fewer",
                    status=400,
                    param="tools",
                )
            )
        key = json.dumps(given)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = self._make(given)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return found

    def _make(self, given: list[Mapping[str, Any]]) -> Tools:
        made: dict[str, Tool] = {}
        ignored: list[str] = []
        for entry in given:
            try:
                tool = self._tool(entry, ignored)
            except InvalidToolError as error:
                ignored.append(f"tool left out: {error}")
                continue
            if tool.name in made:
                ignored.append(f"tool left out: {tool.name!r} stands twice")
            made.setdefault(tool.name, tool)
        return Tools(Catalogue(made.values(), limits=self._limits), tuple(ignored))

    def _tool(self, entry: Mapping[str, Any], ignored: list[str]) -> Tool:
        bare = {
            "name": entry.get("name"),
            "description": text_of(entry.get("description")),
            "parameters": obj(entry.get("parameters")) or None,
        }
        try:
            return Tool.from_dict(bare, limits=self._limits)
        except InvalidToolError as error:
            opened = Tool.from_dict({**bare, "parameters": {"type": "object"}}, limits=self._limits)
            ignored.append(f"schema of {opened.name!r} not used: {error}")
            return opened


def bare_tool(entry: Any) -> Mapping[str, Any] | None:
    """A function as OpenAI and Ollama declare it; ``None`` for tools of other types."""
    tool = obj(entry)
    if tool.get("type", "function") != "function":
        return None
    inner = obj(tool.get("function")) or tool
    return {
        "name": inner.get("name"),
        "description": inner.get("description"),
        "parameters": inner.get("parameters"),
    }


def read_choice(value: Any, catalogue: Catalogue) -> Choice:
    """``tool_choice`` of OpenAI's wires: a word, a named function, or ``allowed_tools``.

    Raises:
        Refused: a call is demanded of a tool that is not offered.
    """
    if isinstance(value, str):
        word = "required" if value == "any" else value
        if word == "required":
            return _required(catalogue)
        return Choice("none" if word == "none" else "auto", catalogue)
    choice = obj(value)
    if choice.get("type") == "allowed_tools":
        return _allowed(obj(choice.get("allowed_tools")) or choice, catalogue)
    name = text_of((obj(choice.get("function")) or choice).get("name"))
    return _named(name, catalogue) if name else Choice("auto", catalogue)


def _required(catalogue: Catalogue) -> Choice:
    if len(catalogue) == 0:
        raise _unfit("tool_choice demands a call, but no tool is offered")
    return Choice("required", catalogue)


def _named(name: str, catalogue: Catalogue) -> Choice:
    if catalogue.get(name) is None:
        raise _unfit(f"tool_choice names the tool {name[:80]!r}, which is not offered")
    return Choice(name, catalogue)


def _allowed(choice: Mapping[str, Any], catalogue: Catalogue) -> Choice:
    names = []
    for entry in array(choice.get("tools")):
        tool = bare_tool(entry)
        name = text_of(tool.get("name")) if tool else ""
        if name in catalogue:
            names.append(name)
    left = catalogue.only(*names) if names else catalogue
    return read_choice("required" if choice.get("mode") == "required" else "auto", left)


def _unfit(message: str) -> Refused:
    return Refused(
        Failure(kind="invalid_request", message=message, status=400, param="tool_choice")
    )
