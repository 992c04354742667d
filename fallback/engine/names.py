"""Ollama's rules for the names of models.

Source: Ollama's API documentation: a name is ``model:tag``, the tag defaults to ``latest``, and
what is not qualified lives in the namespace ``library`` of the default host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT_TAG = "latest"
_PREFIXES = ("registry.ollama.ai/library/", "library/")
# Each piece of a name: letters, digits and a few marks, as Ollama allows; 80 is its own limit.
_NAME = re.compile(r"(?:[A-Za-z0-9_][\w.-]{0,79}/){0,3}[A-Za-z0-9_][\w.-]{0,79}", re.ASCII)
_TAG = re.compile(r"[A-Za-z0-9_][\w.-]{0,79}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed name: ``base`` without host and namespace, and the ``tag``, both in lower case."""

    base: str
    tag: str

    def __str__(self) -> str:
        return f"{self.base}:{self.tag}"

    @property
    def full(self) -> str:
        """The name as Ollama spells it in its capability errors, whatever the model came from."""
        return f"{_PREFIXES[0]}{self}"


def parse_name(text: str) -> ModelName | None:
    """Read a name; ``None`` if it is not one by Ollama's rules. Case does not matter there."""
    base, tag = text, DEFAULT_TAG
    head, colon, tail = text.rpartition(":")
    if colon and "/" not in tail:
        base, tag = head, tail
    if not _NAME.fullmatch(base) or not _TAG.fullmatch(tag):
        return None
    base = base.lower()
    for prefix in _PREFIXES:
        if base.startswith(prefix):
            base = base.removeprefix(prefix)
            break
    return ModelName(base, tag.lower())
