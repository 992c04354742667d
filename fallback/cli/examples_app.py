"""``fallback examples`` and its options; what it does is in :mod:`fallback.cli.examples`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fallback.cli.options import AsJson, Dialect, Model, NeededToolFiles, NumCtx

examples = typer.Typer(
    help="Worked examples of one's own.", no_args_is_help=True, rich_markup_mode=None
)


@examples.callback()
def _root() -> None:
    """Worked examples of one's own."""


@examples.command("select")
def select(
    candidates: Annotated[
        Path, typer.Argument(metavar="FILE", help="Candidates as JSON Lines, see docs/examples.md.")
    ],
    tools: NeededToolFiles,
    model: Model = None,
    dialect: Dialect = None,
    threshold: Annotated[
        float, typer.Option("--threshold", help="By how much the loss has to fall, in nats.")
    ] = 0.1,
    most: Annotated[
        int, typer.Option("--most", min=1, help="Examples to keep for the same tools.")
    ] = 1,
    tries: Annotated[
        int, typer.Option("--tries", min=1, help="Questions to try an example on.")
    ] = 4,
    num_ctx: NumCtx = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write those that are kept."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Keep the examples that make the right calls more probable; needs the embedded engine."""
    from fallback.cli.examples import SelectOptions, show

    return show(
        SelectOptions(
            candidates=candidates,
            tools=tuple(tools),
            model=model,
            dialect=dialect or "fenced",
            threshold=threshold,
            most=most,
            tries=tries,
            num_ctx=num_ctx,
            out=out,
            as_json=as_json,
        )
    )
