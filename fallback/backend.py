"""What the loop asks of a model server, and what it gets back; no server is named here.

A backend is given one complete :class:`GenerationRequest` and yields :class:`Chunk` values. Closing
the iterator cancels the generation. Sync and async are two methods of one object, so a backend
serves
``Session`` and ``AsyncSession`` alike; one that is only used with one of them need not have the
other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from fallback.catalogue import Catalogue
from fallback.messages import FinishReason, Message, Mode, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What a server says about a model, in our words.

    Attributes:
        capabilities: as the server lists them (``completion``, ``tools``, ``thinking`` ...);
        ``None``
            where the server is too old to say.
        family: our chat-template family, such as ``chatml``; ``None`` if it is not recognised.
        parser: name of Ollama's builtin parser for the model; such models lose tool-like text.
        context_length: trained maximum of the window, in tokens.
        digest: content hash; what is remembered about a model is remembered under it.
    """

    name: str
    capabilities: frozenset[str] | None = None
    family: str | None = None
    parser: str | None = None
    context_length: int | None = None
    digest: str = ""
    template: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One generation.

    In ``native`` mode ``messages`` keep their calls and results and ``catalogue`` is sent as tools.
    In
    ``prompt`` mode the loop has rendered everything: ``messages`` are one optional ``system`` and
    then strictly alternating ``user``/``assistant`` text, and ``catalogue`` is ``None``.

    ``prefill`` is the beginning of the reply, put into the model's mouth. It is not part of the
    text that comes back; a backend that has done it says so in the first chunk, and one that cannot
    raises ``CapabilityError`` (``missing="prefill"``).

    ``stop`` is added to the model's own stop strings, never in place of them.
    ``options`` are Ollama's (``temperature``, ``seed``, ``num_predict`` ...). ``keep_alive`` goes
    before the backend's own. ``endpoint`` is for prompt mode and a backend that has the choice; its
    own setting goes before it.
    """

    model: str
    mode: Mode
    messages: tuple[Message, ...]
    catalogue: Catalogue | None = None
    stop: tuple[str, ...] = ()
    prefill: str = ""
    format: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    num_ctx: int | None = None
    think: bool | str | None = None
    keep_alive: str | float | None = None
    endpoint: Literal["auto", "generate", "chat"] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One piece of a reply. The last one is ``done`` and carries the finish reason and the usage.

    ``tool_calls`` are raw, as the server reports them, each ``{"id"?, "name", "arguments"}``.
    ``path`` names the endpoint and form in use, such as ``generate/raw/chatml``.
    ``reasoning_open`` says, on the first chunk, that the prompt itself opened the reasoning, and
    ``prefill`` there is the beginning of the reply that the text continues.
    ``num_ctx`` is the window that was asked for, in tokens, on the last chunk.
    ``pieces`` is how many of the server's it was made of, see :func:`joined`.
    """

    text: str = ""
    thinking: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    done: bool = False
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    path: str = ""
    reasoning_open: bool = False
    prefill: str = ""
    num_ctx: int | None = None
    pieces: int = 1


def joined(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Chunks that have come together, each run of nothing but text, or reasoning, as one.

    They mean the same in any pieces, and one is read faster than many.
    """
    run: list[Chunk] = []
    for chunk in chunks:
        if run and not _continues(run[-1], chunk):
            yield _one(run)
            run = []
        run.append(chunk)
    if run:
        yield _one(run)


def _continues(first: Chunk, second: Chunk) -> bool:
    if second.prefill or second.reasoning_open:
        return False
    return _only(first) == _only(second) != ""


def _only(chunk: Chunk) -> Literal["text", "thinking", ""]:
    if chunk.done or chunk.tool_calls or bool(chunk.text) == bool(chunk.thinking):
        return ""
    return "text" if chunk.text else "thinking"


def _one(run: Sequence[Chunk]) -> Chunk:
    if len(run) == 1:
        return run[0]
    return replace(
        run[0],
        text="".join(chunk.text for chunk in run),
        thinking="".join(chunk.thinking for chunk in run),
        pieces=sum(chunk.pieces for chunk in run),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """How probable each of several replies is.

    Attributes:
        logprobs: natural logarithms, in the order of the values that were asked about.
        unseen: which of them, by index, are only known to be no more probable than that.
        usage: what finding out cost, all of them together.
    """

    logprobs: tuple[float, ...]
    unseen: frozenset[int] = frozenset()
    usage: Usage = field(default_factory=Usage)


class Backend(Protocol):
    """A model server."""

    def describe(self, model: str) -> ModelInfo:
        """Say what the model can do; cached by the backend per model and digest."""
        ...

    def stream(self, request: GenerationRequest) -> Iterator[Chunk]:
        """Generate; raises :class:`fallback.errors.BackendError` and nothing else."""
        ...

    def close(self) -> None:
        """Give back connections and memory."""
        ...


class AsyncBackend(Protocol):
    """The same, asynchronous."""

    async def adescribe(self, model: str) -> ModelInfo:
        """See :meth:`Backend.describe`."""
        ...

    def astream(self, request: GenerationRequest) -> AsyncIterator[Chunk]:
        """See :meth:`Backend.stream`."""
        ...

    async def aclose(self) -> None:
        """See :meth:`Backend.close`."""
        ...


class Scorer(Protocol):
    """A backend that can also say how probable a reply is; not every one can."""

    def score(
        self, request: GenerationRequest, values: Sequence[str], *, whole: bool = False
    ) -> Scores:
        """How probable it is that the reply goes on, behind ``prefill``, with each of the values.

        Args:
            request: with the beginning of the reply.
            values: none of them the beginning of another.
            whole: whether something else may begin like a value, so that all of it counts;
                otherwise it counts as far as it differs from the others.

        Raises:
            BackendError: also where log-probabilities are not to be had (``CapabilityError``,
                ``missing="logprobs"``).
        """
        ...


class AsyncScorer(Protocol):
    """The same, asynchronous."""

    async def ascore(
        self, request: GenerationRequest, values: Sequence[str], *, whole: bool = False
    ) -> Scores:
        """See :meth:`Scorer.score`."""
        ...
