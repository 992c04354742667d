"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer


def named_folder(given: str | Path) -> Path:
    """A folder that is named: an empty text would be the current one, and is a slip."""
    if not str(given).strip():
        raise typer.BadParameter("name a folder")
    return Path(given)


NeededToolFiles = Annotated[
    list[Path],
    typer.Option("--tools", "-t", metavar="FILE", help="As of 'run'; may be repeated."),
]
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
Hosts = Annotated[
    list[str] | None,
    typer.Option("--host", help="URL of an Ollama server, or 'embedded'; may be repeated."),
]
Context = Annotated[
    list[str] | None,
    typer.Option("--context", metavar="KEY=VALUE", help="An injected parameter; may be repeated."),
]
Mcp = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp",
        metavar="[NAME=]COMMAND|URL",
        help="A server of tools: the command that starts it, or its URL; may be repeated.",
    ),
]
McpTrust = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp-trust",
        metavar="NAME",
        help="Believe that server's hints and results; may be repeated.",
    ),
]
McpOnly = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp-only", metavar="[NAME:]TOOL", help="Take only these of its tools; may be repeated."
    ),
]
McpHide = Annotated[
    list[str] | None,
    typer.Option("--mcp-hide", metavar="[NAME:]TOOL", help="Leave it out; may be repeated."),
]
McpRisk = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp-risk",
        metavar="[NAME:]TOOL=TIER",
        help="What a tool can do: read_only, reversible_write, ...; may be repeated.",
    ),
]
MaybeLedger = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="FALLBACK_LEDGER",
        metavar="URL",
        help="Where side effects, approvals and turns that wait are kept. Default: nowhere.",
    ),
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
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", help="Default: the embedded engine's own small model."),
]
Mode = Annotated[
    Literal["auto", "native", "prompt"],
    typer.Option("--mode", help="Calls from the server, from the text, or as suits the model."),
]
Dialect = Annotated[
    Literal["fenced", "pythonic", "hermes", "inline"] | None,
    typer.Option("--dialect", help="How the model is told to write a call. Default: fenced."),
]
Profile = Annotated[
    str,
    typer.Option(
        "--profile",
        envvar="FALLBACK_PROFILE",
        metavar="auto|off|FILE",
        help="What mode auto goes by where the model was calibrated.",
    ),
]
Endpoint = Annotated[
    Literal["auto", "generate", "chat"],
    typer.Option("--endpoint", help="Where prompts are sent in prompt mode."),
]
MaxSteps = Annotated[
    int | None, typer.Option("--max-steps", min=1, help="Generations in the turn.")
]
NumCtx = Annotated[
    int | None, typer.Option("--num-ctx", min=256, help="Context window, in tokens.")
]
Temperature = Annotated[
    float | None,
    typer.Option("--temperature", min=0.0, help="Default: 0, the likeliest token."),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the sampling.")]
SuiteSeed = Annotated[
    int, typer.Option("--seed", min=0, help="Of the sampling and of the choice of cases.")
]
Suites = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        help="builtin (the default), bfcl, bfcl:CATEGORY, or a JSONL file; may be repeated.",
    ),
]
NumPredict = Annotated[
    int, typer.Option("--num-predict", min=1, help="Tokens that one reply may have.")
]
Think = Annotated[
    bool | None,
    typer.Option("--think/--no-think", help="For models that think. Default: as they like."),
]
ToolChoice = Annotated[
    str, typer.Option("--tool-choice", help="auto, none, required, or the name of a tool.")
]
ParallelToolCalls = Annotated[
    bool,
    typer.Option(
        "--parallel-tool-calls/--no-parallel-tool-calls",
        help="Whether one reply may hold several calls.",
    ),
]
Eager = Annotated[
    bool,
    typer.Option("--eager", help="Start calls that only read while the model still writes."),
]
Respond = Annotated[
    bool, typer.Option("--respond", help="Offer a tool to answer with, for models that only call.")
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="TOOL", help="Only these may be called; may be repeated."),
]
AskHere = Annotated[
    bool, typer.Option("--approve", help="Ask on the terminal about calls that need a person.")
]
By = Annotated[str | None, typer.Option("--by", help="Who says so. Default: your user name.")]
User = Annotated[str | None, typer.Option("--user", help="For whom it is; seen by the tools only.")]
Tenant = Annotated[str | None, typer.Option("--tenant", help="Whose data it is about.")]
Scopes = Annotated[
    list[str] | None, typer.Option("--scope", help="What the user may do; may be repeated.")
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, and nothing else.")]


class MaskName(StrEnum):
    """What ``--mask`` names; typer takes no list of ``Literal``."""

    PERSONAL_DATA = "personal-data"
    CREDENTIALS = "credentials"


Masked = Annotated[
    list[MaskName] | None,
    typer.Option("--mask", help="What no result may show the model; may be repeated."),
]
