"""``fallback run``: one question, the tools of some files, and the whole turn to see."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fallback.backend import Backend
from fallback.catalogue import Catalogue
from fallback.cli.exits import ExitCode
from fallback.cli.inputs import read_text
from fallback.cli.output import console, only_json, write_json
from fallback.cli.records import turn_record
from fallback.cli.timeline import Overheard, Timeline
from fallback.errors import ConfigurationError
from fallback.execution import check_context
from fallback.hosts import EMBEDDED, Address, connect, resolve_host
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.messages import Turn
from fallback.ollama import Endpoint, OllamaBackend
from fallback.session import Session
from fallback.toolfile import load_catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The command line of ``fallback run``, as it was given; ``None`` where nothing was."""

    question: str
    tools: tuple[Path, ...] = ()
    model: str | None = None
    mode: Literal["auto", "native", "prompt"] = "auto"
    host: str | None = None
    dialect: str = "fenced"
    endpoint: Endpoint = "auto"
    as_json: bool = False
    max_steps: int | None = None
    num_ctx: int | None = None
    temperature: float | None = None
    seed: int | None = None
    context: tuple[str, ...] = ()

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
    if options.as_json:
        # Tools run in here, and load in here: whatever they print must not mix with the JSON.
        with only_json() as out:
            turn = _turn(options, None)
            write_json(turn_record(turn), out)
    else:
        timeline = Timeline(console())
        try:
            turn = _turn(options, timeline)
        finally:
            timeline.finish()
    return ExitCode.OK if turn.stop_reason == "answered" else ExitCode.NOT_ANSWERED


def _turn(options: RunOptions, timeline: Timeline | None) -> Turn:
    catalogue = load_catalogue(options.tools, limits=options.limits)
    context = context_values(options.context)
    _check_context(catalogue, context)
    question = read_text("-") if options.question == "-" else options.question
    address = resolve_host(options.host)
    # Resolved once: what was found is now named, so that nothing is looked for a second time.
    server = connect(address.url, endpoint=options.endpoint, limits=options.limits)
    with closing(server):
        model = options.model or default_model(address, server)
        backend: Backend = server
        if timeline is not None:
            timeline.headline(model, server.where, counted(len(catalogue), "tool"))
            backend = Overheard(backend, timeline)
        session = _session(options, model, catalogue, context, backend)
        return ask(session, question, timeline)


def _session(
    options: RunOptions,
    model: str,
    catalogue: Catalogue,
    context: dict[str, str],
    backend: Backend,
) -> Session:
    return Session(
        model,
        tools=catalogue,
        backend=backend,
        mode=options.mode,
        dialect=options.dialect,
        context=context,
        limits=options.limits,
        options=options.sampling,
        num_ctx=options.num_ctx,
    )


def ask(session: Session, question: str, timeline: Timeline | None) -> Turn:
    """Run one turn and let the timeline watch."""
    with session:
        if timeline is None:
            return session.run(question)
        for event in session.stream(question):
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


def context_values(pairs: tuple[str, ...]) -> dict[str, str]:
    """``KEY=VALUE`` pairs as the values of injected parameters.

    Raises:
        ConfigurationError: a pair without ``=``, or a key twice.
    """
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ConfigurationError(f"--context {pair!r} is not KEY=VALUE")
        if key in values:
            raise ConfigurationError(f"--context gives {key!r} twice")
        values[key] = value
    return values


def _check_context(catalogue: Catalogue, context: dict[str, str]) -> None:
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
