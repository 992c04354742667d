"""The options of ``fallback flow``; what it does is in :mod:`fallback.cli.flow`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fallback.cli.options import (
    AsJson,
    AskHere,
    Context,
    Dialect,
    Endpoint,
    Host,
    LedgerUrl,
    Masked,
    Mcp,
    McpHide,
    McpOnly,
    McpRisk,
    McpTrust,
    Mode,
    Model,
    NumCtx,
    Profile,
    Scopes,
    Tenant,
    ToolFiles,
    User,
)


def flow(
    file: Annotated[Path, typer.Argument(help="The steps, as TOML; see docs/flow.md.")],
    tools: ToolFiles = None,
    model: Model = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="KEY=VALUE", help="An input; may be repeated."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", help="Written after each step; the run is resumed from it."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Ask a step again that changed something and then failed."),
    ] = False,
    mode: Mode = "auto",
    host: Host = None,
    dialect: Dialect = None,
    endpoint: Endpoint = "auto",
    profile: Profile = "auto",
    as_json: AsJson = False,
    num_ctx: NumCtx = None,
    context: Context = None,
    user: User = None,
    tenant: Tenant = None,
    scope: Scopes = None,
    ledger: LedgerUrl = None,
    approve: AskHere = False,
    mask: Masked = None,
    mcp: Mcp = None,
    mcp_trust: McpTrust = None,
    mcp_only: McpOnly = None,
    mcp_hide: McpHide = None,
    mcp_risk: McpRisk = None,
) -> int:
    """Run a chain of instructions, each of which gets what a tool returned before it."""
    from fallback.cli.flow import run_flow
    from fallback.cli.mcp_servers import mcp_servers
    from fallback.cli.run import RunOptions

    return run_flow(
        file,
        RunOptions(
            tools=tuple(tools or ()),
            model=model,
            mode=mode,
            host=host,
            dialect=dialect,
            endpoint=endpoint,
            profile=profile,
            as_json=as_json,
            num_ctx=num_ctx,
            context=tuple(context or ()),
            user=user,
            tenant=tenant,
            scopes=tuple(scope or ()),
            ledger=ledger,
            approve=approve,
            mask=tuple(name.value for name in mask or ()),
            mcp=mcp_servers(mcp, trust=mcp_trust, only=mcp_only, hide=mcp_hide, risk=mcp_risk),
        ),
        inputs=tuple(inputs or ()),
        record=record,
        again=again,
    )
