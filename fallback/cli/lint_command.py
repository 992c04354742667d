"""The options of ``fallback lint``; what it does is in :mod:`fallback.cli.lint`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fallback.cli.options import AsJson


def lint(
    tools: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Files of tools, as --tools of 'run' takes them."),
    ],
    off: Annotated[
        list[str] | None,
        typer.Option(
            "--off",
            metavar="RULE=REASON",
            help="Switch a rule off, or RULE@TOOL for one tool; may be repeated.",
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer",
            metavar="MODEL",
            help="Count tokens as that embedded model does. Default: an estimate.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail, too.")] = False,
    as_json: AsJson = False,
) -> int:
    """Review a catalogue of tools: what is unsafe, unclear or costly, and what to do about it."""
    from fallback.cli.lint import show

    return show(tools, off=off or (), tokenizer=tokenizer, strict=strict, as_json=as_json)
