"""For users' own tests: a model whose replies are written down beforehand.

::

    backend = ScriptedBackend(['```tool_call\n{"name": "add", "arguments": {"a": 1, "b":
    2}}\n```', "3"]) turn = Session("any", tools=[add], backend=backend).run("What is 1 + 2?")
    assert turn.tools_used == ("add",)

Everything but the model is real: the prompt, the parser, validation, execution, the loop.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from typing import Any

from fallback.backend import Chunk, GenerationRequest, ModelInfo, Scores
from fallback.errors import CapabilityError, ConfigurationError, UsageError
from fallback.messages import Usage

__all__ = ["Reply", "ScriptedBackend"]

Reply = str | Mapping[str, Any] | BaseException | Callable[[GenerationRequest], Any]
"""One scripted reply; see :class:`ScriptedBackend`."""

_KEYS = frozenset(
    ("content", "thinking", "tool_calls", "finish_reason", "usage", "reasoning_open", "prefilled")
)


class ScriptedBackend:
    """A model server that says what it is told to say, in order, to blocking and async sessions.

    A reply is one of

    * a string: the text;
    * a dict with any of ``content``, ``thinking``, ``tool_calls``, ``finish_reason``, ``usage`` and
      ``reasoning_open``: what a server with native tool calling reports. Each tool call is
      ``{"name", "arguments"}``, with an ``id`` if you like, or OpenAI's form under ``function``.
      With ``prefilled`` the content continues the beginning of the reply that was asked for;
    * an exception instance: raised in place of a reply;
    * a function of the request that returns one of these.

    Args:
        replies: one for each generation, in order.
        capabilities: what the "model" claims to be able to do besides ``completion``; with
            ``tools`` among them a session of mode ``auto`` asks in native mode.
        chunk_size: characters per piece of a streamed reply; ``None`` for the whole at once.
        scores: for sessions that decide first: given a request and what its reply may go on with,
            says how probable each is, in natural logarithms.

    Attributes:
        requests: every request so far, as it was sent.
        delivered: for each of them, the text that was really taken before the session had enough.
    """

    def __init__(
        self,
        replies: Iterable[Reply],
        *,
        capabilities: Iterable[str] = (),
        chunk_size: int | None = None,
        scores: Callable[[GenerationRequest, Sequence[str]], Iterable[float]] | None = None,
    ) -> None:
        if chunk_size is not None and chunk_size < 1:
            raise ConfigurationError(f"chunk_size must be at least 1, got {chunk_size}")
        self._replies = list(replies)
        self._capabilities = frozenset(("completion", *capabilities))
        self._chunk_size = chunk_size
        self._scores = scores
        self.requests: list[GenerationRequest] = []
        self.delivered: list[str] = []

    @property
    def remaining(self) -> int:
        """Replies that have not been asked for yet."""
        return len(self._replies) - len(self.requests)

    def describe(self, model: str) -> ModelInfo:
        """Say what the model claims to be able to do."""
        return ModelInfo(name=model, capabilities=self._capabilities, digest="scripted")

    async def adescribe(self, model: str) -> ModelInfo:
        """See :meth:`describe`."""
        return self.describe(model)

    def stream(self, request: GenerationRequest) -> Generator[Chunk]:
        """Deliver the next reply."""
        index = len(self.requests)
        for chunk in self._chunks(self._next(request), request.prefill):
            self.delivered[index] += chunk.text
            yield chunk

    async def astream(self, request: GenerationRequest) -> AsyncGenerator[Chunk]:
        """See :meth:`stream`."""
        for chunk in self.stream(request):
            yield chunk

    def score(
        self, request: GenerationRequest, values: Sequence[str], *, whole: bool = False
    ) -> Scores:
        """Say how probable each value is, as the script has it."""
        if self._scores is None:
            raise CapabilityError(
                "the script has no scores: give ScriptedBackend(scores=...)",
                status=400,
                missing="logprobs",
            )
        return Scores(logprobs=tuple(self._scores(request, values)))

    async def ascore(
        self, request: GenerationRequest, values: Sequence[str], *, whole: bool = False
    ) -> Scores:
        """See :meth:`score`."""
        return self.score(request, values, whole=whole)

    def close(self) -> None:
        """There is nothing to give back."""

    async def aclose(self) -> None:
        """There is nothing to give back."""

    def _next(self, request: GenerationRequest) -> Mapping[str, Any]:
        if not self.remaining:
            raise UsageError(
                f"the script has {len(self._replies)} replies and one more was asked for;"
                " add it, or look at .requests for what the session wanted"
            )
        reply = self._replies[len(self.requests)]
        self.requests.append(request)
        self.delivered.append("")
        if callable(reply) and not isinstance(reply, BaseException):
            reply = reply(request)
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, str):
            return {"content": reply}
        if not isinstance(reply, Mapping) or not reply.keys() <= _KEYS:
            known = ", ".join(sorted(_KEYS))
            raise UsageError(
                f"a scripted reply is a string or a dict of {known}; got {reply!r:.200}"
            )
        return reply

    def _chunks(self, reply: Mapping[str, Any], prefill: str) -> Iterator[Chunk]:
        begun = prefill if reply.get("prefilled") else ""
        for piece in self._parts(reply):
            yield replace(
                piece,
                path="scripted",
                reasoning_open=bool(reply.get("reasoning_open")),
                prefill=begun,
            )
            begun = ""

    def _parts(self, reply: Mapping[str, Any]) -> Iterator[Chunk]:
        thoughts = self._pieces(reply.get("thinking") or "")
        texts = self._pieces(reply.get("content") or "")
        yield from (Chunk(thinking=piece) for piece in thoughts)
        yield from (Chunk(text=piece) for piece in texts)
        calls = tuple(_flat(call) for call in reply.get("tool_calls") or ())
        counted = Usage(completion_tokens=len(thoughts) + len(texts) + len(calls))
        yield Chunk(
            tool_calls=calls,
            done=True,
            finish_reason=reply.get("finish_reason") or ("tool_call" if calls else "stop"),
            usage=_usage(reply.get("usage")) or counted,
        )

    def _pieces(self, text: str) -> list[str]:
        size = self._chunk_size or len(text)
        return [text[i : i + size] for i in range(0, len(text), size)] if text else []


def _usage(given: Usage | Mapping[str, Any] | None) -> Usage | None:
    if given is None or isinstance(given, Usage):
        return given
    try:
        return Usage(**given)
    except TypeError as error:
        raise UsageError(f"a scripted usage has the fields of Usage: {error}") from None


def _flat(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """OpenAI nests name and arguments under ``function``; a chunk does not."""
    inner = call.get("function")
    if not isinstance(inner, Mapping):
        return call
    return {**({"id": call["id"]} if "id" in call else {}), **inner}
