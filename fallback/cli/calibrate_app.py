"""The options of ``fallback calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fallback.cli.options import Hosts, NumCtx, NumPredict, Suites, SuiteSeed, Think, named_folder

__all__ = ["calibrate"]


def calibrate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="As the server knows it.")],
    host: Hosts = None,
    budget: Annotated[
        str,
        typer.Option("--budget", help="Turns, such as 300, or a time, such as 90s, 10m or 1h."),
    ] = "300",
    suite: Suites = None,
    way: Annotated[
        list[str] | None,
        typer.Option(
            "--way",
            help="A way as for compare; may be repeated. Default: all in which replies are read.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Cases of each suite, at most.")
    ] = 128,
    seed: SuiteSeed = 0,
    num_ctx: NumCtx = None,
    num_predict: NumPredict = 1024,
    think: Think = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The profile. Default: where auto looks."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results", metavar="DIR", parser=named_folder, help="Results go here and are kept."
        ),
    ] = None,
) -> int:
    """Find the best way of calling tools for a model; mode auto then goes by it."""
    from fallback.cli import calibrate as command
    from fallback.compare.units import Sampling

    return command.calibrate(
        command.CalibrateOptions(
            model=model,
            hosts=tuple(host or ()),
            budget=budget,
            suites=tuple(suite or ()),
            ways=tuple(way or ()),
            limit=limit,
            sampling=Sampling(seed=seed, num_predict=num_predict, num_ctx=num_ctx, think=think),
            out=out,
            results=results,
        )
    )
