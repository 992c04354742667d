"""Somebody else's parser as the subject of the laws: any function from text and tools to calls."""

from __future__ import annotations

import copy
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fallback.errors import ConfigurationError
from fallback.testing.samples import Sample, Subject
from fallback.testing.writers import Written

Target = Callable[[str, list[dict[str, Any]]], Any]
"""Takes what the model wrote and the tools it was offered, in OpenAI's form, and returns the calls:
mappings with ``name`` and ``arguments`` (or OpenAI's, with ``function``), objects with these
attributes, or pairs. Arguments may be a mapping or a JSON text; no call may be ``None``."""


def load(path: str) -> Subject:
    """The target that ``package.module:function`` names.

    Raises:
        ConfigurationError: it cannot be imported, or is not a function.
    """
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise ConfigurationError(f"a target is package.module:function, got {path!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` does: the folder one stands in
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ConfigurationError(f"{module_name} cannot be imported: {reason}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(f"{module_name} has no {attribute!r}")
        found = getattr(found, part)
    if not callable(found):
        raise ConfigurationError(f"{path} is {type(found).__name__}, not a function")
    return subject(found)


def subject(target: Target) -> Subject:
    """A target as a subject of the laws: its calls in one form, its tools its own copies."""

    def calls(sample: Sample) -> list[Written]:
        tools = [copy.deepcopy(dict(tool)) for tool in sample.tools]
        return as_calls(target(sample.text, tools))

    return calls


def as_calls(returned: Any) -> list[Written]:
    """What a target returned, as calls.

    Raises:
        ConfigurationError: it is no list of calls; the target breaks its contract, not a law.
    """
    if returned is None:
        return []
    if isinstance(returned, str | Mapping) or not isinstance(returned, Iterable):
        raise ConfigurationError(f"a target returns a list of calls, got {returned!r:.200}")
    return [_as_call(entry) for entry in returned]


def _as_call(entry: Any) -> Written:
    if isinstance(entry, Mapping):
        inner = entry.get("function")
        holder = inner if isinstance(inner, Mapping) else entry
        name, arguments = holder.get("name"), holder.get("arguments")
    elif isinstance(entry, tuple | list) and len(entry) == 2:
        name, arguments = entry
    else:
        name, arguments = getattr(entry, "name", None), getattr(entry, "arguments", None)
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = None
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        raise ConfigurationError(
            f"a call is a mapping with name and arguments, or such a pair; got {entry!r:.200}"
        )
    return Written(name, arguments)
