"""``parse``: a whole reply at once, by way of the parser, or at once where it is plain or clean."""

from __future__ import annotations

from collections.abc import Iterable

from fallback.catalogue import Catalogue
from fallback.errors import ParseError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import FinishReason, Reading
from fallback.parsing.clean import read_clean
from fallback.parsing.given import check_reason, check_text
from fallback.parsing.parser import Parser, ToolChoice
from fallback.tools import ToolLike

__all__ = ["parse"]


def parse(
    text: str,
    tools: Catalogue | Iterable[ToolLike],
    finish_reason: FinishReason = "stop",
    tool_choice: ToolChoice = "auto",
    reasoning_open: bool = False,
    *,
    strict: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    said: str = "",
    dialects: Iterable[str] | None = None,
) -> Reading:
    """Read a whole reply.

    Args:
        text: what the model wrote.
        tools: the tools that were offered: a catalogue, or functions, tools, OpenAI or Ollama
        dicts.
        finish_reason: why the generation ended; ``length`` means that the end is missing.
        tool_choice: see :class:`Parser`.
        reasoning_open: see :class:`Parser`.
        strict: raise instead of returning a reading with problems.
        limits: sizes beyond which a reply is a problem.
        said: the user's words; see :class:`Parser`.
        dialects: see :class:`Parser`.

    Raises:
        UnknownDialectError: a name in ``dialects`` is not one that is read.
        ParseError: only with ``strict``: the first problem's message.
        UsageError: what is given is no text, or there is no such finish reason.
    """
    check_text(text)
    check_reason(finish_reason)
    catalogue = tools if isinstance(tools, Catalogue) else Catalogue(tools)
    reading = None
    plain = tool_choice == "auto" and not reasoning_open and dialects is None
    if plain and len(text) <= limits.max_reply_chars:
        reading = read_clean(text, catalogue, finish_reason)
    if reading is None:
        parser = Parser(
            catalogue,
            tool_choice=tool_choice,
            reasoning_open=reasoning_open,
            limits=limits,
            said=said,
            dialects=dialects,
        )
        parser.be_silent()
        parser.feed(text)
        parser.close(finish_reason)
        reading = parser.reading
    if strict and reading.problems:
        raise ParseError(reading.problems[0].message)
    return reading
