"""Fences that their content cannot close, and content that cannot pass for a call.

A block of CommonMark ends at a line of at least as many back-ticks as opened it
(https://spec.commonmark.org/0.31.2/#fenced-code-blocks), so a fence longer than any run of
back-ticks in its content holds whatever it is given.
"""

from __future__ import annotations

import re
from functools import cache

from fallback.dialects.markers import MARKERS

__all__ = ["fence_for", "header_word", "neutralise", "quote"]

_TICKS = re.compile("`+")
# Words that open a block of the protocol, ours or that of a model's own training, in a fence, a
# tag or a token. Only the character before the word changes, so that a reader still sees what was
# there. Possessive runs and the look-behind keep a flood of back-ticks linear.
_WORDS = "tool_calls?|tool_code|tool_results?|tool_responses?|tool_outputs?|tools?|function_calls?"
_FENCE_OPENER = re.compile(
    rf"(?<!`)`{{3,}}+(?=[ \t]*+(?:{_WORDS}|observation)\b)"
    rf"|(?<!~)~{{3,}}+(?=[ \t]*+(?:{_WORDS}|observation)\b)",
    re.IGNORECASE,
)
_TAG_OPENER = re.compile(rf"<(?=/?[|｜]?(?:{_WORDS}|function|invoke|think)\b)", re.IGNORECASE)
_TOKEN_OPENER = re.compile(r"\[(?=/?(?:TOOL_CALLS?|TOOL_RESULTS?|AVAILABLE_TOOLS|INST|THINK)\b)")
_UNSAFE_IN_HEADER = re.compile(r"[^\w.:/@+-]+")
_HEADER_CHARS = 80
_QUOTE_CHARS = 400


def fence_for(content: str) -> str:
    """The shortest run of back-ticks, three at least, that ``content`` cannot close."""
    longest = max((len(run) for run in _TICKS.findall(content)), default=0)
    return "`" * max(3, longest + 1)


def header_word(text: str) -> str:
    """A name or id as one short word that is safe after a fence."""
    return _UNSAFE_IN_HEADER.sub("_", text)[:_HEADER_CHARS] or "_"


def neutralise(text: str) -> str:
    """Break what could be read as a call or a result, should a model repeat the text as its own.

    Text without such markers comes back unchanged.
    """
    text = _FENCE_OPENER.sub(lambda match: "'" * len(match[0]), text)
    text = _TAG_OPENER.sub("‹", text)
    text = _TOKEN_OPENER.sub("(", text)
    return _markers().sub(_broken, text)


@cache
def _markers() -> re.Pattern[str]:
    """Every literal of the marker table, and what closes it; a lone bracket says nothing."""
    texts = {text for marker in MARKERS for text in (marker.text, *marker.closers)} - {"]"}
    return re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))))


def _broken(match: re.Match[str]) -> str:
    return match[0].replace("<", "‹", 1) if "<" in match[0] else match[0].replace("[", "(", 1)


def quote(text: str) -> str:
    """The model's own words as a block quote: enough to recognise, too little to copy."""
    text = text.strip()
    if len(text) > _QUOTE_CHARS:
        text = text[: _QUOTE_CHARS // 2] + " [...] " + text[-_QUOTE_CHARS // 2 :]
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
