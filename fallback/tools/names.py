"""Which names a tool may have."""

from __future__ import annotations

from typing import Any

from fallback.errors import InvalidToolError
from fallback.schema.places import preview

LONGEST_NAME = 128
"""MCP's limit (specification 2025-11-25, server/tools); OpenAI's is 64."""

_MARKS = frozenset("_-./: ")


def check_name(name: Any) -> str:
    """The name, if a tool may have it.

    Letters and digits of any script, and ``_ - . / :`` and single words' spaces as MCP servers,
    agents and people use them. What could end or imitate a call in a prompt is refused: quotes,
    brackets, back-ticks, line breaks, control characters.

    Raises:
        InvalidToolError: says what is wrong with it.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidToolError(f"a tool needs a name, got {preview(name)}")
    if len(name) > LONGEST_NAME:
        raise InvalidToolError(
            f"the tool name {preview(name)} is longer than {LONGEST_NAME} characters"
        )
    if name != name.strip():
        raise InvalidToolError(f"the tool name {preview(name)} begins or ends with a space")
    for char in name:
        if not char.isalnum() and char not in _MARKS:
            raise InvalidToolError(
                f"the tool name {preview(name)} has the character {preview(char)}; "
                "use letters, digits and _ - . / : or spaces"
            )
    if not any(char.isalnum() for char in name):
        raise InvalidToolError(f"the tool name {preview(name)} has no letter or digit")
    return name
