"""``fallback mcp``: the tools of some files, for any client of MCP."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fallback.cli.exits import ExitCode
from fallback.cli.inputs import context_values
from fallback.cli.options import Context, Masked, NeededToolFiles, Scopes, Tenant, User
from fallback.cli.output import only_json
from fallback.cli.serving import started, stopped
from fallback.errors import ConfigurationError
from fallback.policy import ExecutionContext, Policy

__all__ = ["mcp"]

_HINT = "clients of MCP reach the tools there"


def mcp(
    tools: NeededToolFiles,
    http: Annotated[
        int | None,
        typer.Option(
            "--http",
            metavar="PORT",
            min=0,
            max=65535,
            help="Over HTTP on 127.0.0.1, 0 is any port. Default: standard input and output.",
        ),
    ] = None,
    context: Context = None,
    user: User = None,
    tenant: Tenant = None,
    scope: Scopes = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            envvar="FALLBACK_LEDGER",
            metavar="URL",
            help="Where calls that change something are kept. Default: nowhere.",
        ),
    ] = None,
    pre_approve: Annotated[
        list[str] | None,
        typer.Option(
            "--pre-approve",
            metavar="TOOL",
            help="It needs no approval of its own; may be repeated.",
        ),
    ] = None,
    mask: Masked = None,
) -> int:
    """Serve tools to clients of MCP, behind the same gates as in a turn."""
    return serve_tools(
        tools,
        http=http,
        context=ExecutionContext(
            user=user,
            tenant=tenant,
            scopes=frozenset(scope or ()),
            values=context_values(tuple(context or ())),
        ),
        policy=Policy(pre_approved=frozenset(pre_approve or ())),
        ledger=ledger,
        masks=[name.value for name in mask or ()],
    )


def serve_tools(
    files: list[Path],
    *,
    http: int | None,
    context: ExecutionContext,
    policy: Policy,
    ledger: str | None,
    masks: list[str],
) -> ExitCode:
    """Serve until the client has gone, or Ctrl-C.

    Raises:
        ConfigurationError: the extra is not installed, or an option is wrong.
        ToolFileError: a file of tools is.
    """
    from fallback.cli.run import MASKS, check_values
    from fallback.ledger import Ledger
    from fallback.mcp import check_installed
    from fallback.mcp.service import Service
    from fallback.mcp.serving import on_http, on_stdio
    from fallback.toolfile import load_catalogue

    check_installed()
    with ExitStack() as stack:
        # What a file or a tool prints is no message of the protocol.
        out = stack.enter_context(only_json())
        catalogue = load_catalogue(files)
        check_values(catalogue, context.injected)
        if unknown := sorted(policy.pre_approved - set(catalogue.names)):
            raise ConfigurationError(f"--pre-approve {unknown[0]!r}: there is no such tool")
        book = stack.enter_context(Ledger.open(ledger) if ledger else Ledger.in_memory())
        service = Service(
            catalogue=catalogue,
            ledger=book,
            policy=policy,
            context=context,
            masks=[MASKS[name] for name in masks],
        )
        if http is None:
            on_stdio(service, out)
        else:
            on_http(service, http, on_start=partial(started, hint=_HINT, out=out))
            stopped()
    return ExitCode.OK
