"""Reading a model's text: sans-IO, linear, precision first.

``parser`` holds the public :class:`Parser`, ``whole`` :func:`parse`; ``scanner`` and ``fences``
decide what is prose and what is quoted; ``items`` reads the calls of one body; ``framing`` finds
where a value ends; ``strict`` and ``lenient`` decode it; ``vocabulary`` says whether a decoded
value is a call; ``source`` holds the window on the text and lets the readers wait for more of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fallback.parsing.parser import Parser as Parser
    from fallback.parsing.parser import ToolChoice as ToolChoice
    from fallback.parsing.whole import parse as parse

__all__ = ["Parser", "ToolChoice", "parse"]


def __getattr__(name: str) -> Any:
    # Late, because validation builds on the decoders of this package and the parser on validation.
    if name in __all__:
        from fallback.parsing import parser, whole

        return getattr(whole if name == "parse" else parser, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
