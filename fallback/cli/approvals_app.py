"""``fallback approvals`` and its options; what they do is in :mod:`fallback.cli.approvals`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from fallback.cli.options import AsJson, By, LedgerUrl

approvals = typer.Typer(
    help="Calls that need a person.", no_args_is_help=True, rich_markup_mode=None
)

Id = Annotated[str, typer.Argument(help="The approval's id.", metavar="ID")]


@approvals.command("list")
def approvals_list(
    status: Annotated[
        Literal["pending", "approved", "denied", "expired", "used", "all"],
        typer.Option("--status", help="Only these."),
    ] = "pending",
    url: LedgerUrl = None,
    as_json: AsJson = False,
) -> int:
    """What waits for a decision, the oldest first."""
    from fallback.cli.approvals import show_list

    return show_list(url, None if status == "all" else status, as_json=as_json)


@approvals.command("show")
def approvals_show(approval: Id, url: LedgerUrl = None, as_json: AsJson = False) -> int:
    """One call as it would run: what it does, for whom, and what was said about it."""
    from fallback.cli.approvals import show_one

    return show_one(url, approval, as_json=as_json)


@approvals.command("approve")
def approvals_approve(approval: Id, by: By = None, url: LedgerUrl = None) -> int:
    """Allow the call, once."""
    from fallback.cli.approvals import approve

    return approve(url, approval, by=by)


@approvals.command("deny")
def approvals_deny(
    approval: Id,
    by: By = None,
    reason: Annotated[str, typer.Option("--reason", help="For the log, not for the model.")] = "",
    url: LedgerUrl = None,
) -> int:
    """Refuse the call."""
    from fallback.cli.approvals import deny

    return deny(url, approval, by=by, reason=reason)
