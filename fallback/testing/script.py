"""What the models of the scripted server say: replies, and what goes wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Fault", "Model", "Reply", "read_script"]

Fault = Literal[
    "no_tools",
    "status_500",
    "busy",
    "too_long",
    "cut_before",
    "cut_in_text",
    "error_in_text",
    "malformed",
    "silent",
    "unfinished",
]
"""What goes wrong, and when; the names say how it looks on the wire."""

_CHATML = (
    "{{ .System }}<|im_start|>user\n{{ .Prompt }}<|im_end|>\n<|im_start|>assistant\n{{ .Response }}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One reply.

    Attributes:
        text: what is written, some characters a line.
        thinking: reported apart from it.
        tool_calls: as Ollama reports them.
        fault: what goes wrong with it.
        reason: ``stop`` or ``length``.
        wait: seconds of silence before it begins.
    """

    text: str = ""
    thinking: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    fault: Fault | None = None
    reason: str = "stop"
    wait: float = 0.0


@dataclass(slots=True, kw_only=True)
class Model:
    """One model.

    Attributes:
        replies: one for each generation, in order, and then from the beginning.
        capabilities: as ``/api/show`` lists them.
        template: Go template; its text tells the chat format.
        chunk: characters of one line.
        pause: seconds between two lines.
        context_length: tokens, of four characters; a longer prompt is refused.
    """

    replies: Sequence[Reply]
    capabilities: tuple[str, ...] = ("completion",)
    template: str = _CHATML
    chunk: int = 8
    pause: float = 0.0
    context_length: int = 131_072
    asked: int = field(default=0, init=False)

    def next(self) -> Reply:
        """The reply to the next request."""
        reply = self.replies[self.asked % len(self.replies)]
        self.asked += 1
        return reply


def read_script(script: Mapping[str, Any]) -> dict[str, Model]:
    """Models from the JSON of a script."""
    models = {}
    for name, given in script.items():
        settings = given if isinstance(given, Mapping) else {"replies": given}
        replies = [
            Reply(text=reply) if isinstance(reply, str) else Reply(**reply)
            for reply in settings["replies"]
        ]
        more = {key: value for key, value in settings.items() if key != "replies"}
        models[name] = Model(replies=replies, **more)
    return models
