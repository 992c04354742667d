"""The conversation of a request to Anthropic's wire: its messages and their blocks.

Results come before the words beside them, whichever order they are told in, because they belong to
the calls above. Marks for caches are not read: they move from turn to turn, and the prompt must not
change with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fallback.proxy.content import Content, array, obj, read_content, text_of
from fallback.proxy.history import History, PastCall

__all__ = ["read_messages", "references"]

_BILLING = "x-anthropic-billing-header:"
_SYSTEM = ("system", "developer")
_THOUGHT = ("thinking", "redacted_thinking")
_LOOKED_INTO = 4
"""Levels of blocks inside blocks in which a reference is looked for."""


def read_messages(system: Any, messages: Any, *, notice: str = "") -> History:
    """The whole conversation; system messages may stand anywhere in it.

    Args:
        system: the field of the request.
        messages: the same.
        notice: what we add to the system's words, if there are messages.
    """
    history = History()
    _system(history, system)
    if array(messages):
        _system(history, notice)
    for role, content in _ordered([obj(entry) for entry in array(messages)]):
        if role in _SYSTEM:
            _system(history, content)
        elif role == "assistant":
            _assistant(history, content)
        else:
            _user(history, content)
    return history


def _ordered(messages: list[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Roles and contents, with the system's words in front of the user's that they follow.

    Claude Code says behind the question what skills there are, in several thousand characters; a
    small model then answers the list. Behind results they stay: those belong to the calls above.
    """
    asked: list[tuple[str, Any]] = []
    for message in messages:
        role, content = text_of(message.get("role")).lower(), message.get("content")
        if role in _SYSTEM:
            yield role, content
            continue
        yield from asked
        asked = [(role, content)]
        if role == "assistant" or any(_is_result(block) for block in _blocks(content)):
            yield from asked
            asked = []
    yield from asked


def references(messages: Any) -> list[str]:
    """Names of the deferred tools that a search of the client's has found, the first one first."""
    found: dict[str, None] = {}
    waiting = [(obj(entry).get("content"), 0) for entry in reversed(array(messages))]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, list) and depth < _LOOKED_INTO:
            waiting += [(part, depth + 1) for part in reversed(value)]
        elif isinstance(value, Mapping):
            if value.get("type") == "tool_reference" and isinstance(value.get("tool_name"), str):
                found[value["tool_name"]] = None
            waiting += [(value.get(key), depth) for key in ("tool_references", "content")]
    return list(found)


def _system(history: History, content: Any) -> None:
    """Instructions, the same for a string and for blocks of the same text."""
    told = read_content(content if isinstance(content, list) else [content])
    blocks = content if isinstance(content, list) else []
    if any(_is_billing(block) for block in blocks):
        told = read_content([block for block in blocks if not _is_billing(block)])
    if told.text:
        history.system(told.text)


def _is_billing(block: Any) -> bool:
    return text_of(obj(block).get("text")).lstrip().lower().startswith(_BILLING)


def _assistant(history: History, content: Any) -> None:
    calls = []
    said: list[Any] = []
    for block in _blocks(content):
        kind = obj(block).get("type")
        if kind == "tool_use":
            calls.append(PastCall(block.get("id"), block.get("name"), block.get("input")))
        elif kind not in _THOUGHT:
            said.append(block)
    history.assistant(_read(said).text, calls)


def _user(history: History, content: Any) -> None:
    said: list[Any] = []
    for block in _blocks(content):
        if not _is_result(block):
            said.append(block)
            continue
        result = _read(_blocks(block.get("content")))
        history.result(
            result.text,
            call_id=block.get("tool_use_id"),
            images=result.images,
            failed=block.get("is_error") is True,
        )
    told = _read(said)
    if told.text or told.images:
        history.user(told.text, told.images)


def _is_result(block: Any) -> bool:
    return obj(block).get("type") == "tool_result"


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [] if content is None else [content]


def _read(blocks: Iterable[Any]) -> Content:
    """Texts and images, and in words what is neither."""
    return read_content([_plain(block) for block in blocks])


def _plain(block: Any) -> Any:
    """A block that :func:`read_content` knows."""
    told = obj(block)
    kind = told.get("type")
    if kind == "tool_reference":
        return f"The tool {text_of(told.get('tool_name'))} can be called now."
    if kind == "document":
        return _document(told)
    return block


def _document(block: Mapping[str, Any]) -> Any:
    source = obj(block.get("source"))
    title = text_of(block.get("title"))
    if source.get("type") == "text":
        return "\n".join(filter(None, (title, text_of(source.get("data")))))
    if source.get("type") == "content":
        return {"content": [title, *_blocks(source.get("content"))]}
    return f"[a document{title and ' named '}{title[:200]}, which this server cannot read]"
