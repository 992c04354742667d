"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ToolFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--tools",
        "-t",
        help="A .py file with @tool functions or a .json file of tool objects; may be repeated.",
        metavar="FILE",
    ),
]
Host = Annotated[
    str | None,
    typer.Option(
        "--host",
        help="URL of an Ollama server, or 'embedded'. Default: OLLAMA_HOST, or who answers.",
    ),
]
Context = Annotated[
    list[str] | None,
    typer.Option("--context", metavar="KEY=VALUE", help="An injected parameter; may be repeated."),
]
LedgerUrl = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="FALLBACK_LEDGER",
        metavar="URL",
        help="A path, sqlite:///PATH or postgresql://USER@HOST/DATABASE. Default: this user's own.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, and nothing else.")]
