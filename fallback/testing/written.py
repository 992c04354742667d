"""A call as it was meant, and the forms of a value that several dialects share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Written(NamedTuple):
    """A call as it was meant: the declared name and the arguments."""

    name: str
    arguments: Mapping[str, Any]


Calls = Sequence[Written]


def as_json(value: Any) -> str:
    """JSON with every character as it is."""
    return json.dumps(value, ensure_ascii=False)


def as_object(call: Written, *, arguments: str = "arguments") -> str:
    """The object of a call, with the key under which its arguments stand."""
    return as_json({"name": call.name, arguments: call.arguments})


def raw_text(value: Any) -> str:
    """Text as it is, anything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def gemma_value(value: Any, quote: str = '<|"|>') -> str:
    """A value in Gemma's syntax: bare keys, and strings between ``quote`` tokens."""
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, Mapping):
        pairs = (f"{key}:{gemma_value(item, quote)}" for key, item in value.items())
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(gemma_value(item, quote) for item in value) + "]"
    return as_json(value)
