"""The session for code that runs in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Self

from fallback.backend import Chunk
from fallback.errors import BackendError
from fallback.execution import Impatient, amake, apause, awave, patience
from fallback.execution.hooks import aplay
from fallback.loop import (
    Action,
    Approve,
    Authorise,
    Describe,
    Described,
    Execute,
    Generate,
    Interrupted,
    Job,
    Outcome,
    Score,
)
from fallback.loop.progress import Progress, StepStarted, ToolEnded, ToolStarted, TurnEnded
from fallback.messages import FinishReason, Message, ToolResult, Turn
from fallback.session.base import SessionBase
from fallback.session.claims import Resumption, Taken
from fallback.session.drive import Drive, scorer

__all__ = ["AsyncSession"]


class AsyncSession(SessionBase):
    """:class:`~fallback.session.Session` for asyncio; same arguments, same turns.

    Tools may be plain functions (they run in a thread) or coroutine functions.
    """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give back what the session opened itself."""
        if self._owns_backend:
            await self._backend.aclose()
        await asyncio.to_thread(self._offer.close)
        self._books.close()

    async def run(self, question: str, *, images: Iterable[str] = ()) -> Turn:
        """See :meth:`fallback.session.Session.run`."""
        return await self._told(self.stream(question, images=images))

    async def resume(self, turn_id: str, *, results: Mapping[str, Any] | None = None) -> Turn:
        """See :meth:`fallback.session.Session.resume`."""
        return await self._told(self.resume_stream(turn_id, results=results))

    async def _told(self, stream: AsyncGenerator[Progress]) -> Turn:
        async with aclosing(stream) as events:
            async for event in events:
                if self._on_event is not None:
                    self._on_event(event)
                if isinstance(event, TurnEnded):
                    return event.turn
        raise AssertionError("a turn always ends")

    def stream(self, question: str, *, images: Iterable[str] = ()) -> AsyncGenerator[Progress]:
        """See :meth:`fallback.session.Session.stream`."""
        return self._turn_of(self._asked(question, images), None)

    async def resume_stream(
        self, turn_id: str, *, results: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[Progress]:
        """See :meth:`fallback.session.Session.resume_stream`."""
        await self._aoffered()
        resumption = await aplay(self._waiting(turn_id, results))
        async with aclosing(self._turn_of(None, resumption)) as events:
            async for event in events:
                yield event

    async def _turn_of(
        self, question: Message | None, resumption: Resumption | None
    ) -> AsyncGenerator[Progress]:
        with self._alone(resumption):
            taken = await aplay(self._claimed(resumption))
            async with aclosing(self._driven(question, taken)) as events:
                async for event in events:
                    yield event

    async def _driven(
        self, question: Message | None, taken: Taken | None
    ) -> AsyncGenerator[Progress]:
        if taken is None:
            await self._aoffered()
        with self._driving(question, taken) as drive:
            if taken is not None:
                await aplay(drive.oversight.resumed(taken.after))
            action = drive.start()
            while action is not None:
                await aplay(drive.hold(action))
                outcome: Outcome | None = None
                async with aclosing(self._perform(drive, action)) as parts:
                    async for part in parts:
                        if isinstance(part, Outcome):
                            outcome = part
                        else:
                            yield part
                if outcome is None:
                    raise AssertionError("an action always has an outcome")
                action = drive.send(outcome)
                told = list(drive.steps())
                await aplay(drive.oversight.audit(event.step for event in told))
                for ended in told:
                    yield ended
            await aplay(drive.keep())
        yield drive.told_end()

    async def _aoffered(self) -> None:
        """:meth:`_offered`, without blocking the event loop."""
        if self._offer.outside:  # otherwise there is nothing to wait for
            await asyncio.to_thread(self._offered)

    def _perform(self, drive: Drive, action: Action) -> AsyncGenerator[Progress | Outcome]:
        """Do what the turn asks: events, and last the outcome."""
        if isinstance(action, Generate):
            return self._generate(drive, action)
        if isinstance(action, Execute):
            return self._execute(drive, action)
        if isinstance(action, Describe):
            return self._describe(drive, action)
        if isinstance(action, Score):
            return self._score(drive, action)
        return self._decide(drive, action)

    async def _describe(self, drive: Drive, action: Describe) -> AsyncGenerator[Outcome]:
        try:
            async with patience(drive.seconds_left(), drive.wake):
                info = await self._backend.adescribe(action.model)
        except Impatient:
            yield drive.given_up()
        except BackendError as error:
            yield Described(error=error, elapsed=drive.elapsed)
        else:
            advice = await asyncio.to_thread(self._profiles.advice, info)
            yield Described(info=info, advice=advice, elapsed=drive.elapsed)

    async def _score(self, drive: Drive, action: Score) -> AsyncGenerator[Outcome]:
        if action.delay and not await apause(action.delay, drive.wake):
            yield Interrupted(elapsed=drive.elapsed)
            return
        asked = scorer(self._backend, "ascore").ascore
        try:
            async with patience(drive.seconds_left(), drive.wake):
                scores = await asked(action.request, action.values, whole=action.whole)
        except Impatient:
            yield drive.given_up()
        except BackendError as error:
            yield drive.scored(None, error)
        else:
            yield drive.scored(scores)

    async def _generate(self, drive: Drive, action: Generate) -> AsyncGenerator[Progress | Outcome]:
        if action.delay and not await apause(action.delay, drive.wake):
            yield Interrupted(elapsed=drive.elapsed)
            return
        if drive.begins_step(action):
            yield StepStarted(action.index, action.request.mode)
        reply = drive.open(action)
        finish: FinishReason | None = None
        failure: BackendError | None = None
        given = action.given
        stream = self._backend.astream(action.request) if given is None else _one(given)
        try:
            while not reply.finished:
                # A model may be silent for long; the deadline holds while it is waited for, too.
                async with patience(drive.left(action), drive.wake):
                    chunk = await anext(stream, None)
                if chunk is None:
                    break
                for event in drive.told_of(action, reply.feed(chunk)):
                    job = drive.early_job(action, event)
                    yield event
                    if job is not None:
                        drive.early[job.call.id] = asyncio.ensure_future(self._make(drive, job))
                        yield ToolStarted(job.call.apart())
                if drive.must_stop(action) and not reply.finished:
                    finish = "cancelled"
                    break
        except Impatient:
            finish = "cancelled"
        except BackendError as error:
            failure = error
        finally:
            await stream.aclose()
        events, generation = drive.close(reply, finish_reason=finish, error=failure)
        for event in drive.told_of(action, events):
            yield event
        yield generation

    async def _decide(self, drive: Drive, action: Authorise | Approve) -> AsyncGenerator[Outcome]:
        if isinstance(action, Authorise):
            yield drive.authorised(await aplay(drive.oversight.authorised(action)))
            return
        with drive.waiting():
            decisions = await aplay(drive.oversight.approved(action))
        yield drive.approved(decisions)

    async def _make(self, drive: Drive, job: Job) -> ToolResult:
        async def made(job: Job) -> ToolResult:
            return await amake(job, self._injected, drive.pace, drive.wake)

        return await aplay(drive.oversight.run(job, made))

    async def _execute(self, drive: Drive, action: Execute) -> AsyncGenerator[Progress | Outcome]:
        async def run(job: Job) -> ToolResult:
            early: asyncio.Task[ToolResult] | None = drive.early.get(job.call.id)
            return await (early or self._make(drive, job))

        running = awave(action.jobs, run, width=action.width, wake=drive.wake)
        async with aclosing(running) as events:
            async for event in events:
                if isinstance(event, ToolEnded):
                    drive.ran(event.result)
                if not drive.told(event):
                    yield event
        yield drive.executed()


async def _one(chunk: Chunk) -> AsyncGenerator[Chunk]:
    yield chunk
