"""``fallback run``: one question, the tools of some files, and the whole turn to see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fallback.backend import Backend
from fallback.catalogue import Catalogue
from fallback.cli.approvals import ask_here
from fallback.cli.exits import ExitCode
from fallback.cli.inputs import context_values, read_text
from fallback.cli.output import complain, console, only_json, write_json
from fallback.cli.records import turn_record
from fallback.cli.timeline import Overheard, Timeline
from fallback.errors import ConfigurationError
from fallback.examples import load_examples
from fallback.execution import check_context
from fallback.execution.masking import mask_credentials
from fallback.hosts import EMBEDDED, Address, connect, resolve_host
from fallback.ledger import Ledger
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.loop import Decide
from fallback.loop.progress import Progress
from fallback.mcp import McpServer, McpTools
from fallback.messages import Turn
from fallback.ollama import Endpoint, OllamaBackend
from fallback.policy import ExecutionContext, Policy
from fallback.profiles import Profiles
from fallback.results import mask_personal_data, ungrounded
from fallback.session import Session
from fallback.toolfile import load_catalogue

MASKS = {"personal-data": mask_personal_data, "credentials": mask_credentials}
"""What ``--mask`` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The command line of ``fallback run``, as it was given; ``None`` where nothing was."""

    question: str = ""
    turn: str = ""
    tools: tuple[Path, ...] = ()
    model: str | None = None
    mode: Literal["auto", "native", "prompt"] = "auto"
    host: str | None = None
    dialect: str | None = None
    endpoint: Endpoint = "auto"
    profile: str = "auto"
    as_json: bool = False
    max_steps: int | None = None
    num_ctx: int | None = None
    temperature: float | None = None
    seed: int | None = None
    context: tuple[str, ...] = ()
    user: str | None = None
    tenant: str | None = None
    scopes: tuple[str, ...] = ()
    ledger: str | None = None
    approve: bool = False
    mask: tuple[str, ...] = ()
    mcp: tuple[McpServer, ...] = ()
    tool_choice: str = "auto"
    parallel_tool_calls: bool = True
    eager: bool = False
    respond: bool = False
    allow: frozenset[str] | None = None
    decide: Decide | None = None
    examples: Path | None = None

    @property
    def authority(self) -> ExecutionContext:
        """For whom it is, and what he may do."""
        return ExecutionContext(
            user=self.user,
            tenant=self.tenant,
            scopes=frozenset(self.scopes),
            values=context_values(self.context),
        )

    @property
    def limits(self) -> Limits:
        """The limits of the turn."""
        if self.max_steps is None:
            return DEFAULT_LIMITS
        return replace(DEFAULT_LIMITS, max_steps=self.max_steps)

    @property
    def sampling(self) -> dict[str, Any]:
        """Options for the server; only those that were given, the model has its own."""
        given = {"temperature": self.temperature, "seed": self.seed}
        return {name: value for name, value in given.items() if value is not None}


def run_question(options: RunOptions) -> ExitCode:
    """Ask, and show the turn; :attr:`ExitCode.NOT_ANSWERED` if it ended in any other way."""
    if options.approve and options.question == "-":
        raise ConfigurationError("--approve asks on standard input; give the question as argument")
    return _show(options, options.ledger)


def resume_turn(options: RunOptions) -> ExitCode:
    """Go on with a turn that waits, and show it."""
    with Ledger.open(options.ledger, create=False) as ledger:
        stored = ledger.paused.get(options.turn)
        model = options.model or (str(stored["model"]) if stored else None)
        return _show(replace(options, model=model), ledger)


def _show(options: RunOptions, ledger: Ledger | str | None) -> ExitCode:
    if options.as_json:
        # Tools run in here, and load in here: whatever they print must not mix with the JSON.
        with only_json() as out:
            turn = _turn(options, ledger, None)
            write_json(turn_record(turn), out)
    else:
        timeline = Timeline(console())
        try:
            turn = _turn(options, ledger, timeline)
            if turn.waiting:
                timeline.remark("next", _next(options, turn))
        finally:
            timeline.finish()
    if turn.stop_reason == "approval_required":
        return ExitCode.WAITING
    return ExitCode.OK if turn.stop_reason == "answered" else ExitCode.NOT_ANSWERED


def _next(options: RunOptions, turn: Turn) -> str:
    """What to do about a turn that waits."""
    if not options.ledger and not options.turn:
        return "nobody was asked, and the turn is not kept: use --approve, or --ledger FILE"
    wanted = [result.approval for result in turn.waiting if result.approval]
    asks = [f"fallback approvals approve {name}" for name in wanted]
    return "\n".join([*asks, f"fallback resume {turn.id}"])


def _turn(options: RunOptions, ledger: Ledger | str | None, timeline: Timeline | None) -> Turn:
    catalogue = load_catalogue(options.tools, limits=options.limits)
    check_values(catalogue, options.authority.injected)
    question = read_text("-") if options.question == "-" else options.question
    address = resolve_host(options.host)
    # Resolved once: what was found is now named, so that nothing is looked for a second time.
    server = connect(address.url, endpoint=options.endpoint, limits=options.limits)
    with ExitStack() as stack:
        stack.enter_context(closing(server))
        model = options.model or default_model(address, server)
        backend: Backend = server
        outside = mcp_tools(options, stack, timeline)
        if timeline is not None:
            others = outside.offered(tool.name for tool in catalogue) if outside else ()
            tools = counted(len(catalogue) + len(others), "tool")
            timeline.headline(model, server.where, tools)
            backend = Overheard(backend, timeline)
        session = session_of(options, model, catalogue, backend, ledger, mcp=outside or ())
        return ask(session, question, timeline, resume=options.turn)


def mcp_tools(options: RunOptions, stack: ExitStack, timeline: Timeline | None) -> McpTools | None:
    """The servers of tools that are asked for, ended with the stack; what they say is shown."""
    if not options.mcp:
        return None

    def noted(note: str) -> None:
        if timeline is not None:
            timeline.remark("mcp", note)
        else:
            complain(note)

    return stack.enter_context(McpTools(options.mcp, limits=options.limits, on_note=noted))


def session_of(
    options: RunOptions,
    model: str,
    catalogue: Catalogue,
    backend: Backend,
    ledger: Ledger | str | None,
    *,
    instructions: str = "",
    on_event: Callable[[Progress], object] | None = None,
    mcp: McpTools | tuple[()] = (),
) -> Session:
    """The session that the command line asks for."""
    return Session(
        model,
        instructions=instructions,
        on_event=on_event,
        tools=catalogue,
        backend=backend,
        mode=options.mode,
        dialect=options.dialect,
        profile=Profiles.of(options.profile, warn=complain),
        context=options.authority,
        ledger=ledger,
        policy=Policy(allow=options.allow),
        approve=ask_here if options.approve else None,
        limits=options.limits,
        options=options.sampling,
        num_ctx=options.num_ctx,
        mask=[MASKS[name] for name in options.mask],
        grounding=ungrounded,
        mcp=mcp,
        tool_choice=options.tool_choice,
        parallel_tool_calls=options.parallel_tool_calls,
        eager=options.eager,
        respond=options.respond,
        decide=options.decide,
        examples=load_examples(options.examples, catalogue) if options.examples else (),
    )


def ask(session: Session, question: str, timeline: Timeline | None, *, resume: str = "") -> Turn:
    """Run one turn, or go on with one, and let the timeline watch."""
    with session:
        events = session.resume_stream(resume) if resume else session.stream(question)
        for event in events:
            if timeline is not None:
                timeline.watch(event)
    turn = session.turn
    if turn is None:
        raise AssertionError("a turn always ends")
    return turn


def default_model(address: Address, server: OllamaBackend) -> str:
    """The embedded engine has a model of its own; on a server the user has to choose.

    Raises:
        ConfigurationError: names the models that the server has.
    """
    if address.url == EMBEDDED:
        from fallback.engine.models import DEFAULT_MODEL

        return DEFAULT_MODEL
    names = [str(model.get("name")) for model in server.tags()]
    known = f"; {server.where} has {', '.join(names[:10])}" if names else ""
    raise ConfigurationError(f"name a model with --model{known}")


def check_values(catalogue: Catalogue, context: Mapping[str, Any]) -> None:
    """Say on the command line's own terms which value is missing."""
    for tool in catalogue:
        try:
            check_context(tool, context)
        except ConfigurationError as error:
            what, _, _ = str(error).partition(":")
            raise ConfigurationError(f"{what}: give it with --context KEY=VALUE") from error


def counted(number: int, thing: str) -> str:
    """``1 tool``, ``2 tools``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
