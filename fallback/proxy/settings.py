"""What the server is told: ``fallback.toml``, then ``FALLBACK_*`` variables, then flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

__all__ = ["ModelSettings", "Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How one model is asked.

    Attributes:
        mode: ``native``, ``prompt``, or ``auto`` to find out.
        dialect: how calls are written in prompt mode.
        endpoint: which of Ollama's endpoints prompt mode uses.
        num_ctx: window in tokens; ``None`` to choose one that fits, and keep it.
        think: for thinking models, where the client does not say.
        corrections: replies that may be asked for again, unseen by the client, because a call in
            them was malformed.
        template: text that is added to the system prompt.
    """

    mode: Literal["auto", "native", "prompt"] = "auto"
    dialect: Literal["fenced", "pythonic"] = "fenced"
    endpoint: Literal["auto", "generate", "chat"] = "auto"
    num_ctx: int | None = None
    think: bool | str | None = None
    corrections: int = 1
    template: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything the server is told.

    Attributes:
        upstream: URL of the server behind, or ``embedded``; ``None`` to look for one.
        upstream_kind: ``ollama``, ``openai`` for any server with a chat endpoint of that kind, or
            ``auto`` to ask it.
        models: patterns of model names and their settings; the first that matches counts.
        default: the settings of every other model.
        max_num_ctx: the largest window, in tokens, that a client's own wish can lead to.
        forward_authorization: whether the clients' credentials are meant for the upstream.
        max_body: bytes of one request; images make them large.
        grace_seconds: how long a stream waits for an error before its status is sent.
        silence_seconds: of the model, after which a client is told that the answer is coming.
    """

    upstream: str | None = None
    upstream_kind: Literal["auto", "ollama", "openai"] = "auto"
    upstream_key: str = field(default="", repr=False)
    models: tuple[tuple[str, ModelSettings], ...] = ()
    default: ModelSettings = field(default_factory=ModelSettings)
    max_num_ctx: int = 32_768
    forward_authorization: bool = False
    max_body: int = 64 * 1024 * 1024
    grace_seconds: float = 2.0
    silence_seconds: float = 10.0

    def for_model(self, name: str) -> ModelSettings:
        """The settings of a model; a pattern without a tag fits every tag."""
        untagged = name.partition(":")[0]
        for pattern, settings in self.models:
            if fnmatchcase(name, pattern) or fnmatchcase(untagged, pattern):
                return settings
        return self.default
