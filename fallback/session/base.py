"""What both kinds of session share: the settings, the conversation, and the turn under way.

All decisions are the turn's (:mod:`fallback.loop.turn`); a session only does what it is asked.
The two drivers are short enough to be compared line by line.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from fallback.catalogue import Catalogue
from fallback.dialects.record import Dialect
from fallback.errors import (
    ConfigurationError,
    LedgerError,
    UsageError,
)
from fallback.execution import Rates, check_context
from fallback.execution.hooks import Steps, play
from fallback.execution.shown import Mask
from fallback.ledger import Ledger
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.loop import (
    Decide,
    DecidedLoop,
    Ended,
    Plan,
)
from fallback.loop.deciding import Baseline
from fallback.loop.gauge import Window
from fallback.loop.progress import Progress
from fallback.loop.respond import respond_tool
from fallback.loop.spent import UNSPENT
from fallback.messages import Message, Turn
from fallback.policy import DEFAULT_POLICY, ExecutionContext, Policy
from fallback.profiles import Profiles
from fallback.rendering.examples import Example
from fallback.results import GroundingCheck
from fallback.routing import Route
from fallback.session.approving import Ask
from fallback.session.books import Books
from fallback.session.claims import Resumption, Taken
from fallback.session.drive import Drive
from fallback.session.offer import ToolOffer
from fallback.session.oversight import Oversight, lost_calls, take_up
from fallback.session.provenance import Provenance
from fallback.session.settings import choice_of, decide_of, dialect_of, masks_of
from fallback.tools import ToolLike

if TYPE_CHECKING:
    from fallback.mcp import McpServer, McpTools

__all__ = ["SessionBase"]

RequestedMode = Literal["auto", "native", "prompt"]
RequestedEndpoint = Literal["auto", "generate", "chat"]
_MODES = ("auto", "native", "prompt")


class SessionBase:
    """Settings and conversation; see :class:`fallback.session.Session` for the arguments."""

    def __init__(
        self,
        model: str,
        tools: Catalogue | Iterable[ToolLike] = (),
        *,
        host: str | None = None,
        mode: RequestedMode = "auto",
        backend: Any = None,
        dialect: str | Dialect | None = None,
        instructions: str = "",
        examples: Iterable[Example] = (),
        context: ExecutionContext | Mapping[str, Any] | None = None,
        policy: Policy = DEFAULT_POLICY,
        approve: Ask | None = None,
        ledger: Ledger | str | Path | None = None,
        mask: Iterable[Mask] = (),
        grounding: GroundingCheck | None = None,
        limits: Limits = DEFAULT_LIMITS,
        options: Mapping[str, Any] | None = None,
        tool_choice: str = "auto",
        on_event: Callable[[Progress], object] | None = None,
        endpoint: RequestedEndpoint = "auto",
        num_ctx: int | None = None,
        think: bool | str | None = None,
        read_text: bool | None = None,
        profile: str | Path | Profiles = "auto",
        parallel_tool_calls: bool = True,
        decide: bool | Decide | None = None,
        eager: bool = False,
        respond: bool = False,
        mcp: McpTools | Iterable[McpServer | str] = (),
    ) -> None:
        if mode not in _MODES:
            raise ConfigurationError(f"mode {mode!r} is none of {', '.join(_MODES)}")
        written = dialect_of(dialect)
        settings = decide_of(decide, mode, written)
        if num_ctx is not None:
            limits = replace(limits, num_ctx=num_ctx)  # sizes are relative to the real window
        catalogue = tools if isinstance(tools, Catalogue) else Catalogue(tools, limits=limits)
        if respond:
            catalogue = Catalogue([*catalogue, *catalogue.hidden, respond_tool()], limits=limits)
        if not isinstance(policy, Policy):
            raise ConfigurationError(f"policy is a Policy, got {type(policy).__name__}")
        authority = ExecutionContext.of(context)
        self._injected = authority.injected
        for tool in catalogue:
            check_context(tool, self._injected)
        own = {
            "dialect": dialect,
            "read_text": read_text,
            "num_ctx": num_ctx,
            "think": think,
            "decide": decide,
        }
        self._plan = Plan(
            own=frozenset(name for name, value in own.items() if value is not None),
            model=model,
            catalogue=catalogue,
            dialect=written,
            mode=mode if settings is None else "prompt",
            instructions=instructions,
            examples=tuple(examples),
            tool_choice=tool_choice,
            limits=limits,
            masks=masks_of(mask),
            grounding=grounding,
            # A call has one right spelling: the likeliest token unless the caller wants variety.
            options={"temperature": 0.0, **(options or {})},
            num_ctx=num_ctx,
            think=think,
            read_text=read_text is not False,
            parallel=parallel_tool_calls,
            decide=settings,
            eager=eager and settings is None,
            respond=respond,
            policy=policy,
            context=authority,
        )
        self._offer = ToolOffer(catalogue, mcp, limits)
        if not self._offer.outside:
            choice_of(tool_choice, catalogue)
        self._profiles = profile if isinstance(profile, Profiles) else Profiles.of(profile)
        self._ask = approve
        self._books = Books(ledger, authority.clock)
        self._conversation = f"conversation_{secrets.token_hex(8)}"
        self._digest = ""
        self._on_event = on_event
        self._owns_backend = backend is None
        self._backend = _connect(host, endpoint, limits) if backend is None else backend
        self._clock = time.monotonic
        self._rates = Rates()
        self._busy = threading.Lock()
        self._drive: Drive | None = None
        self._route: Route | None = None
        self._window = Window()
        self._baseline: Baseline | None = None
        self._messages: tuple[Message, ...] = ()
        self._turn: Turn | None = None

    @property
    def catalogue(self) -> Catalogue:
        """The tools on offer."""
        return self._plan.catalogue

    @property
    def backend(self) -> Any:
        """Where prompts are sent."""
        return self._backend

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, calls and results included, without the system prompt."""
        return self._messages

    @property
    def turn(self) -> Turn | None:
        """The last turn, even if it was broken off; ``None`` before the first."""
        return self._turn

    @property
    def ledger(self) -> Ledger:
        """Operations, approvals and paused turns; in memory where the session was given none."""
        return self._books.ledger()

    @property
    def limits(self) -> Limits:
        """What a turn may cost."""
        return self._plan.limits

    @property
    def policy(self) -> Policy:
        """Which calls may run."""
        return self._plan.policy

    @property
    def masks(self) -> tuple[Mask, ...]:
        """What no result may show."""
        return self._plan.masks

    def fork(
        self,
        *,
        tools: Iterable[str] | None = None,
        tool_choice: str | None = None,
        limits: Limits | None = None,
        tainted: bool = False,
    ) -> Self:
        """A session of the same settings with a conversation of its own.

        It shares the backend and the ledger of this one, so it is not to be closed, nor used for
        longer.

        Args:
            tools: names of the tools to offer; ``None`` for all.
            tool_choice: as for a new session; ``None`` for that of this one.
            limits: the same.
            tainted: whether what it will be asked holds untrusted text: then every call that writes
                needs a person.

        Raises:
            ConfigurationError: there is no such tool.
        """
        plan = self._offered()
        if tools is not None:
            kept = [*tools, *([respond_tool().name] if plan.respond else [])]
            plan = replace(plan, catalogue=plan.catalogue.only(*dict.fromkeys(kept)))
        choice = plan.tool_choice if tool_choice is None else tool_choice
        twin = copy(self)
        twin._plan = replace(
            plan,
            tool_choice=choice_of(choice, plan.catalogue),
            limits=plan.limits if limits is None else limits,
            tainted=plan.tainted or tainted,
        )
        twin._owns_backend = False
        twin._offer = ToolOffer(twin._plan.catalogue)
        twin._conversation = f"conversation_{secrets.token_hex(8)}"
        twin._busy, twin._drive = threading.Lock(), None
        twin._messages, twin._turn = (), None
        return twin

    def cancel(self) -> None:
        """End the turn under way, if there is one; may be called from any thread.

        The wait for the model and for a tool ends at once. Nothing is undone.
        """
        drive = self._drive
        if drive is not None:
            drive.wake.cancel()
            self._offer.cancel()

    def _offered(self) -> Plan:
        """The plan with the tools as they are now: those of a turn stay what they are.

        Raises:
            McpError: a server of tools does not start.
        """
        catalogue = self._offer.catalogue()
        if catalogue is not self._plan.catalogue:
            self._plan = replace(self._plan, catalogue=catalogue)
        choice_of(self._plan.tool_choice, catalogue)
        return self._plan

    def _asked(self, question: str, images: Iterable[str]) -> Message:
        asked = Message(role="user", content=question, images=tuple(images))
        if not question.strip() and not asked.images:
            raise UsageError("there is nothing to ask: the question is empty")
        return asked

    def _waiting(self, turn_id: str, results: Mapping[str, Any] | None) -> Steps[Resumption]:
        """The turn that waits under an id, and that this session may go on with."""
        if self._messages and (self._turn is None or self._turn.id != turn_id):
            raise UsageError(
                "this session has gone on since; resume the turn in a session of its own"
            )
        stored = yield partial(self._books.paused, turn_id)
        take_up(stored, turn_id, self._plan, results or {})
        # Claimed only where the turn begins: nobody may ever ask for its first event.
        return Resumption(claim=self._books.claim(turn_id), results=results or {})

    @contextmanager
    def _alone(self, resumption: Resumption | None) -> Iterator[None]:
        """One turn at a time; what was claimed and has not ended is given back."""
        if not self._busy.acquire(blocking=False):
            raise UsageError("this session is in the middle of a turn; use one session per thread")
        try:
            yield
        finally:
            if resumption is not None:
                resumption.claim.give_back()
            self._busy.release()

    def _claimed(self, resumption: Resumption | None) -> Steps[Taken | None]:
        """The turn to go on with, claimed, with what the application has run of it itself.

        Raises:
            LedgerError: somebody else is going on with it.
            UsageError: it waits no more.
        """
        if resumption is None:
            return None
        claim = resumption.claim
        claimed = yield partial(claim.take, self._plan.limits.turn_seconds)
        stored = None if claimed is None else claimed.content
        paused = take_up(stored, claim.turn_id, self._plan, resumption.results)
        return Taken(claim=claim, paused=paused, after=claimed.after)

    @contextmanager
    def _driving(self, question: Message | None, taken: Taken | None) -> Iterator[Drive]:
        """However the turn ends, its record is kept."""
        try:
            drive = self._drive = self._begin(question, taken)
            try:
                yield drive
            except BaseException as cause:
                self._offer.cancel()  # nobody waits for its calls any more
                drive.abandon(cause)
                if self._books.audited:
                    with suppress(LedgerError):  # what was raised first is what has to be heard
                        play(drive.oversight.audit(event.step for event in drive.steps()))
                raise
            finally:
                drive.tidy()
                self._digest = drive.oversight.provenance.digest
                self._keep(drive.ended)
        finally:
            self._drive = None

    def _begin(self, question: Message | None, taken: Taken | None) -> Drive:
        paused = None if taken is None else taken.paused
        turn_id = paused.turn_id if paused else f"turn_{secrets.token_hex(8)}"
        plan = replace(
            self._plan,
            route=self._route,
            window=self._window,
            baseline=self._baseline,
            turn_id=turn_id,
        )
        provenance = Provenance(
            turn=turn_id,
            conversation=self._conversation,
            context=plan.context,
            model=plan.model,
            digest=self._digest,
            dialect=plan.dialect.name,
        )
        if paused is not None:
            last = paused.steps[-1]
            reported = last.calls if last.source == "server" else ()
            provenance.heard(last.index, last.mode, last.raw, reported)
        oversight = Oversight(
            plan=plan,
            books=self._books,
            ask=self._ask,
            provenance=provenance,
            claim=None if taken is None else taken.claim,
            lost={} if paused is None else lost_calls(paused, plan),
            logged=None if taken is None else _logged(taken),
        )
        loop = DecidedLoop(plan, self._messages, question, paused)
        spent = UNSPENT if paused is None else paused.spent
        return Drive(loop, plan, oversight, self._clock, self._rates, spent)

    def _keep(self, ended: Ended | None) -> None:
        if ended is None:
            return
        self._turn, self._messages = ended.turn, ended.messages
        self._window = ended.window.within(len(ended.messages))
        self._baseline = ended.baseline
        if self._plan.mode == "auto" and ended.route is not None:
            self._route = ended.route


def _logged(taken: Taken) -> tuple[int, frozenset[str]] | None:
    """What is on record of the step that waited; unknown where whoever held it has gone."""
    if taken.after:
        return None
    last = taken.paused.steps[-1]
    return last.index, frozenset(r.call_id for r in last.results if r.status != "paused")


def _connect(host: str | None, endpoint: RequestedEndpoint, limits: Limits) -> Any:
    from fallback.hosts import connect

    return connect(host, endpoint=endpoint, limits=limits)
