"""What a caller gives the parser besides tools: refused in one line where it is of no use."""

from __future__ import annotations

from typing import get_args

from fallback.errors import UsageError
from fallback.messages import FinishReason

_FINISH_REASONS = frozenset(get_args(FinishReason))


def check_text(text: object) -> None:
    """Refuse a reply that is no text.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(text, str):
        raise UsageError(f"a reply is text (str), got {type(text).__name__}")


def check_reason(reason: str) -> None:
    """Refuse a reason to end that is not known.

    A server's own word for a reply that ran out of tokens, such as ``max_tokens``, must not pass
    for that of a whole one.

    Raises:
        UsageError: it is not known.
    """
    if reason not in _FINISH_REASONS:
        known = ", ".join(get_args(FinishReason))
        raise UsageError(f"finish_reason is one of {known}; got {reason!r}")
