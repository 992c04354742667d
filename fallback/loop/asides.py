"""What the model is told once, between one reply and the next: nudges and reminders.

Asides are not part of the conversation that is kept: once they have worked they are forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fallback.rendering.fences import neutralise, quote

__all__ = [
    "ANSWER_NOW",
    "EMPTY",
    "EMPTY_BEHIND_RESULTS",
    "GO_ON",
    "NOT_FIRST",
    "ONE_CALL",
    "announced",
    "announces_call",
    "repeated",
]

EMPTY = "Your last reply was empty. Answer the question, or call a tool in the form described."
EMPTY_BEHIND_RESULTS = "Your last reply was empty. Answer now, with what the results say."
ANSWER_NOW = (
    "No tool can be called any more. Answer the question now, in plain words, with what the results"
    " above say. If they are not enough, say what is missing."
)
ONE_CALL = (
    "Only the first of your calls was made: one call a reply. If another one is still needed, make"
    " it now."
)
GO_ON = "Go on with your answer from there."
NOT_FIRST = "Not run: only the first call of a reply counts here."

# A promise in the first person, near the end of the reply, that names a tool: anything looser would
# take advice to the user ("you should use ...") or a report ("I used ...") for a promise.
_PROMISE = re.compile(
    r"(?i)\b(?:i\s+will|i['’]ll|i\s+shall|let\s+me|i\s+am\s+going\s+to|i['’]m\s+going\s+to"
    r"|i\s+need\s+to|allow\s+me\s+to)\s+(?:\w+\s+){0,3}?"
    r"(?:use|using|call|invoke|run|execute|query|check|look|search|fetch|get|find)\b"
)
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n\s*\n")
_TOOL_WORD = re.compile(r"(?i)\b(?:tools?|functions?)\b")
_NEAR_END = 400


def announces_call(text: str, names: Iterable[str]) -> bool:
    """Whether a reply ends by promising a tool call that it does not make.

    Args:
        text: the visible text of a reply without calls.
        names: the declared tools.
    """
    end = text.rstrip()[-_NEAR_END:]
    for promise in _PROMISE.finditer(end):
        sentence = _SENTENCE_END.split(end[promise.start() :], maxsplit=1)[0]
        if _TOOL_WORD.search(sentence) or any(_mentions(sentence, name) for name in names):
            return True
    return False


def _mentions(sentence: str, name: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence))


def announced(text: str) -> str:
    """To a model that said that it would call a tool, and stopped."""
    return (
        f"You wrote:\n{quote(neutralise(text))}\nThere was no call. Write the call now, in the form"
        " described, or answer without a tool."
    )


def repeated(name: str, times: int, result: str = "") -> str:
    """To a model that makes one call again and again.

    Args:
        name: the tool, or the tools, that are called.
        times: how often that was.
        result: what came back each time; it is quoted, cut to a few lines.
    """
    shown = f" It was:\n{quote(neutralise(result))}\n" if result.strip() else " "
    return (
        f"You have now called {name} {times} times with the same arguments, and the result was the"
        f" same each time; calling it again will not change that.{shown}Use the result, do"
        " something else, or say what is missing."
    )
