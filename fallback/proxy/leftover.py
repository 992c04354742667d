"""What is left of a reply whose call could not be used: the text that it was. Nothing vanishes."""

from __future__ import annotations

from fallback.loop import Generation
from fallback.messages import SHOWN, Segment
from fallback.templating import to_json

__all__ = ["leftover"]


def leftover(generation: Generation, *, said: bool) -> str:
    """The words of a reply, without its reasoning.

    Args:
        generation: the reply.
        said: whether its prose went out already; then only the rest is left.
    """
    segments = generation.reading.segments
    kept = [
        generation.raw[segment.start : segment.end]
        for index, segment in enumerate(segments)
        if not _belongs_to_reasoning(segments, index) and not (said and segment.kind in SHOWN)
    ]
    text = "".join(kept)
    if text.strip():
        return text
    if generation.tool_calls:  # the server's own report of a call that is none
        return to_json([dict(call) for call in generation.tool_calls])
    return generation.thinking or generation.reading.reasoning


def _belongs_to_reasoning(segments: tuple[Segment, ...], index: int) -> bool:
    """Whether a segment is reasoning, or one of the tags around it."""
    around = segments[max(index - 1, 0) : index + 2]
    kind = segments[index].kind
    return kind == "reasoning" or (
        kind == "markup" and any(segment.kind == "reasoning" for segment in around)
    )
