"""What the server is told, as values; where it is read from is :mod:`fallback.proxy.config`."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal

from fallback.dialects.record import PROMPTED, Dialect
from fallback.errors import ConfigurationError

__all__ = ["ModelSettings", "Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How one model is asked.

    Attributes:
        mode: ``native``, ``prompt``, or ``auto`` to find out.
        profile: what ``auto`` goes by where the model was calibrated: ``auto`` looks for its
            profile, ``off`` does not, anything else is the path of one. All that is set here goes
            before it.
        dialect: how calls are written in prompt mode; ``fenced`` if nothing says otherwise.
        example: whether the prompt shows a worked example; it does if nothing says otherwise.
        decide: whether it is decided before a reply, by log-probabilities, which tool it calls in
            prompt mode; as the profile says if nothing else does.
        read_text: whether, in native mode, calls are also read from the text; the same.
        endpoint: which of Ollama's endpoints prompt mode uses.
        num_ctx: window in tokens; ``None`` to choose one that fits, and keep it.
        think: for thinking models, where the client does not say.
        corrections: replies that may be asked for again, unseen by the client, because a call in
            them was malformed.
        template: source of a Jinja template whose text joins the system prompt; it is given
            ``model`` and ``tools``, the names of those on offer.
    """

    mode: Literal["auto", "native", "prompt"] = "auto"
    profile: str = "auto"
    dialect: Literal["fenced", "pythonic", "hermes"] | None = None
    example: bool | None = None
    decide: bool | None = None
    read_text: bool | None = None
    endpoint: Literal["auto", "generate", "chat"] = "auto"
    num_ctx: int | None = None
    think: bool | str | None = None
    corrections: int = 1
    template: str = ""

    @property
    def record(self) -> Dialect:
        """The dialect of prompt mode."""
        return replace(PROMPTED[self.dialect or "fenced"], example=self.example is not False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything the server is told.

    Attributes:
        upstream: URL of the server behind, or ``embedded``; ``None`` to look for one.
        upstream_kind: ``ollama``, ``openai`` for any server with a chat endpoint of that kind, or
            ``auto`` to ask it.
        upstream_key: bearer token that belongs to the upstream.
        forward_authorization: whether the clients' credentials are meant for the upstream; only
            where there are no keys of our own.
        host, port: where to listen; port 0 picks a free one.
        insecure: listen where others can reach it although nothing asks for a key.
        api_keys: the keys that are accepted; with none, and no file, anybody is.
        api_keys_file: file with one key a line, ``name: key`` or the key alone; read again on
            SIGHUP.
        allowed_hosts: names under which the server may be addressed, besides this machine's own.
        allowed_origins: web pages that may use it, besides those of this machine.
        max_body: bytes of one request; images make them large.
        max_headers: bytes of all headers of a request.
        max_messages: messages of one conversation.
        max_concurrent: answers under way at once, for each key.
        max_queue: requests that may wait for one of those, for each key.
        body_seconds: how long a client may take to send its request.
        grace_seconds: how long a stream waits for an error before its status is sent.
        silence_seconds: of the model, after which a client is told that the answer is coming; the
            most impatient clients give up after five.
        drain_seconds: how long answers may take to end when the server is told to.
        max_num_ctx: the largest window, in tokens, that a client's own wish can lead to.
        stream_arguments: send the arguments of calls while they are written. A call that turns out
            to be invalid then ends the answer with an error; it cannot be corrected unseen.
        workers: processes.
        log_level: ``debug`` says more of each request; bodies are never logged.
        traces: send OpenTelemetry spans, as the ``OTEL_*`` variables say.
        default: how models are asked.
        models: patterns of model names and their settings; the first that matches counts.
    """

    upstream: str | None = None
    upstream_kind: Literal["auto", "ollama", "openai"] = "auto"
    upstream_key: str = field(default="", repr=False)
    forward_authorization: bool = False
    host: str = "127.0.0.1"
    port: int = 11435
    insecure: bool = False
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    api_keys_file: str = ""
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_body: int = 64 * 1024 * 1024
    max_headers: int = 64 * 1024
    max_messages: int = 10_000
    max_concurrent: int = 512
    max_queue: int = 512
    body_seconds: float = 60.0
    grace_seconds: float = 2.0
    silence_seconds: float = 3.0
    drain_seconds: float = 30.0
    max_num_ctx: int = 32_768
    stream_arguments: bool = False
    workers: int = 1
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    traces: bool = False
    default: ModelSettings = field(default_factory=ModelSettings)
    models: tuple[tuple[str, ModelSettings], ...] = ()

    def for_model(self, name: str) -> ModelSettings:
        """The settings of a model; a pattern without a tag fits every tag."""
        untagged = name.partition(":")[0]
        for pattern, settings in self.models:
            if fnmatchcase(name, pattern) or fnmatchcase(untagged, pattern):
                return settings
        return self.default

    @property
    def has_keys(self) -> bool:
        """Whether clients have to show a key."""
        return bool(self.api_keys or self.api_keys_file)

    @property
    def only_here(self) -> bool:
        """Whether only this machine can reach the server."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def refuse_exposure(self) -> None:
        """Raise ``ConfigurationError`` where anybody could use the server from elsewhere."""
        if self.only_here or self.has_keys or self.insecure:
            return
        raise ConfigurationError(
            f"{self.host} can be reached from other machines, and nothing asks for a key: set"
            " FALLBACK_API_KEY or --api-keys-file, listen on 127.0.0.1, or say --insecure"
        )
