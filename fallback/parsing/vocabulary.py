"""The words that models use for the parts of a call, and what a decoded value says with them.

The keys are the aliases that open-weight models and the frameworks they were trained on really
write. A value is *call-shaped* when a declared name stands beside arguments; a name alone is data.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from fallback.catalogue import Catalogue
from fallback.parsing.rawcall import RawCall

NAME_KEYS = (
    "name", "tool", "tool_name", "function", "function_name", "func", "action", "api",
    "recipient_name", "call", "tool_call", "function_call",
)  # fmt: skip
ARGUMENT_KEYS = (
    "arguments", "parameters", "args", "params", "input", "tool_input", "action_input", "kwargs",
    "inputs",
)  # fmt: skip
HOLDER_KEYS = (
    "tool_calls", "tool_call", "calls", "function_calls", "function_call", "function", "tools",
    "actions",
)  # fmt: skip
# What may stand beside a call without being part of it.
SIDE_KEYS = frozenset(
    ("type", "id", "tool_call_id", "call_id", "index", "thought", "thoughts", "reasoning", "role")
)
ALIAS_KEYS = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *HOLDER_KEYS)) | SIDE_KEYS

# Keys that only a JSON Schema has together: a tool's definition that was repeated, not a call of
# it.
_SCHEMA_KEYS = frozenset(("type", "properties"))


def calls_in(value: Any, catalogue: Catalogue, *, enveloped: bool) -> list[RawCall] | None:
    """The calls that a decoded value states, or ``None`` if it is not call-shaped.

    Args:
        value: what a JSON or Python reader made of the text.
        catalogue: decides which names are names.
        enveloped: whether a marker said that a call follows. Then flat arguments and names that are
            not declared are calls too (the latter to be refused by name); otherwise they are data.
    """
    if isinstance(value, list):
        return _calls_in_list(value, catalogue, enveloped=enveloped)
    if not isinstance(value, dict):
        return None
    if len(value) == 2 and isinstance(value.get("arguments"), dict):
        # The usual form, without the search through the aliases.
        name = value.get("name")
        if isinstance(name, str) and name.strip():
            return [RawCall(name, value["arguments"])]
    found = _named(value, catalogue, enveloped=enveloped)
    if found is None:
        found = _held(value, catalogue, enveloped=enveloped)
    if found is None and len(value) == 1:
        # {"get_weather": {"city": "Rome"}}
        ((name, arguments),) = value.items()
        if isinstance(arguments, dict) and catalogue.resolve(name) is not None:
            return [RawCall(name, arguments, repairs=("name_as_key",))]
    return found


def _calls_in_list(
    values: list[Any], catalogue: Catalogue, *, enveloped: bool
) -> list[RawCall] | None:
    if (
        len(values) == 2
        and isinstance(values[0], str)
        and isinstance(values[1], dict)
        and catalogue.resolve(values[0]) is not None
    ):
        return [RawCall(values[0], values[1], repairs=("name_and_arguments_pair",))]
    calls: list[RawCall] = []
    for value in values:
        found = calls_in(value, catalogue, enveloped=enveloped)
        if found is None:
            return None
        calls += found
    return calls or None


def _named(
    value: Mapping[str, Any], catalogue: Catalogue, *, enveloped: bool
) -> list[RawCall] | None:
    """A call whose name stands under one of the name keys."""
    name_keys = [key for key in NAME_KEYS if isinstance(value.get(key), str)]
    if not name_keys:
        return None
    name_key = next((k for k in name_keys if catalogue.resolve(value[k])), name_keys[0])
    name: str = value[name_key]
    argument_key = next((key for key in ARGUMENT_KEYS if key in value and key != name_key), None)
    tool = catalogue.resolve(name)
    identity = str(value.get("id") or value.get("tool_call_id") or value.get("call_id") or "")
    if argument_key is not None:
        arguments = value[argument_key]
        if arguments == {} and argument_key == "parameters" and "description" in value:
            return None  # the definition of a tool that takes nothing, repeated
        if tool is None and not name.strip():
            # The whole call, one level too deep, with an empty name around it.
            return calls_in(arguments, catalogue, enveloped=enveloped)
        return [RawCall(name, arguments, id=identity)]
    if tool is None:
        return [RawCall(name, None, id=identity)] if enveloped and _only(value, name_key) else None
    if not tool.parameters.get("required") and _only(value, name_key):
        return [RawCall(name, None, id=identity)]
    if not enveloped:
        return None
    flat = {k: v for k, v in value.items() if k != name_key and k not in SIDE_KEYS}
    return [RawCall(name, flat, id=identity, repairs=("flat_arguments",) if flat else ())]


def _only(value: Mapping[str, Any], name_key: str) -> bool:
    return all(key == name_key or key in SIDE_KEYS for key in value)


def _held(
    value: Mapping[str, Any], catalogue: Catalogue, *, enveloped: bool
) -> list[RawCall] | None:
    """A call, or several, one level down: the OpenAI message and its relatives."""
    holders = [k for k in HOLDER_KEYS if isinstance(value.get(k), (dict, list))]
    others = set(value) - set(holders) - SIDE_KEYS - {"content"}
    if len(holders) != 1 or others:
        return None
    return calls_in(value[holders[0]], catalogue, enveloped=enveloped)


def is_data(value: Mapping[str, Any], catalogue: Catalogue) -> bool:
    """Whether an object without an envelope is an answer rather than a call.

    It is, as soon as a key that no call has comes before a declared name. Adding keys at the end
    never changes a ``True``, so a stream can decide on a prefix what the whole object will decide.
    """
    parameters = catalogue_words(catalogue)
    for key, item in value.items():
        if key in NAME_KEYS and isinstance(item, str) and catalogue.resolve(item) is not None:
            return False
        if key not in ALIAS_KEYS and key not in parameters:
            return True
    return False


@lru_cache(maxsize=64)
def catalogue_words(catalogue: Catalogue) -> frozenset[str]:
    """Every declared tool and parameter name: with the aliases, all that a call's keys can be."""
    words: set[str] = set()
    for tool in catalogue:
        words.add(tool.name)
        words.update(tool.parameters.get("properties", ()))
    return frozenset(words)


def is_schema(arguments: Any, properties: Mapping[str, Any]) -> bool:
    """Whether the "arguments" are the tool's own definition, repeated."""
    return (
        isinstance(arguments, dict)
        and arguments.keys() >= _SCHEMA_KEYS
        and not _SCHEMA_KEYS & properties.keys()
        and isinstance(arguments["properties"], dict)
    )
