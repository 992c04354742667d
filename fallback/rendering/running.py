"""A reply that goes on behind its results: calls and results inside one text of the assistant.

``[tool(args) → result]`` stands where the model wrote the call, and the model goes on from there,
so what it has said so far is the beginning of its next reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from fallback.catalogue import Catalogue
from fallback.dialects.record import ARROW, Dialect
from fallback.messages import Message, ToolCall, ToolResult
from fallback.rendering.fences import header_word
from fallback.rendering.text import call_text, result_text

__all__ = ["running_answer", "running_messages"]

_LONGEST_WORD = 80
"""Characters of a result that can stand in a sentence."""
_JOINED = frozenset(" \n\t.,;:!?%)]}'’”…")
_OPENING = frozenset(" \n\t([{“‘")


def running_messages(
    messages: Iterable[Message], catalogue: Catalogue, dialect: Dialect
) -> Iterator[Message]:
    """The messages with every call and its result inside the assistant's text.

    A result without its call is told as the user's words, since there is no place for it.
    """
    text, waiting = "", dict[str, ToolCall]()

    def unanswered() -> str:
        calls = tuple(waiting.values())
        waiting.clear()
        return _joined(text, call_text(calls, dialect))

    for message in messages:
        if message.role == "assistant":
            text = _joined(unanswered(), message.content)
            waiting |= {call.id: call for call in message.tool_calls}
        elif message.role == "tool" and message.result and message.result.call_id in waiting:
            call = call_text([waiting.pop(message.result.call_id)], dialect)
            text = _joined(text, f"{call} {result_text(message.result, dialect, catalogue)}")
        else:
            if text := unanswered():
                yield Message(role="assistant", content=text)
            text = ""
            shown = _theirs(message, catalogue, dialect)
            yield replace(message, role="user", content=shown, result=None)
    if text := unanswered():
        yield Message(role="assistant", content=text)


def running_answer(messages: Iterable[Message]) -> str:
    """What the user reads: the text without the brackets.

    A short result stands where it was called for, unless the model has gone on by saying it.
    """
    text, said = "", ""
    for message in messages:
        if message.role == "assistant":
            if said and not message.content.lstrip().startswith(said):
                text = _joined(text, said)
            text, said = _joined(text, message.content), ""
        elif message.role == "tool" and message.result is not None and message.result.ok:
            word = message.result.content.strip()
            said = word if len(word) <= _LONGEST_WORD and "\n" not in word else ""
    return _joined(text, said).strip()


def _theirs(message: Message, catalogue: Catalogue, dialect: Dialect) -> str:
    if message.role != "tool":
        return message.content if message.content.strip() else ""
    result = message.result or ToolResult(call_id="", name="", content=message.content)
    return f"[{header_word(result.name)} {ARROW} {result_text(result, dialect, catalogue)}"


def _joined(before: str, behind: str) -> str:
    """Two parts of a text, with a blank between them where one belongs."""
    if not behind.strip():
        return before
    if not before or before[-1] in _OPENING or behind[0] in _JOINED:
        return before + (behind.lstrip(" ") if before[-1:] in ("", " ") else behind)
    return f"{before} {behind}"
