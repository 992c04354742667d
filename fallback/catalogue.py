"""The ordered, immutable set of tools that is offered in one request."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fallback.errors import ConfigurationError, InvalidToolError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.schema import check
from fallback.schema.places import cut, preview
from fallback.tools import Tool, ToolLike
from fallback.tools.names import LONGEST_NAME

_SEPARATORS = re.compile(r"[-_./: ]+")
# Namespaces of training formats (Harmony, Gemini) in front of a name, and the running number that
# Kimi puts behind it; see the alias table of the dialects.
_PREFIXES = ("functions.", "function.", "tools.", "tool.", "default_api.")
_NUMBERED = re.compile(r":\d{1,4}\Z")
_AROUND = " \t\r\n\"'`*:;,>#"
_LONGEST_ASKED = 2 * LONGEST_NAME
_NEAR = 0.6
"""Similarity from which a name is worth suggesting; unrelated names of one catalogue have 0.5."""


def fold(name: str) -> str:
    """The form in which names are the same name: case, and which separator stands between words.

    ``Get-Weather``, ``get.weather`` and ``get_weather`` fold to one; ``getweather`` is another
    name.
    """
    if not name.isascii():
        name = unicodedata.normalize("NFC", name)
    return _SEPARATORS.sub("_", name.casefold()).strip("_")


class Catalogue:
    """Tools in the order in which they were given. The model sees and calls the visible ones only.

    Args:
        tools: tools, functions, dictionaries, or a mixture; or another catalogue.
        limits: ``max_tools``, and the bounds of schemas for what is not a ``Tool`` yet.

    Raises:
        InvalidToolError: a tool that cannot be offered, two with one name, or too many.
    """

    __slots__ = ("_folded", "_hidden", "_visible")

    def __init__(
        self, tools: Iterable[ToolLike] | Catalogue = (), *, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        given = [*tools, *tools.hidden] if isinstance(tools, Catalogue) else _listed(tools)
        made = [_tool(entry, limits) for entry in given]
        if len(made) > limits.max_tools:
            raise InvalidToolError(f"{len(made)} tools, at most {limits.max_tools} (max_tools)")
        names: set[str] = set()
        for entry in made:
            if entry.name in names:
                raise InvalidToolError(f"two tools are called {entry.name!r}")
            names.add(entry.name)
        self._visible = {entry.name: entry for entry in made if not entry.hidden}
        self._hidden = tuple(entry for entry in made if entry.hidden)
        self._folded: dict[str, tuple[Tool, ...]] = {}
        for entry in self._visible.values():
            key = fold(entry.name)
            self._folded[key] = (*self._folded.get(key, ()), entry)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the visible tools, in order."""
        return tuple(self._visible)

    @property
    def hidden(self) -> tuple[Tool, ...]:
        """The tools that exist for the application only."""
        return self._hidden

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._visible.values())

    def __len__(self) -> int:
        return len(self._visible)

    def __contains__(self, name: object) -> bool:
        return name in self._visible if isinstance(name, str) else False

    def __repr__(self) -> str:
        return f"Catalogue({cut(', '.join(self._visible))})"

    def get(self, name: str) -> Tool | None:
        """The visible tool of exactly that name."""
        return self._visible.get(name)

    def resolve(self, name: str) -> Tool | None:
        """The tool that a name written by a model means, if it can mean only one.

        The exact name first. Then, only for what is not declared itself: quotes, markdown escapes
        and punctuation around it taken away; case and separators ignored; a namespace of a training
        format (``functions.``) or a running number (``:0``) left out. Never by similarity. Two
        tools that a name can mean are none. The time does not depend on the number of tools.
        """
        found = self._visible.get(name)
        if found is not None:
            return found
        meant = self._meant(name)
        return meant[0] if len(meant) == 1 else None

    def is_ambiguous(self, name: str) -> bool:
        """Whether a name that is not declared can mean two or more tools."""
        return name not in self._visible and len(self._meant(name)) > 1

    def nearest(self, name: str, limit: int = 3) -> tuple[str, ...]:
        """Names that look like a wrong one, the nearest first. To be suggested, never to be run."""
        from rapidfuzz import fuzz
        from rapidfuzz.distance import JaroWinkler

        asked = fold(name[:_LONGEST_ASKED])
        words = asked.replace("_", " ")

        def likeness(declared: str) -> float:
            folded = fold(declared)
            by_words = fuzz.token_sort_ratio(words, folded.replace("_", " ")) / 100
            return max(JaroWinkler.similarity(asked, folded), by_words)

        rated = sorted(((likeness(n), -i, n) for i, n in enumerate(self._visible)), reverse=True)
        return tuple(n for score, _, n in rated[: max(limit, 0)] if score >= _NEAR)

    def only(self, *names: str) -> Catalogue:
        """The visible tools of these names, in the catalogue's order, and the hidden ones.

        Raises:
            ConfigurationError: a name is not declared.
        """
        missing = [name for name in names if name not in self._visible]
        if missing:
            known = cut(", ".join(self.names), 300)
            raise ConfigurationError(f"no tool is called {preview(missing[0])}; there are {known}")
        kept = [*(entry for entry in self if entry.name in names), *self._hidden]
        return Catalogue(kept, limits=Limits(max_tools=len(kept)))

    def _meant(self, name: str) -> tuple[Tool, ...]:
        if len(name) > _LONGEST_ASKED:
            return ()
        plain = _plain(name)
        if plain in self._visible:
            return (self._visible[plain],)
        whole = self._folded.get(fold(plain), ())
        shorter = _shorter(plain)
        exact = [self._visible[form] for form in shorter if form in self._visible]
        inner = exact or [tool for form in shorter for tool in self._folded.get(fold(form), ())]
        return tuple({id(tool): tool for tool in (*whole, *inner)}.values())


def _plain(name: str) -> str:
    """The name without what a model writes around it: quotes, markdown, punctuation, ``()``."""
    name = name.strip(_AROUND).removesuffix("()")
    # Markdown escapes a mark with a backslash; no name has one.
    return name.replace("\\", "").strip(_AROUND)


def _shorter(name: str) -> list[str]:
    """The name without its namespace, without its number, and without both."""
    bare = _NUMBERED.sub("", name)
    forms = [bare]
    for form in (name, bare):
        lowered = form.casefold()
        forms += [form[len(p) :] for p in _PREFIXES if lowered.startswith(p)]
    return [form for form in dict.fromkeys(forms) if form and form != name]


def _listed(tools: Any) -> list[Any]:
    """The entries; one tool that is not in a list is the usual mistake."""
    if isinstance(tools, Mapping | str) or not isinstance(tools, Iterable):
        kind = type(tools).__name__
        raise InvalidToolError(f"tools are given as a list, got {kind}; write [{kind.lower()}]")
    return list(tools)


def _tool(entry: Any, limits: Limits) -> Tool:
    if isinstance(entry, Tool):
        if limits.max_schema_chars < entry.limits.max_schema_chars or (
            limits.max_depth < entry.limits.max_depth
        ):
            check(entry.parameters, limits=limits, name=entry.name)
        return entry
    if isinstance(entry, Mapping):
        return Tool.from_dict(entry, limits=limits)
    if callable(entry):
        return Tool.from_function(entry, limits=limits)
    kind = type(entry).__name__
    raise InvalidToolError(f"a tool is a function, a Tool or a dictionary, got {kind}")
