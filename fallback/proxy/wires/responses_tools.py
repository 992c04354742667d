"""The tools of a request to ``/v1/responses``, and by which names the model knows them.

Besides functions there are namespaces of functions, and tools that take one text in place of
arguments. All become functions for the model; a client accepts a call only in the form in which it
declared the tool, so each call finds the way back to that. What the provider would run is left out.

Source: https://platform.openai.com/docs/api-reference/responses/create; Codex refuses a call of a
namespace's tool unless it has the bare name and, apart from it, the namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fallback.proxy.content import array, obj, text_of
from fallback.proxy.toolset import bare_tool

__all__ = ["TEXT_ARGUMENT", "Offered", "Origin", "read_tools"]

TEXT_ARGUMENT = "input"
"""The one argument of a tool that takes a text."""
_LONGEST_GRAMMAR = 4000


@dataclass(frozen=True, slots=True)
class Origin:
    """How a client declared a tool that the model knows as a function."""

    name: str
    namespace: str = ""
    custom: bool = False


@dataclass(frozen=True, slots=True)
class Offered:
    """The tools of one request.

    Attributes:
        tools: each ``{"name", "description", "parameters"}``, under the model's name for it.
        origins: by the model's name, of those that are not just functions.
        names: the model's names, by namespace and name of the client's.
        ignored: what was left out, for the log.
    """

    tools: list[Mapping[str, Any]]
    origins: Mapping[str, Origin]
    names: Mapping[tuple[str, str], str]
    ignored: tuple[str, ...] = ()

    def name_of(self, entry: Mapping[str, Any]) -> str:
        """The model's name for the tool that an item or a choice names."""
        name, namespace = text_of(entry.get("name")), text_of(entry.get("namespace"))
        return self.names.get((namespace, name)) or name

    def choice(self, value: Any) -> Any:
        """``tool_choice`` with the model's names; what demands the provider's tools is none."""
        choice = obj(value)
        kind = choice.get("type")
        if kind == "allowed_tools":
            allowed = obj(choice.get("allowed_tools")) or choice
            named = [{"name": self.name_of(obj(tool))} for tool in array(allowed.get("tools"))]
            wanted = "required" if allowed.get("mode") == "required" and self.tools else "auto"
            return {"type": "allowed_tools", "mode": wanted, "tools": named}
        if kind in ("function", "custom"):
            return {"name": self.name_of(choice)}
        word = value if isinstance(value, str) else "auto"
        return "auto" if word == "required" and self.ignored and not self.tools else word


def read_tools(value: Any) -> Offered:
    """The tools of whatever types they are."""
    entries = [obj(entry) for entry in array(value)]
    taken = {text_of((bare_tool(e) or e).get("name")) for e in entries if not _is_namespace(e)}
    tools: list[Mapping[str, Any]] = []
    origins: dict[str, Origin] = {}
    names: dict[tuple[str, str], str] = {}
    ignored: list[str] = []
    for entry, namespace in _flat(entries):
        kind = text_of(entry.get("type")) or "function"
        bare = _freeform(entry) if kind == "custom" else bare_tool(entry)
        if bare is None:
            ignored.append(f"tool left out: {kind[:80]} is run by the provider")
            continue
        name = shown = text_of(bare.get("name"))
        if namespace:
            shown = name if name not in taken else f"{namespace}__{name}"
            taken.add(shown)
        if namespace or kind == "custom":
            origins.setdefault(shown, Origin(name, namespace, kind == "custom"))
        names.setdefault((namespace, name), shown)
        tools.append({**bare, "name": shown} if name else bare)
    return Offered(tools, origins, names, tuple(ignored))


def _is_namespace(entry: Mapping[str, Any]) -> bool:
    return entry.get("type") == "namespace"


def _flat(entries: list[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    for entry in entries:
        if not _is_namespace(entry):
            yield entry, ""
            continue
        for inner in array(entry.get("tools")):
            yield obj(inner), text_of(entry.get("name"))


def _freeform(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool that takes a text, as a function of one argument."""
    described = [text_of(entry.get("description"))]
    form = obj(entry.get("format"))
    grammar = text_of(form.get("definition"))
    if grammar and len(grammar) <= _LONGEST_GRAMMAR:
        described.append(f"The input follows this grammar ({text_of(form.get('syntax'))}):")
        described.append(grammar)
    return {
        "name": entry.get("name"),
        "description": "\n".join(filter(None, described)),
        "parameters": {
            "type": "object",
            "properties": {TEXT_ARGUMENT: {"type": "string"}},
            "required": [TEXT_ARGUMENT],
        },
    }
