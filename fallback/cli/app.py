"""The commands and their options; what they do is in the module named after each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from fallback.cli import compare_app
from fallback.cli.approvals_app import approvals
from fallback.cli.calibrate_app import calibrate
from fallback.cli.decide_option import DecideCommand, DecideFlag, DecideMargin, decide_of
from fallback.cli.examples_app import examples as examples_commands
from fallback.cli.exits import MEANING
from fallback.cli.flow_command import flow
from fallback.cli.ledger_app import ledger as ledger_commands
from fallback.cli.lint_command import lint
from fallback.cli.mcp_command import mcp as mcp_command
from fallback.cli.models_app import models
from fallback.cli.options import (
    Allow,
    AsJson,
    AskHere,
    Context,
    Dialect,
    Eager,
    Endpoint,
    Host,
    LedgerUrl,
    Masked,
    MaxSteps,
    MaybeLedger,
    Mcp,
    McpHide,
    McpOnly,
    McpRisk,
    McpTrust,
    Mode,
    Model,
    NumCtx,
    ParallelToolCalls,
    Profile,
    Respond,
    Scopes,
    Seed,
    Temperature,
    Tenant,
    ToolChoice,
    ToolFiles,
    User,
)
from fallback.cli.serve import serve
from fallback.errors import ConfigurationError

app = typer.Typer(
    name="fallback",
    help="Tool calling for language models that cannot call tools.",
    # The control character keeps the lines apart in the help.
    epilog="\b\nExit codes:\n" + "\n".join(f"{c:>5d}  {text}" for c, text in MEANING.items()),
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
engine = typer.Typer(
    help="The embedded engine by itself.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(models, name="models")
app.add_typer(engine, name="engine")
app.add_typer(ledger_commands, name="ledger")
app.add_typer(approvals, name="approvals")
app.add_typer(examples_commands, name="examples")


def _version(wanted: bool) -> None:
    if wanted:
        from fallback import __version__

        typer.echo(f"fallback {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # read by its callback
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
    debug: Annotated[  # taken out of the arguments by main(), wherever it stands
        bool, typer.Option("--debug", help="Show where an error came from.")
    ] = False,
) -> None:
    """Tool calling for language models that cannot call tools."""


@app.command(cls=DecideCommand)
def run(
    question: Annotated[str, typer.Argument(help="What to ask; '-' reads standard input.")],
    tools: ToolFiles = None,
    model: Model = None,
    mode: Mode = "auto",
    host: Host = None,
    dialect: Dialect = None,
    endpoint: Endpoint = "auto",
    profile: Profile = "auto",
    as_json: AsJson = False,
    max_steps: MaxSteps = None,
    num_ctx: NumCtx = None,
    temperature: Temperature = None,
    seed: Seed = None,
    context: Context = None,
    user: User = None,
    tenant: Tenant = None,
    scope: Scopes = None,
    ledger: MaybeLedger = None,
    approve: AskHere = False,
    mask: Masked = None,
    tool_choice: ToolChoice = "auto",
    parallel_tool_calls: ParallelToolCalls = True,
    eager: Eager = False,
    respond: Respond = False,
    allow: Allow = None,
    mcp: Mcp = None,
    mcp_trust: McpTrust = None,
    mcp_only: McpOnly = None,
    mcp_hide: McpHide = None,
    mcp_risk: McpRisk = None,
    decide: DecideFlag = False,
    decide_margin: DecideMargin = None,
    examples: Annotated[
        Path | None,
        typer.Option("--examples", metavar="FILE", help="Worked examples; prompt mode."),
    ] = None,
) -> int:
    """Ask a model one question and let it use tools; shows what happens, step by step."""
    from fallback.cli.mcp_servers import mcp_servers
    from fallback.cli.run import RunOptions, run_question

    return run_question(
        RunOptions(
            question=question,
            tools=tuple(tools or ()),
            model=model,
            mode=mode,
            host=host,
            dialect=dialect,
            endpoint=endpoint,
            profile=profile,
            as_json=as_json,
            max_steps=max_steps,
            num_ctx=num_ctx,
            temperature=temperature,
            seed=seed,
            context=tuple(context or ()),
            user=user,
            tenant=tenant,
            scopes=tuple(scope or ()),
            ledger=ledger,
            approve=approve,
            mask=tuple(name.value for name in mask or ()),
            tool_choice=tool_choice,
            parallel_tool_calls=parallel_tool_calls,
            eager=eager,
            respond=respond,
            allow=None if allow is None else frozenset(allow),
            mcp=mcp_servers(mcp, trust=mcp_trust, only=mcp_only, hide=mcp_hide, risk=mcp_risk),
            decide=decide_of(decide, decide_margin),
            examples=examples,
        )
    )


@app.command()
def resume(
    turn: Annotated[str, typer.Argument(help="The id of the turn that waits.", metavar="TURN")],
    tools: ToolFiles = None,
    model: Model = None,
    mode: Mode = "auto",
    host: Host = None,
    dialect: Dialect = None,
    endpoint: Endpoint = "auto",
    profile: Profile = "auto",
    as_json: AsJson = False,
    max_steps: MaxSteps = None,
    num_ctx: NumCtx = None,
    context: Context = None,
    user: User = None,
    tenant: Tenant = None,
    scope: Scopes = None,
    ledger: LedgerUrl = None,
    approve: AskHere = False,
    mask: Masked = None,
    tool_choice: ToolChoice = "auto",
    parallel_tool_calls: ParallelToolCalls = True,
    eager: Eager = False,
    respond: Respond = False,
    allow: Allow = None,
    mcp: Mcp = None,
    mcp_trust: McpTrust = None,
    mcp_only: McpOnly = None,
    mcp_hide: McpHide = None,
    mcp_risk: McpRisk = None,
) -> int:
    """Go on with a turn that waited for an approval; give the options that it was begun with."""
    from fallback.cli.mcp_servers import mcp_servers
    from fallback.cli.run import RunOptions, resume_turn

    return resume_turn(
        RunOptions(
            turn=turn,
            tools=tuple(tools or ()),
            model=model,
            mode=mode,
            host=host,
            dialect=dialect,
            endpoint=endpoint,
            profile=profile,
            as_json=as_json,
            max_steps=max_steps,
            num_ctx=num_ctx,
            context=tuple(context or ()),
            user=user,
            tenant=tenant,
            scopes=tuple(scope or ()),
            ledger=ledger,
            approve=approve,
            mask=tuple(name.value for name in mask or ()),
            tool_choice=tool_choice,
            parallel_tool_calls=parallel_tool_calls,
            eager=eager,
            respond=respond,
            allow=None if allow is None else frozenset(allow),
            mcp=mcp_servers(mcp, trust=mcp_trust, only=mcp_only, hide=mcp_hide, risk=mcp_risk),
        )
    )


@app.command()
def parse(
    file: Annotated[
        str, typer.Argument(help="The reply, or with --batch a JSONL file; '-' is standard input.")
    ] = "-",
    tools: ToolFiles = None,
    batch: Annotated[
        bool,
        typer.Option("--batch", help="One JSON object a line, with tools and output."),
    ] = False,
    finish_reason: Annotated[
        Literal["stop", "length", "tool_call", "error", "cancelled"],
        typer.Option("--finish-reason", help="Why the generation ended."),
    ] = "stop",
    tool_choice: ToolChoice = "auto",
    reasoning_open: Annotated[
        bool, typer.Option("--reasoning-open", help="The prompt itself opened the reasoning.")
    ] = False,
    dialect: Annotated[
        list[str] | None,
        typer.Option("--dialect", help="Read only this one; may be repeated. Default: all."),
    ] = None,
    summary: Annotated[
        bool | None,
        typer.Option("--summary/--json", help="Text for a person; the default on a terminal."),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="The reply itself, and what became of every part of it."),
    ] = False,
) -> int:
    """Read what a model wrote: which calls are in it, and what became of everything else."""
    from fallback.cli import parse as command

    if batch and (explain or dialect):
        option = "--explain" if explain else "--dialect"
        raise ConfigurationError(f"{option} is for one reply; leave --batch out")
    if batch:
        return command.parse_batch(file, tools or ())
    return command.parse_one(
        file,
        tools or (),
        summary=(explain or sys.stdout.isatty()) if summary is None else summary,
        explain=explain,
        finish_reason=finish_reason,
        tool_choice=tool_choice,
        reasoning_open=reasoning_open,
        dialects=dialect or None,
    )


@app.command()
def fuzz(
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="MODULE:FUNCTION",
            help="A function of (text, tools) that returns calls. Default: our own parser.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.0, help="How long; a law broken ends it at once.")
    ] = 30.0,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="The same seed draws the same replies.")
    ] = None,
    dialect: Annotated[
        list[str] | None,
        typer.Option("--dialect", help="Only calls written in this dialect; may be repeated."),
    ] = None,
    law: Annotated[
        list[str] | None, typer.Option("--law", help="Only this law; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Try to break a parser of tool calls; shows the smallest reply that breaks a law."""
    from fallback.cli import fuzz as command

    return command.fuzz(
        target=target,
        seconds=seconds,
        seed=seed,
        dialects=dialect or (),
        laws=law or (),
        as_json=as_json,
    )


app.command()(lint)
app.command()(flow)


@app.command()
def doctor(host: Host = None, as_json: AsJson = False) -> int:
    """Say what is installed and which models answer, and for each problem what to do about it."""
    from fallback.cli.doctor import show

    return show(host, as_json=as_json)


app.command()(serve)
app.command("mcp")(mcp_command)


@engine.command("serve")
def engine_serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 picks a free one.")
    ] = 11434,
) -> int:
    """Serve the embedded engine over Ollama's wire, for any client that speaks it."""
    from fallback.cli.engine import serve

    return serve(host, port)


app.command()(compare_app.compare)
app.command()(calibrate)
app.command()(compare_app.report)
