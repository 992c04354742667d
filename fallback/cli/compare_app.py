"""The options of ``fallback compare`` and ``fallback report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fallback.cli.options import Hosts, NumCtx, NumPredict, Suites, SuiteSeed, Think, named_folder


def compare(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="May be repeated. Default: the embedded engine's own."),
    ] = None,
    host: Hosts = None,
    way: Annotated[
        list[str] | None,
        typer.Option(
            "--way",
            help="native, native+read, prompt:DIALECT[+chat][+no-example], decide[:MARGIN], or all;"
            " may be repeated. Default: both native ways and every dialect.",
        ),
    ] = None,
    suite: Suites = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Cases of each suite. Default: all.")
    ] = None,
    seed: SuiteSeed = 0,
    repeat: Annotated[
        int, typer.Option("--repeat", min=1, max=1000, help="Times that a case is asked.")
    ] = 1,
    temperature: Annotated[
        float,
        typer.Option("--temperature", min=0.0, max=100.0, help="0 takes the likeliest token."),
    ] = 0.0,
    num_ctx: NumCtx = None,
    num_predict: NumPredict = 1024,
    think: Think = None,
    executor: Annotated[
        Literal["local", "ray"],
        typer.Option("--executor", help="Who runs it: this process, or a Ray cluster."),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option("--address", help="Of the Ray cluster. Default: one on this machine."),
    ] = None,
    concurrency: Annotated[
        int,
        typer.Option("--concurrency", min=1, help="With ray: turns at a time on each host."),
    ] = 1,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="DIR", parser=named_folder, help="Results go here and are kept."
        ),
    ] = Path("comparison"),
    with_report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write the report at the end.")
    ] = True,
) -> int:
    """Measure which way of calling tools works best for a model; goes on where it was stopped."""
    from fallback.cli import compare as command
    from fallback.compare.units import Sampling

    return command.compare(
        command.CompareOptions(
            models=tuple(model or ()),
            hosts=tuple(host or ()),
            ways=tuple(way or ()),
            suites=tuple(suite or ()),
            limit=limit,
            repeats=repeat,
            sampling=Sampling(
                temperature=temperature,
                seed=seed,
                num_predict=num_predict,
                num_ctx=num_ctx,
                think=think,
            ),
            cluster=command.ClusterOptions(address=address, concurrency=concurrency)
            if executor == "ray"
            else None,
            out=out,
            with_report=with_report,
        )
    )


def report(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", parser=named_folder, help="As given to compare as --out."),
    ],
) -> int:
    """Write the report of a comparison again: HTML, Markdown, CSV, and a picture."""
    from fallback.cli.compare import report as write

    return write(folder)
