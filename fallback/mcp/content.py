"""What an MCP tool returned, as the value of a call.

The blocks are those of the MCP specification (server/tools, *Tool Result*). Pictures, sound and
other bytes are named, not shown: the model reads text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fallback.errors import ToolFailed

__all__ = ["value_of"]


def value_of(result: Any, *, trusted: bool) -> Any:
    """The value of a call: the structured content where there is some, else the text.

    Args:
        result: a ``CallToolResult`` of the SDK.
        trusted: whether its words are the application's own.

    Raises:
        ToolFailed: the tool says that it has failed.
    """
    if result.is_error:
        told = _text(result.content) or "the tool says that it failed, and not why"
        raise ToolFailed(told, untrusted=not trusted)
    if result.structured_content is None:
        return _text(result.content)
    others = [_block(block) for block in result.content if block.type != "text"]
    if not others:
        return result.structured_content
    return {"structured": result.structured_content, "besides": others}


def _text(content: Iterable[Any]) -> str:
    return "\n".join(filter(None, map(_block, content)))


def _block(block: Any) -> str:
    kind = block.type
    if kind == "text":
        return str(block.text)
    if kind == "resource_link":
        return f"[resource {block.name}: {block.uri}]"
    if kind == "resource":
        inside = block.resource
        text = getattr(inside, "text", None)
        if text is not None:
            return f"[resource {inside.uri}]\n{text}"
        return f"[resource {inside.uri}: {_kind(inside)}, {_size(inside.blob)}, not shown]"
    return f"[{kind}: {_kind(block)}, {_size(block.data)}, not shown]"


def _kind(block: Any) -> str:
    return str(getattr(block, "mime_type", None) or "bytes")


def _size(base64: str) -> str:
    return f"{len(base64) * 3 // 4} bytes"
