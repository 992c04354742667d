"""The window of each model: large enough for what was rendered, and then left alone.

Ollama reloads a model whenever its window changes, and cuts prompts that do not fit its default of
4096; most agents open with more than that, and none of OpenAI's wires can carry a size. So the
first request decides, with room to grow, and later ones change the window only when they must.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import Message

__all__ = ["Windows", "estimate"]

_CHARS_PER_TOKEN = 3.0
"""A low figure: English prose has four, code and JSON some three."""
_IMAGE_TOKENS = 1024
_LEAST_ROOM = 1024
_MOST_ROOM = 4096
"""Tokens kept free for the answer. Clients ask for 32,000 as a matter of course; they are not
reserved."""
_GROWTH = 1.25
_OVERHEAD = 8
"""Tokens around each message that a chat template writes."""


def estimate(messages: Iterable[Message], extra_chars: int = 0, per_token: float = 3.0) -> int:
    """Tokens of a prompt, guessed from its characters; those beyond ASCII count as one each."""
    tokens = extra_chars / per_token
    for message in messages:
        text = message.content
        wide = 0 if text.isascii() else sum(char > "\x7f" for char in text)
        tokens += (len(text) - wide) / per_token + wide + _OVERHEAD
        tokens += len(message.images) * _IMAGE_TOKENS
        for call in message.tool_calls:
            tokens += len(repr(call.arguments)) / per_token + _OVERHEAD
    return int(tokens)


@dataclass(slots=True)
class _Known:
    window: int = 0
    per_token: float = _CHARS_PER_TOKEN


class Windows:
    """Remembers the window of each model, and how many characters its tokens have."""

    def __init__(self, *, most_wished: int, limits: Limits = DEFAULT_LIMITS) -> None:
        self._most_wished, self._limits = most_wished, limits
        self._models: dict[str, _Known] = {}

    def choose(
        self,
        model: str,
        prompt_tokens: int,
        *,
        trained: int | None,
        wished: int | None = None,
        fixed: int | None = None,
        least: int | None = None,
        answer_tokens: int | None = None,
    ) -> int:
        """The window in tokens for a request.

        Args:
            model: name and digest.
            prompt_tokens: what :func:`estimate` says.
            trained: the most the model can take.
            wished: what the client asks for: a hint, since some clients ask for a new size each
                time and others for all there is.
            fixed: what the settings say; nothing else counts then.
            least: what the model's own Modelfile says. It is not the most: many say 4096, and
                an agent's tools alone are longer.
            answer_tokens: what the client allows the answer, if it says.
        """
        known = self._models.setdefault(model, _Known())
        if fixed is not None:
            known.window = fixed
            return fixed
        room = min(max(answer_tokens or self._limits.num_predict, _LEAST_ROOM), _MOST_ROOM)
        need = prompt_tokens + room
        if need > known.window:
            roomy = max(int(prompt_tokens * _GROWTH) + room, self._limits.num_ctx)
            known.window = max(known.window, _rounded(roomy))
        if least:
            known.window = max(known.window, least)
        if wished:
            known.window = max(known.window, _rounded(min(wished, self._most_wished)))
        if trained:
            known.window = min(known.window, trained)
        return known.window

    def guess(self, model: str, messages: Iterable[Message], extra_chars: int = 0) -> int:
        """Tokens of a prompt, by what is known of the model's own tokens."""
        known = self._models.get(model)
        return estimate(messages, extra_chars, known.per_token if known else _CHARS_PER_TOKEN)

    def learn(self, model: str, guessed: int, counted: int) -> None:
        """The server has counted a prompt that was guessed; errs on the side of more tokens."""
        known = self._models.setdefault(model, _Known())
        if guessed > 0 and counted > 200:  # a short prompt says little
            ratio = known.per_token * guessed / counted
            known.per_token = max(1.0, min(ratio * 0.95, 5.0))


def _rounded(tokens: int) -> int:
    """The next power of two, of which there are few."""
    return 1 << max(tokens - 1, 1).bit_length()
