"""The session for ordinary code."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, Self

from fallback.backend import Chunk
from fallback.errors import BackendError
from fallback.execution import Impatient, Pieces, begin, make, pause, wait, wave
from fallback.execution.hooks import play
from fallback.loop import (
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

__all__ = ["Session"]


class Session(SessionBase):
    """A conversation with a model that may call tools.

    ::

        with Session("gemma3", tools=[get_weather]) as session:
            turn = session.run("Weather in Oslo?")
            print(turn.answer, turn.tools_used)

    Args:
        model: the model's name, as the server knows it.
        tools: typed functions, ``Tool`` objects, OpenAI or Ollama tool dicts, or a ``Catalogue``.
        host: address of the server, ``"embedded"``, or ``None`` to look for one: ``OLLAMA_HOST``,
            then this machine, then the embedded engine.
        mode: ``native``, ``prompt``, or ``auto`` to find out.
        backend: used in place of ``host``; it is not closed with the session.
        dialect: how calls are written in prompt mode: ``fenced`` (unless the model's profile says
            otherwise), ``pythonic``, ``hermes`` or ``inline``.
        instructions: the application's system prompt.
        examples: worked examples for prompt mode, as ``fallback.examples.load_examples`` reads
            them; in place of the one that is made of a tool's parameters.
        context: who is asking and what he may do; a mapping is taken for the values of injected
            parameters, such as an account. The model never sees them.
        policy: which calls run at once, which need a person, and which are refused. By default
            tools that only read, or do not say, run, and all others need an approval.
        approve: asked about each call that needs a person: ``True``, or the name of who approved;
            ``False`` or ``Deny``; ``None`` to decide later. Sync or async. Without it the turn
            ends with ``approval_required`` and waits, see :meth:`resume`.
        ledger: keeps side effects, approvals and turns that wait: an open ``Ledger``, a path or
            ``postgresql://...``. Without one they are kept in memory.
        mask: functions that take the text of a result and give it back without what the model must
            not see, such as ``fallback.results.mask_personal_data``. Your code gets the whole.
        grounding: finds what an answer has from nowhere, once tools have run, for
            ``Turn.ungrounded``; ready-made is ``fallback.results.ungrounded``.
        limits: what a turn may cost.
        options: for the server, such as ``{"temperature": 0.8}``. The temperature is 0 unless
            given, since a call has one right spelling; everything else is the model's own.
        tool_choice: ``auto``, ``none``, ``required``, or the name of the one tool to offer. The
            first call of a turn fulfils the last two.
        on_event: told every event of :meth:`stream` while :meth:`run` is under way.
        endpoint: for Ollama: ``auto``, ``generate`` or ``chat``.
        num_ctx: window in tokens; ``None`` for that of ``limits``, as far as the model goes.
        parallel_tool_calls: whether one reply may hold several calls; otherwise only the first one
            counts, and the model is told so.
        decide: decide before the reply to a question which tool it calls, or none, by
            probabilities, and only then let the model write the arguments, of which those stay that
            the question speaks for, or the answer: ``True``, or a ``Decide`` with margins of your
            own. It goes with prompt mode, and needs a server that gives log-probabilities. ``None``
            does so where the model's profile says it.
        eager: start a call that only reads as soon as it is complete, while the model still writes
            (prompt mode).
        respond: offer a tool ``respond(text)`` whose call is the answer, for models that call a
            tool whatever they are asked.
        think: whether (or how hard) a thinking model should think; ``None`` leaves it alone.
        mcp: servers of tools: command lines, URLs, ``McpServer`` objects, or an open ``McpTools``,
            which is not closed with the session. They start with the first turn; each turn has the
            tools that there are when it begins.
        read_text: whether, in native mode, a reply in which the server reports no calls is searched
            for them; without it the session takes the server's word, as most applications do.
        profile: what mode ``auto`` goes by where the model was measured (``fallback calibrate``):
            ``auto`` looks for its profile, ``off`` does not, a path names the file. The arguments
            ``dialect``, ``endpoint``, ``num_ctx``, ``think`` and ``read_text`` go before it, and
            with another ``mode`` it says nothing.

    A session keeps its conversation over many :meth:`run` calls and is used by one thread at a
    time.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what the session opened itself."""
        if self._owns_backend:
            self._backend.close()
        self._offer.close()
        self._books.close()

    def run(self, question: str, *, images: Iterable[str] = ()) -> Turn:
        """Ask, run whatever tools the model calls, and return the turn once it has ended.

        Args:
            question: the user's message.
            images: base64 of the images that belong to it.

        Raises:
            BackendError: the model server could not do what was asked.
            UsageError: the session is already in the middle of a turn.
        """
        return self._told(self.stream(question, images=images))

    def resume(self, turn_id: str, *, results: Mapping[str, Any] | None = None) -> Turn:
        """Go on with a turn that waits for a person; it may wait in another process's ledger.

        The calls that waited pass all gates again, with the approvals that were given meanwhile;
        nothing that has run is run again. A turn that still waits ends as before. Only one session
        at a time goes on with a turn; once its process has gone, another one may.

        Args:
            turn_id: ``Turn.id`` of the turn that ended with ``approval_required``.
            results: what calls returned that the application has run itself, by the call's id.

        Raises:
            UsageError: no such turn waits for this user, or this session has gone on since.
            LedgerError: the ledger cannot be used, or somebody else is going on with the turn.
            BackendError: as :meth:`run`.
        """
        return self._told(self.resume_stream(turn_id, results=results))

    def _told(self, events: Iterator[Progress]) -> Turn:
        for event in events:
            if self._on_event is not None:
                self._on_event(event)
            if isinstance(event, TurnEnded):
                return event.turn
        raise AssertionError("a turn always ends")

    def stream(self, question: str, *, images: Iterable[str] = ()) -> Generator[Progress]:
        """The same as :meth:`run`, event by event; the last is ``TurnEnded``.

        Closing the iterator cancels the turn.
        """
        return self._turn_of(self._asked(question, images), None)

    def resume_stream(
        self, turn_id: str, *, results: Mapping[str, Any] | None = None
    ) -> Generator[Progress]:
        """The same as :meth:`resume`, event by event; the last is ``TurnEnded``."""
        self._offered()
        return self._turn_of(None, play(self._waiting(turn_id, results)))

    def _turn_of(
        self, question: Message | None, resumption: Resumption | None
    ) -> Generator[Progress]:
        with self._alone(resumption):
            yield from self._driven(question, play(self._claimed(resumption)))

    def _driven(self, question: Message | None, taken: Taken | None) -> Generator[Progress]:
        if taken is None:
            self._offered()
        with self._driving(question, taken) as drive:
            if taken is not None:
                play(drive.oversight.resumed(taken.after))
            action = drive.start()
            while action is not None:
                play(drive.hold(action))
                outcome: Outcome
                if isinstance(action, Generate):
                    outcome = yield from self._generate(drive, action)
                elif isinstance(action, Execute):
                    outcome = yield from self._execute(drive, action)
                elif isinstance(action, Describe):
                    outcome = self._describe(drive, action)
                elif isinstance(action, Score):
                    outcome = self._score(drive, action)
                else:
                    outcome = self._decide(drive, action)
                action = drive.send(outcome)
                ended = list(drive.steps())
                play(drive.oversight.audit(event.step for event in ended))
                yield from ended
            play(drive.keep())
        yield drive.told_end()

    def _describe(self, drive: Drive, action: Describe) -> Outcome:
        asked = partial(self._backend.describe, action.model)
        try:
            info = wait(asked, drive.seconds_left(), drive.wake)
        except Impatient:
            return drive.given_up()
        except BackendError as error:
            return Described(error=error, elapsed=drive.elapsed)
        return Described(info=info, advice=self._profiles.advice(info), elapsed=drive.elapsed)

    def _score(self, drive: Drive, action: Score) -> Outcome:
        if action.delay and not pause(action.delay, drive.wake):
            return Interrupted(elapsed=drive.elapsed)
        asked = partial(
            scorer(self._backend, "score").score, action.request, action.values, whole=action.whole
        )
        try:
            scores = wait(asked, drive.seconds_left(), drive.wake)
        except Impatient:
            return drive.given_up()
        except BackendError as error:
            return drive.scored(None, error)
        return drive.scored(scores)

    def _generate(self, drive: Drive, action: Generate) -> Generator[Progress, None, Outcome]:
        if action.delay and not pause(action.delay, drive.wake):
            return Interrupted(elapsed=drive.elapsed)
        if drive.begins_step(action):
            yield StepStarted(action.index, action.request.mode)
        reply = drive.open(action)
        finish: FinishReason | None = None
        failure: BackendError | None = None
        stream = Pieces(self._replies(action), drive.wake)
        try:
            while not reply.finished:
                # A model may be silent for long; the deadline holds while it is waited for, too.
                chunk = stream.take(drive.left(action))
                if chunk is None:
                    break
                for event in drive.told_of(action, reply.feed(chunk)):
                    job = drive.early_job(action, event)
                    yield event
                    if job is not None:
                        drive.early[job.call.id] = begin(job, partial(self._make, drive, True))
                        yield ToolStarted(job.call.apart())
                if drive.must_stop(action) and not reply.finished:
                    finish = "cancelled"
                    break
        except Impatient:
            finish = "cancelled"
        except BackendError as error:
            failure = error
        finally:
            stream.close()
        events, generation = drive.close(reply, finish_reason=finish, error=failure)
        yield from drive.told_of(action, events)
        return generation

    def _replies(self, action: Generate) -> Generator[Chunk]:
        if action.given is None:
            yield from self._backend.stream(action.request)
        else:
            yield action.given

    def _decide(self, drive: Drive, action: Authorise | Approve) -> Outcome:
        if isinstance(action, Authorise):
            return drive.authorised(play(drive.oversight.authorised(action)))
        with drive.waiting():
            decisions = play(drive.oversight.approved(action))
        return drive.approved(decisions)

    def _make(self, drive: Drive, apart: bool, job: Job) -> ToolResult:
        def made(job: Job) -> ToolResult:
            return make(job, self._injected, drive.pace, drive.wake, apart=apart)

        return play(drive.oversight.run(job, made))

    def _execute(self, drive: Drive, action: Execute) -> Generator[Progress, None, Outcome]:
        def run(job: Job) -> ToolResult:
            early: Future[ToolResult] | None = drive.early.get(job.call.id)
            if early is not None:
                return early.result()
            return self._make(drive, len(action.jobs) > 1, job)

        for event in wave(action.jobs, run, width=action.width, wake=drive.wake):
            if isinstance(event, ToolEnded):
                drive.ran(event.result)
            if not drive.told(event):
                yield event
        return drive.executed()
