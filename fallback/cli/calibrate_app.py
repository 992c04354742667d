"""The options of ``fallback calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["calibrate"]


def calibrate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="As the server knows it.")],
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="URL of an Ollama server, or 'embedded'; may be repeated."),
    ] = None,
    budget: Annotated[
        str,
        typer.Option("--budget", help="Turns, such as 300, or a time, such as 90s, 10m or 1h."),
    ] = "300",
    suite: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            help="builtin (the default), bfcl:CATEGORY, or a JSONL file; may be repeated.",
        ),
    ] = None,
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
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Of the sampling and of the choice of cases.")
    ] = 0,
    num_ctx: Annotated[
        int | None, typer.Option("--num-ctx", min=256, help="Context window, in tokens.")
    ] = None,
    num_predict: Annotated[
        int, typer.Option("--num-predict", min=1, help="Tokens that one reply may have.")
    ] = 1024,
    think: Annotated[
        bool | None,
        typer.Option("--think/--no-think", help="For models that think. Default: as they like."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The profile. Default: where auto looks."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="DIR", help="Results go here and are kept."),
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
