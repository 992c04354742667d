"""``fallback ledger`` and its options; what they do is in :mod:`fallback.cli.ledger`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from fallback.cli.options import AsJson, By, Context, LedgerUrl, ToolFiles

ledger = typer.Typer(
    help="What was done and undone, and the log of it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="The operation's id, or its key.", metavar="ID")]


@ledger.command("list")
def ledger_list(
    state: Annotated[
        Literal["started", "finished", "failed", "unknown"] | None,
        typer.Option("--state", help="Only these; 'unknown' are those that need a person."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="The newest so many.")] = 50,
    url: LedgerUrl = None,
    as_json: AsJson = False,
) -> int:
    """The operations, the newest first."""
    from fallback.cli.ledger import show_list

    return show_list(url, state=state, limit=limit, as_json=as_json)


@ledger.command("show")
def ledger_show(name: Name, url: LedgerUrl = None, as_json: AsJson = False) -> int:
    """One operation, and what the audit log says of it."""
    from fallback.cli.ledger import show_one

    return show_one(url, name, as_json=as_json)


@ledger.command("verify")
def ledger_verify(
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="N:HASH", help="What 'ledger head' printed earlier."),
    ] = None,
    url: LedgerUrl = None,
    as_json: AsJson = False,
) -> int:
    """Check the audit log: finds any edit, deletion or reordering."""
    from fallback.cli.ledger import verify

    return verify(url, head, as_json=as_json)


@ledger.command("log")
def ledger_log(
    event: Annotated[
        str | None,
        typer.Option("--event", help="Only these: refused, proposed, started, approved, ..."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="The newest so many.")] = 50,
    url: LedgerUrl = None,
    as_json: AsJson = False,
) -> int:
    """The entries of the audit log, the newest last."""
    from fallback.cli.ledger import show_log

    return show_log(url, event=event, limit=limit, as_json=as_json)


@ledger.command("head")
def ledger_head(url: LedgerUrl = None) -> int:
    """Print the last entry's number and hash; keep it elsewhere for 'verify --head'."""
    from fallback.cli.ledger import show_head

    return show_head(url)


@ledger.command("resolve")
def ledger_resolve(
    name: Name,
    outcome: Annotated[
        Literal["done", "not_done"], typer.Argument(help="Whether it really happened.")
    ],
    by: By = None,
    detail: Annotated[str, typer.Option("--detail", help="How you know.")] = "",
    url: LedgerUrl = None,
) -> int:
    """Say what really happened to an unknown operation."""
    from fallback.cli.ledger import resolve

    return resolve(url, name, outcome, by=by, detail=detail)


@ledger.command("undo")
def ledger_undo(
    name: Name,
    tools: ToolFiles = None,
    context: Context = None,
    by: By = None,
    url: LedgerUrl = None,
    as_json: AsJson = False,
) -> int:
    """Undo an operation: runs its tool's 'compensate' handler, once."""
    from fallback.cli.ledger import undo

    return undo(url, name, tools or (), context or (), by=by, as_json=as_json)
