"""The example of the instructions, sent back as if it were a call.

Small models copy what they are shown. The worked example is made of a real tool, so a copy of it is
valid in every other respect; only its filler words (``some city`` for ``city``) give it away.
"""

from __future__ import annotations

from collections.abc import Iterable

from fallback.messages import ToolCall
from fallback.rendering.examples import Example
from fallback.schema.samples import sample_text

__all__ = ["COPIED", "NOT_RUN", "PLAIN_ANSWER", "echoes_example"]

NOT_RUN = "Not run: these are the example values from the instructions."
COPIED = (
    "You repeated the example from the instructions; it was not run. If no tool is needed here,"
    " answer in plain words. If one is needed, call it with the real values."
)
PLAIN_ANSWER = "Answer in plain words."


def echoes_example(call: ToolCall, said: str, examples: Iterable[Example] = ()) -> bool:
    """Whether an argument is the filler that examples are made of, or the call that of an example,
    and nobody has said so.

    Args:
        call: valid in every other respect.
        said: the user's words; what stands there is meant.
        examples: those of the application.
    """
    said = said.casefold()
    texts = [value.casefold() for value in call.arguments.values() if isinstance(value, str)]
    copied = any(
        (shown.name, shown.arguments) == (call.name, call.arguments)
        for example in examples
        for shown in example.calls
    )
    if copied and texts and not any(text in said for text in texts):
        return True
    return any(
        isinstance(value, str)
        and value.startswith("some ")
        and value == sample_text(name, {})
        and value not in said
        for name, value in call.arguments.items()
    )
