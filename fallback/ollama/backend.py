"""The backend for Ollama and for everything that speaks its wire, the embedded engine included.

Strategy. What has to be asked, and in which order, is written once, in
:mod:`fallback.ollama.procedures`. Two short drivers, one blocking and one asynchronous, do the
exchanges; only they touch the HTTP client.

What must stay true: nothing is remembered about a model under its name alone, but under its name
and digest; every exchange names its timeouts; leaving a stream closes its response, which cancels
the generation.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from fallback.backend import Chunk, GenerationRequest, ModelInfo, Scores
from fallback.errors import (
    BackendError,
    BackendProtocolError,
)
from fallback.hosts import EMBEDDED
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.ollama import exchange
from fallback.ollama.exchange import Answer, Exchange
from fallback.ollama.failures import mapped
from fallback.ollama.procedures import Endpoint, Procedure, Procedures
from fallback.ollama.transport import Clients

__all__ = ["Endpoint", "OllamaBackend"]

T = TypeVar("T")
_END_SECONDS = 0.2


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
        self._limits = limits
        self._clients = Clients(host, client=client, aclient=aclient, headers=headers or {})
        self._procedures = Procedures(
            self.where,
            embedded=self._clients.host == EMBEDDED,
            endpoint=endpoint,
            limits=limits,
            keep_alive=keep_alive,
        )

    @property
    def where(self) -> str:
        """The server, for people to read."""
        return self._clients.where

    # Blocking -----------------------------------------------------------------------------------

    def describe(self, model: str) -> ModelInfo:
        """See :meth:`fallback.backend.Backend.describe`."""
        return self._run(self._procedures.profile(model, check=True)).info

    def stream(self, request: GenerationRequest) -> Generator[Chunk]:
        """See :meth:`fallback.backend.Backend.stream`."""
        plan, asked, reader = self._run(self._procedures.stream(request))
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
            raise self._run(self._procedures.refused(refused, asked))

    def score(
        self, request: GenerationRequest, values: Sequence[str], *, whole: bool = False
    ) -> Scores:
        """See :meth:`fallback.backend.Scorer.score`."""
        return self._run(self._procedures.score(request, values, whole=whole))

    def forced(self, request: GenerationRequest, text: str) -> tuple[float, ...]:
        """The natural logarithm of the probability of each token of a reply that is given.

        Raises:
            CapabilityError: the server is not the embedded engine, which alone can be made to write
                a given text.
        """
        return self._run(self._procedures.forced(request, text))

    def tags(self) -> tuple[Mapping[str, Any], ...]:
        """The models of the server, as ``/api/tags`` lists them."""
        return _entries(self._run(self._procedures.json(exchange.tags())))

    def ps(self) -> tuple[Mapping[str, Any], ...]:
        """The loaded models, as ``/api/ps`` lists them; ``context_length`` is the live window."""
        return _entries(self._run(self._procedures.json(exchange.ps())))

    def show(self, model: str) -> Mapping[str, Any]:
        """What ``/api/show`` says, as it is."""
        return self._run(self._procedures.json(exchange.show(model), model))

    def version(self) -> str:
        """The server's version."""
        return str(self._run(self._procedures.json(exchange.version())).get("version") or "")

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

    def _run(self, procedure: Procedure[T]) -> T:
        try:
            request = next(procedure)
            while True:
                request = procedure.send(self._fetch(request))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return] # the procedure's own result

    # Asynchronous -------------------------------------------------------------------------------

    async def adescribe(self, model: str) -> ModelInfo:
        """See :meth:`fallback.backend.AsyncBackend.adescribe`."""
        return (await self._arun(self._procedures.profile(model, check=True))).info

    async def astream(self, request: GenerationRequest) -> AsyncGenerator[Chunk]:
        """See :meth:`fallback.backend.AsyncBackend.astream`."""
        async with contextlib.aclosing(self.abatches(request)) as batches:
            async for batch in batches:
                for chunk in batch:
                    yield chunk

    async def abatches(self, request: GenerationRequest) -> AsyncGenerator[list[Chunk]]:
        """The same, what has come together in one list: it need not be handled piece by piece."""
        plan, asked, reader = await self._arun(self._procedures.stream(request))
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
            raise await self._arun(self._procedures.refused(refused, asked))

    async def ascore(
        self, request: GenerationRequest, values: Sequence[str], *, whole: bool = False
    ) -> Scores:
        """See :meth:`fallback.backend.AsyncScorer.ascore`."""
        return await self._arun(self._procedures.score(request, values, whole=whole))

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

    async def _arun(self, procedure: Procedure[T]) -> T:
        try:
            request = next(procedure)
            while True:
                request = procedure.send(await self._afetch(request))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return] # the procedure's own result


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


def _entries(listing: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    models = listing.get("models")
    return tuple(models) if isinstance(models, list) else ()


def _check_size(body: bytearray, limits: Limits, where: str) -> None:
    if len(body) > limits.max_line_bytes:
        raise BackendProtocolError(
            f"{where} sent an answer of more than {limits.max_line_bytes:,} bytes"
            " (limit max_line_bytes)"
        )
