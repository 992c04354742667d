"""The core: an ``Ask`` in, events out. Everything between is decided in :mod:`..course`."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Protocol

from fallback.backend import AsyncBackend, Chunk, ModelInfo, joined
from fallback.errors import BackendError, CapabilityError, FallbackError
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.loop import Generate, Generation
from fallback.loop.reply import Reply
from fallback.parsing.events import Event as Parsed
from fallback.proxy.advised import Advisor, model_key
from fallback.proxy.ask import Ask
from fallback.proxy.course import Course
from fallback.proxy.deciding import Baselines
from fallback.proxy.events import Event, Failed
from fallback.proxy.failures import failure_of
from fallback.proxy.record import Record
from fallback.proxy.render import Rendered
from fallback.proxy.settings import Settings
from fallback.proxy.windows import Windows
from fallback.session.drive import scorer

__all__ = ["Answerer", "Models"]

_LEAST_ANSWER = 256


class Models(Protocol):
    """The part of the upstream that generates."""

    async def describe(self, model: str) -> ModelInfo:
        """What the model is; cheap to ask again."""
        ...

    async def backend(self, endpoint: str) -> AsyncBackend:
        """Where requests are sent; ``endpoint`` is that of the model's settings."""
        ...


class Answerer:
    """Answers asks.

    Args:
        models: the upstream.
        settings: of the server.
        limits: of one reply.
    """

    def __init__(
        self, models: Models, settings: Settings, *, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._models, self._limits = models, limits
        self._advisor = Advisor(settings)
        self._baselines = Baselines()
        self._windows = Windows(most_wished=settings.max_num_ctx, limits=limits)

    def reload(self, settings: Settings) -> None:
        """Take new settings for what comes next.

        Raises:
            ProfileError: a profile that is named in them cannot be read; nothing has changed then.
        """
        self._advisor = Advisor(settings)

    async def answer(
        self, ask: Ask, *, told: Callable[[Record], object] = lambda record: None
    ) -> AsyncGenerator[list[Event]]:
        """The events of the answer, those together that come together; the last is ``Finished`` or
        ``Failed``.

        Closing the iterator ends the generation. ``told`` is given the record of the answer while
        it is still being written; it is complete with the last event.
        """
        try:
            info = await self._models.describe(ask.model)
            course = await self._course(ask, info)
            told(course.record)
            backend = await self._models.backend(course.settings.endpoint)
            while not course.done:
                if course.undecided:
                    try:
                        events = await self._decide(ask, course, info, backend)
                    except CapabilityError as error:
                        # Nothing has gone out; from now on this model is asked another way.
                        self._advisor.cannot_decide(info, error)
                        course = await self._course(ask, info)
                        told(course.record)
                        backend = await self._models.backend(course.settings.endpoint)
                        continue
                    if events:
                        yield events
                    continue
                async with aclosing(self._round(ask, course, info, backend)) as batches:
                    async for events in batches:
                        yield events
        except FallbackError as error:
            yield [Failed(failure_of(error))]

    async def count(self, ask: Ask) -> int:
        """Tokens of the prompt that would be sent, estimated; nothing is generated.

        Raises:
            FallbackError: the upstream does not answer, or has no such model.
        """
        info = await self._models.describe(ask.model)
        told = (await self._course(ask, info)).rendered()
        return self._windows.guess(model_key(info), told.request.messages, told.extra_chars)

    async def window(self, model: str) -> int | None:
        """The window that a model is always given, in tokens; ``None`` if it is chosen each time.

        Raises:
            FallbackError: the upstream does not answer, or has no such model.
        """
        info = await self._models.describe(model)
        try:
            settings, _ = await self._advisor.of(model, info)
        except CapabilityError:  # it is asked about, and not asked
            settings = self._advisor.settings.for_model(model)
        return settings.num_ctx

    async def _course(self, ask: Ask, info: ModelInfo) -> Course:
        settings, route = await self._advisor.of(ask.model, info)
        return Course(
            ask,
            info,
            route,
            settings,
            limits=self._limits,
            id_prefix=f"call_{secrets.token_hex(4)}_",
            live=ask.stream and self._advisor.settings.stream_arguments,
        )

    async def _decide(
        self, ask: Ask, course: Course, info: ModelInfo, backend: AsyncBackend
    ) -> list[Event]:
        """Find out which tool is called next, if any.

        Raises:
            CapabilityError: the server cannot say, and this is the first that is asked of it.
        """
        action, _ = self._action(ask, course, info, course.rendered())
        questions = course.decide(action, model_key(info), self._baselines)
        try:
            request, values, whole = next(questions)
            while True:
                asked = scorer(backend, "ascore").ascore(request, values, whole=whole)
                scores = await asked
                course.record.deciding += scores.usage
                request, values, whole = questions.send(scores)
        except StopIteration:
            return [*course.decided()]
        except BackendError as error:
            if isinstance(error, CapabilityError) and not course.record.calls:
                raise
            return [*course.undecidable()]

    async def _round(
        self, ask: Ask, course: Course, info: ModelInfo, backend: AsyncBackend
    ) -> AsyncGenerator[list[Event]]:
        """One reply of the model."""
        told = course.rendered()
        action, guessed = self._action(ask, course, info, told)
        reply = Reply(action)
        started = time.monotonic()
        failure: BackendError | None = None
        try:
            async with aclosing(_batches(backend, action)) as batches:
                async for batch in batches:
                    heard, over = _heard(batch, reply, course, draft=action.draft)
                    if heard:
                        yield heard
                    if over:
                        break
        except BackendError as error:
            failure = error
        events, generation = _ended(reply, course, failure, time.monotonic() - started)
        generation = self._counted(generation, info, guessed)
        if action.draft and failure is None:
            course.drafted(generation)
            return
        if last := list(course.close(events, generation)):
            yield last

    def _action(
        self, ask: Ask, course: Course, info: ModelInfo, told: Rendered
    ) -> tuple[Generate, int]:
        key = model_key(info)
        messages = told.request.messages
        guessed = self._windows.guess(key, messages, told.extra_chars)
        asked = ask.options.get("num_predict")
        wanted = asked if isinstance(asked, int) and asked > 0 else None
        wished = ask.options.get("num_ctx")
        num_ctx = self._windows.choose(
            key,
            guessed,
            trained=info.context_length,
            wished=wished if isinstance(wished, int) and wished > 0 else None,
            fixed=course.settings.num_ctx,
            least=info.details.get("num_ctx"),
            answer_tokens=wanted,
        )
        room = max(num_ctx - guessed, _LEAST_ANSWER)
        return course.action(told, num_ctx, min(wanted or room, num_ctx)), guessed

    def _counted(self, generation: Generation, info: ModelInfo, guessed: int) -> Generation:
        """With the tokens of the prompt, guessed where the reply was ended before they came."""
        usage = generation.usage
        if usage.prompt_tokens:
            self._windows.learn(model_key(info), guessed, usage.prompt_tokens)
            return generation
        return replace(generation, usage=replace(usage, prompt_tokens=guessed))


def _heard(
    batch: list[Chunk], reply: Reply, course: Course, *, draft: bool
) -> tuple[list[Event], bool]:
    """What goes out of these chunks, and whether the model need not go on."""
    events: list[Event] = []
    for chunk in joined(batch):
        heard = reply.feed(chunk)
        events.extend(() if draft else course.take(heard))
        # After the last chunk the stream ends by itself, and keeps its connection.
        if course.enough or (reply.finished and not chunk.done):
            return events, True
    return events, False


def _batches(backend: AsyncBackend, action: Generate) -> AsyncGenerator[list[Chunk]]:
    """The stream of chunks, those together that come together where the backend can tell."""
    if action.given is not None:
        return _at_once(action.given)
    together = getattr(backend, "abatches", None)
    if together is not None:
        return together(action.request)  # type: ignore[no-any-return] # as OllamaBackend has it
    return _one_by_one(backend, action)


async def _at_once(chunk: Chunk) -> AsyncGenerator[list[Chunk]]:
    yield [chunk]


async def _one_by_one(backend: AsyncBackend, action: Generate) -> AsyncGenerator[list[Chunk]]:
    # Every backend's stream is a generator, which can be closed.
    stream: Any = backend.astream(action.request)
    async with aclosing(stream) as chunks:
        async for chunk in chunks:
            yield [chunk]


def _ended(
    reply: Reply, course: Course, failure: BackendError | None, seconds: float
) -> tuple[list[Parsed], Generation]:
    reason = None if failure is not None or reply.finished else course.enough
    return reply.close(finish_reason=reason, error=failure, seconds=seconds)
