"""Fields that several wires share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fallback.proxy.ask import Refused
from fallback.proxy.content import obj
from fallback.proxy.failures import invalid

__all__ = ["NOT_HERE", "model_of", "schema_of", "stops_of", "think_of"]

NOT_HERE = (
    "You have no tools here: you cannot search, fetch or run anything. If that is what is asked,"
    " say that it is not available, and make no results up."
)
"""What a model is told whose client offers nothing but tools that the provider would run: Claude
Code hands the answer to such a request on as the results of a search."""

_MOST_STOPS = 16
_NO_EFFORT = frozenset({"none", "off", "disabled"})
_EFFORTS = frozenset({"low", "medium", "high"})


def model_of(body: Mapping[str, Any]) -> str:
    """The model's name.

    Raises:
        Refused: there is none.
    """
    model = body.get("model")
    if not isinstance(model, str) or not model.strip():
        raise Refused(invalid("model is required: name one that the server has", param="model"))
    return model


def stops_of(value: Any) -> tuple[str, ...]:
    """Stop strings: one, several, or none."""
    given = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(stop for stop in given if isinstance(stop, str) and stop)[:_MOST_STOPS]


def think_of(body: Mapping[str, Any]) -> bool | str | None:
    """Whether to think: Ollama's ``think``, or OpenAI's ``reasoning_effort``, also nested."""
    if isinstance(body.get("think"), bool | str):
        return body["think"] or False
    effort = body.get("reasoning_effort") or obj(body.get("reasoning")).get("effort")
    if not isinstance(effort, str) or not effort:
        return None
    if effort in _NO_EFFORT:
        return False
    return effort if effort in _EFFORTS else "low" if effort == "minimal" else "high"


def schema_of(value: Any) -> Mapping[str, Any]:
    """A schema of the answer; what is none asks for any object."""
    return value if isinstance(value, Mapping) and value else {"type": "object"}
