"""The backend for Ollama and for everything that speaks its wire, the embedded engine included.

Strategy. What has to be asked, and in which order, is written once, as generators that yield an
:class:`Exchange` and are sent the :class:`Answer` (*flows*). Two short drivers, one blocking and
one asynchronous, do the exchanges; only they touch the HTTP client.

What must stay true: nothing is remembered about a model under its name alone, but under its name
and digest; every exchange names its timeouts; leaving a stream closes its response, which cancels
the generation.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from fallback.backend import Chunk, GenerationRequest, ModelInfo, Scores
from fallback.errors import (
    BackendError,
    BackendProtocolError,
    CapabilityError,
    ModelNotFoundError,
)
from fallback.hosts import EMBEDDED
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import Usage
from fallback.ollama import exchange
from fallback.ollama.exchange import Answer, Exchange
from fallback.ollama.failures import Asked, failure, mapped
from fallback.ollama.memory import Memory
from fallback.ollama.plan import (
    GenerationPlan,
    Sending,
    Way,
    plan_chat,
    plan_native,
    plan_raw,
    plan_system,
    probe_chat,
    probe_system,
    survival,
    think_field,
)
from fallback.ollama.profile import Profile, digest_in, names_in, read_profile
from fallback.ollama.reply import Guard, ReplyReader, decode_line, usage_of
from fallback.ollama.scoring import forced, log_probabilities, next_token, walk
from fallback.ollama.transport import Clients
from fallback.routing import refuse_without_completion

__all__ = ["Endpoint", "OllamaBackend"]

T = TypeVar("T")
Flow = Generator[Exchange, Answer, T]
_END_SECONDS = 0.2
Endpoint = Literal["auto", "generate", "chat"]


class OllamaBackend:
    """A model server that speaks Ollama's wire.

    Args:
        host: a URL such as ``http://127.0.0.1:11434``, or ``embedded`` for the engine in this
            process. How ``OLLAMA_HOST`` is read is :mod:`fallback.hosts`' business.
        endpoint: which one prompt mode uses; ``auto`` is the best that works for the model.
        client: an ``httpx.Client`` (or one of its fork httpx2) to use in place of our own; it is
            not closed with the backend.
        aclient: the same for the asynchronous methods.
        limits: the window, the timeouts and the sizes that are asked for.
        keep_alive: how long the server keeps the model loaded, in seconds or as a Go duration such
            as ``10m``; ``None`` leaves it to the server.
        headers: sent with every request of our own clients.
    """

    def __init__(
        self,
        host: str = "http://127.0.0.1:11434",
        *,
        endpoint: Endpoint = "auto",
        client: Any = None,
        aclient: Any = None,
        limits: Limits = DEFAULT_LIMITS,
        keep_alive: str | float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._limits, self._keep_alive = limits, keep_alive
        self._clients = Clients(host, client=client, aclient=aclient, headers=headers or {})
        self._memory = Memory()

    @property
    def where(self) -> str:
        """The server, for people to read."""
        return self._clients.where

    # What is asked, and in which order ----------------------------------------------------------

    def _asked(self, model: str, **more: Any) -> Asked:
        embedded = self._clients.host == EMBEDDED
        return Asked(where=self.where, embedded=embedded, model=model, **more)

    def _json_flow(self, request: Exchange, model: str = "") -> Flow[dict[str, Any]]:
        answer = yield request
        if answer.status != 200:
            raise (yield from self._failure_flow(answer, self._asked(model, path=request.path)))
        return decode_line(answer.body, self.where)

    def _failure_flow(self, answer: Answer, asked: Asked) -> Flow[BackendError]:
        """The error for an answer; an unknown model is told together with those that are known."""
        error = failure(answer.status, answer.body, asked)
        if isinstance(error, ModelNotFoundError):
            listing = yield from self._listing_flow()
            if listing is not None:
                asked = replace(asked, models=names_in(listing))
                error = failure(answer.status, answer.body, asked)
        return error

    def _listing_flow(self) -> Flow[dict[str, Any] | None]:
        """The list of models, or ``None`` where a server (a proxy, say) does not give it."""
        answer = yield exchange.tags()
        if answer.status != 200:
            return None
        return decode_line(answer.body, self.where)

    def _profile_flow(self, model: str, *, check: bool) -> Flow[Profile]:
        """What the model is. ``check`` asks whether it is still the same one."""
        known = self._memory.profile(model)
        if known is not None and not check:
            return known
        listing = yield from self._listing_flow()
        digest = digest_in(listing, model) if listing else ""
        if known is not None and digest and known.info.digest == digest:
            return known
        shown = yield from self._json_flow(exchange.show(model), model)
        return self._memory.learn(read_profile(model, shown, digest))

    def _guard_flow(self) -> Flow[bool]:
        """Whether the server is too old to know ``truncate``; it would cut prompts silently."""
        if self._memory.version is None:
            answer = yield exchange.version()
            self._memory.hear_version(answer)
        return self._memory.cuts_silently

    def _plan_flow(self, request: GenerationRequest) -> Flow[tuple[GenerationPlan, Asked]]:
        profile = yield from self._profile_flow(request.model, check=False)
        refuse_without_completion(profile.info)
        num_ctx = self._memory.window(request, profile, self._limits)
        sending = Sending(num_ctx, self._limits, self._keep_alive)
        trained = profile.info.context_length
        asked = self._asked(request.model, num_ctx=num_ctx, trained=trained)
        if request.mode == "native":
            return plan_native(request, profile, sending), asked
        if self._endpoint(request) != "chat" and profile.family and not _has_images(request):
            return plan_raw(request, profile, sending), asked
        way = yield from self._way_flow(request, profile, sending)
        make = plan_system if way.form == "system" else plan_chat
        return make(request, profile, sending, way), asked

    def _endpoint(self, request: GenerationRequest) -> Endpoint:
        """Which one prompt mode uses: as we were told, or else as the request would like."""
        return request.endpoint if self.endpoint == "auto" else self.endpoint

    def _way_flow(
        self, request: GenerationRequest, profile: Profile, sending: Sending
    ) -> Flow[Way]:
        """How to ask a model whose family is not known; found out once."""
        endpoint = self._endpoint(request)
        only_chat = endpoint == "chat" or _has_images(request)
        key = (only_chat, endpoint, think_field(request, profile))
        way = self._memory.way(profile, key)
        if way is not None:
            return way
        seen = None
        if not only_chat:
            seen = survival((yield probe_system(request, profile, sending)))
            if seen is not None and (seen.system or endpoint == "generate"):
                way = Way("system", folded=not seen.system, opened=seen.opened)
            elif endpoint == "generate":
                way = Way("system", folded=True)
        if way is None:
            # A server that showed no prompt just now would generate in place of showing this one.
            if only_chat or seen is not None:
                seen = survival((yield probe_chat(request, profile, sending)))
            way = Way("chat", folded=seen is not None and not seen.system)
        return self._memory.keep_way(profile, key, way)

    def _reader(self, plan: GenerationPlan, asked: Asked, *, guarded: bool) -> ReplyReader:
        guard = Guard(asked.num_ctx or 0, plan.prompt_chars) if guarded else None
        return ReplyReader(
            plan.kind,
            path=plan.path,
            asked=asked,
            opened=plan.opened,
            prefill=plan.prefill,
            guard=guard,
            limit=self._limits.max_line_bytes,
            clock=time.perf_counter,
        )

    def _stream_flow(
        self, request: GenerationRequest
    ) -> Flow[tuple[GenerationPlan, Asked, ReplyReader]]:
        plan, asked = yield from self._plan_flow(request)
        asked = replace(asked, path=plan.exchange.path)
        guarded = yield from self._guard_flow()
        return plan, asked, self._reader(plan, asked, guarded=guarded)

    def _refused_flow(self, answer: Answer, asked: Asked) -> Flow[BackendError]:
        error = yield from self._failure_flow(answer, asked)
        if isinstance(error, CapabilityError) and error.missing == "tools":
            self._memory.refuse_tools(asked.model)
        return error

    def _score_flow(self, request: GenerationRequest, values: Sequence[str]) -> Flow[Scores]:
        """One request where the values begin differently; later ones find the prompt cached."""
        plan, asked, _ = yield from self._stream_flow(request)
        usage = Usage()
        asking = walk(values, where=self.where)
        try:
            written = next(asking)
            while True:
                told = yield from self._told_flow(next_token(plan, written), asked)
                usage += usage_of(told)
                written = asking.send(told)
        except StopIteration as stop:
            return Scores(logprobs=stop.value.logprobs, unseen=stop.value.unseen, usage=usage)

    def _forced_flow(self, request: GenerationRequest, text: str) -> Flow[tuple[float, ...]]:
        plan, asked, _ = yield from self._stream_flow(request)
        told = yield from self._told_flow(forced(plan, text), asked)
        return log_probabilities(told, text, where=self.where)

    def _told_flow(self, request: Exchange, asked: Asked) -> Flow[dict[str, Any]]:
        answer = yield request
        if answer.status != 200:
            raise (yield from self._refused_flow(answer, asked))
        return decode_line(answer.body, self.where)

    # Blocking -----------------------------------------------------------------------------------

    def describe(self, model: str) -> ModelInfo:
        """See :meth:`fallback.backend.Backend.describe`."""
        return self._run(self._profile_flow(model, check=True)).info

    def stream(self, request: GenerationRequest) -> Generator[Chunk]:
        """See :meth:`fallback.backend.Backend.stream`."""
        plan, asked, reader = self._run(self._stream_flow(request))
        refused: Answer | None = None
        with mapped(self.where), self._open(plan.exchange) as response:
            if response.status_code == 200:
                for data in response.iter_bytes():
                    yield from reader.feed(data)
                    if reader.done:
                        return
                yield from reader.close()
            else:
                refused = Answer(response.status_code, self._whole(response.iter_bytes()))
        if refused is not None:
            raise self._run(self._refused_flow(refused, asked))

    def score(self, request: GenerationRequest, values: Sequence[str]) -> Scores:
        """See :meth:`fallback.backend.Scorer.score`."""
        return self._run(self._score_flow(request, values))

    def forced(self, request: GenerationRequest, text: str) -> tuple[float, ...]:
        """The natural logarithm of the probability of each token of a reply that is given.

        Raises:
            CapabilityError: the server is not the embedded engine, which alone can be made to write
                a given text.
        """
        return self._run(self._forced_flow(request, text))

    def tags(self) -> tuple[Mapping[str, Any], ...]:
        """The models of the server, as ``/api/tags`` lists them."""
        return _entries(self._run(self._json_flow(exchange.tags())))

    def ps(self) -> tuple[Mapping[str, Any], ...]:
        """The loaded models, as ``/api/ps`` lists them; ``context_length`` is the live window."""
        return _entries(self._run(self._json_flow(exchange.ps())))

    def show(self, model: str) -> Mapping[str, Any]:
        """What ``/api/show`` says, as it is."""
        return self._run(self._json_flow(exchange.show(model), model))

    def version(self) -> str:
        """The server's version."""
        return str(self._run(self._json_flow(exchange.version())).get("version") or "")

    def close(self) -> None:
        """Give back the connections, and the memory of an engine of our own."""
        self._clients.close()

    def _open(self, request: Exchange) -> Any:
        return self._clients.sync().stream(**self._clients.arguments(request, self._limits))

    def _whole(self, pieces: Iterator[bytes]) -> bytes:
        body = bytearray()
        for piece in pieces:
            body += piece
            _check_size(body, self._limits, self.where)
        return bytes(body)

    def _fetch(self, request: Exchange) -> Answer:
        with mapped(self.where), self._open(request) as response:
            return Answer(response.status_code, self._whole(response.iter_bytes()))

    def _run(self, flow: Flow[T]) -> T:
        try:
            request = next(flow)
            while True:
                request = flow.send(self._fetch(request))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return] # the flow's own result

    # Asynchronous -------------------------------------------------------------------------------

    async def adescribe(self, model: str) -> ModelInfo:
        """See :meth:`fallback.backend.AsyncBackend.adescribe`."""
        return (await self._arun(self._profile_flow(model, check=True))).info

    async def astream(self, request: GenerationRequest) -> AsyncGenerator[Chunk]:
        """See :meth:`fallback.backend.AsyncBackend.astream`."""
        async with contextlib.aclosing(self.abatches(request)) as batches:
            async for batch in batches:
                for chunk in batch:
                    yield chunk

    async def abatches(self, request: GenerationRequest) -> AsyncGenerator[list[Chunk]]:
        """The same, what has come together in one list: it need not be handled piece by piece."""
        plan, asked, reader = await self._arun(self._stream_flow(request))
        refused: Answer | None = None
        with mapped(self.where):
            async with self._aopen(plan.exchange) as response:
                if response.status_code == 200:
                    pieces = response.aiter_bytes()
                    async for data in pieces:
                        batch, error = reader.batch(data)
                        alone = reader.done and _finishes_alone(response)
                        if batch:
                            yield batch
                        if error is not None:
                            raise error
                        if alone:
                            return
                        if reader.done:
                            break
                    if last := list(reader.close()):
                        yield last
                    await _read_out(pieces, self.where)
                else:
                    refused = Answer(response.status_code, await self._awhole(response))
        if refused is not None:
            raise await self._arun(self._refused_flow(refused, asked))

    async def ascore(self, request: GenerationRequest, values: Sequence[str]) -> Scores:
        """See :meth:`fallback.backend.AsyncScorer.ascore`."""
        return await self._arun(self._score_flow(request, values))

    async def aclose(self) -> None:
        """See :meth:`close`."""
        await self._clients.aclose()

    def _aopen(self, request: Exchange) -> Any:
        return self._clients.asynchronous().stream(**self._clients.arguments(request, self._limits))

    async def _awhole(self, response: Any) -> bytes:
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            _check_size(body, self._limits, self.where)
        return bytes(body)

    async def _afetch(self, request: Exchange) -> Answer:
        with mapped(self.where):
            async with self._aopen(request) as response:
                return Answer(response.status_code, await self._awhole(response))

    async def _arun(self, flow: Flow[T]) -> T:
        try:
            request = next(flow)
            while True:
                request = flow.send(await self._afetch(request))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return] # the flow's own result


def _finishes_alone(response: Any) -> bool:
    """Whether its client hears the end of the body by itself, and keeps the connection."""
    let_finish = getattr(response, "let_finish", None)
    if let_finish is None:
        return False
    let_finish(_END_SECONDS)
    return True


async def _read_out(pieces: AsyncIterator[bytes], where: str) -> None:
    """Wait for the end of a body that is over: its connection can then be used again.

    Only who takes the last chunk and asks for another comes here; most leave before. Whatever
    happens now, the reply is whole.
    """
    import anyio

    with contextlib.suppress(BackendError), mapped(where), anyio.move_on_after(_END_SECONDS):
        async for _ in pieces:
            pass


def _has_images(request: GenerationRequest) -> bool:
    return any(message.images for message in request.messages)


def _entries(listing: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    models = listing.get("models")
    return tuple(models) if isinstance(models, list) else ()


def _check_size(body: bytearray, limits: Limits, where: str) -> None:
    if len(body) > limits.max_line_bytes:
        raise BackendProtocolError(
            f"{where} sent an answer of more than {limits.max_line_bytes:,} bytes"
            " (limit max_line_bytes)"
        )
