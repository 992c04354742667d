"""What became of an answer, for logs and metrics."""

from __future__ import annotations

from dataclasses import dataclass, field

from fallback.messages import Mode, Usage

__all__ = ["Record"]


@dataclass(slots=True)
class Record:
    """Filled while the answer is made.

    Attributes:
        mode: how the model was asked last.
        rounds: replies that were asked for.
        repairs: names of the repairs on calls that went out.
        problems: kinds of what was refused.
        suppressed: calls that were recognised and not meant.
        decided: which tools were decided on before a reply, and what spoke for them.
        usage: what the replies cost; clients are told, and some go by it for their window.
        deciding: what it cost besides that something was decided on.
    """

    mode: Mode = "prompt"
    path: str = ""
    why: str = ""
    rounds: int = 0
    calls: int = 0
    repairs: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    suppressed: int = 0
    decided: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    deciding: Usage = field(default_factory=Usage)
    upstream_error: str = ""
