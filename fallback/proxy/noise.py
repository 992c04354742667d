"""What changes at the head of a prompt is moved to its end, where it costs nothing.

A server keeps what it has evaluated of a prompt only as far as the next one begins with the same
bytes. A line that changes from request to request, in front of 10,000 tokens of tools and rules,
makes every request pay for all of them.

Source: Claude Code opens its system prompt with ``x-anthropic-billing-header: ...``, which differs
per session and side request (anthropics/claude-code#68900); others write the time of day there.
Claude Code and opencode put ``<system-reminder>`` blocks, often longer than the question, into what
the user says.
"""

from __future__ import annotations

import re
from dataclasses import replace

from fallback.messages import Message

__all__ = ["own_words", "settled"]

_BILLING = re.compile(r"\A\s*x-anthropic-billing-header:[^\n]*\n*", re.IGNORECASE)
# A time of day or a count of seconds, on a line of its own that says that it is the time. A bare
# date changes once a day; moving it would cost more than it saves.
_CLOCK = re.compile(
    r"^[ \t>*#-]*(?:the\s+)?(?:current|today'?s|local|present|system)?[ \t]*"
    r"(?:date[ \t]*(?:and|&|/)[ \t]*time|date[- ]?time|timestamp|time|date|now)\b[^\n:]{0,40}:"
    r"[^\n]{0,60}?(?:\b\d{1,2}:\d{2}\b|\b\d{10,13}\b)[^\n]{0,60}(?:\n|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_REMINDER, _ENDS = "<system-reminder>", "</system-reminder>"
_LONGEST_LOOKED_AT = 200_000


def settled(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The conversation with a head that stays the same from one request to the next.

    Billing lines are left out; lines with the time of day are said behind the last message.
    """
    moved: list[str] = []
    kept: list[Message] = []
    opening = True
    for message in messages:
        opening = opening and message.role == "system"
        if not opening or len(message.content) > _LONGEST_LOOKED_AT:
            kept.append(message)
            continue
        text = _BILLING.sub("", message.content)
        found = [match[0].strip() for match in _CLOCK.finditer(text)]
        if found:
            moved += found
            text = _CLOCK.sub("", text)
        if text != message.content:
            message = replace(message, content=text)  # noqa: PLW2901 -- the tidied one
        if message.content.strip():
            kept.append(message)
    if moved and kept and not opening:
        kept.append(Message(role="user", content="\n".join(moved)))
    elif moved:
        kept.append(Message(role="system", content="\n".join(moved)))
    return tuple(kept)


def own_words(text: str) -> str:
    """What the user has said of a user's message: without the reminders that a client puts in."""
    kept, at = [], 0
    while (begin := text.find(_REMINDER, at)) >= 0 and (end := text.find(_ENDS, begin)) >= 0:
        kept.append(text[at:begin])
        at = end + len(_ENDS)
    return "".join([*kept, text[at:]]).strip()
