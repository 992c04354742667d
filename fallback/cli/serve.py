"""``fallback serve``: tool calling for any client of a model server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fallback.cli.exits import ExitCode
from fallback.cli.serving import started, stopped
from fallback.errors import ConfigurationError

__all__ = ["serve"]

_HINT = "point clients of Ollama there, and clients of OpenAI at /v1"


def serve(
    upstream: Annotated[
        str | None,
        typer.Option(
            "--upstream",
            help="URL of the server behind, or 'embedded'. Default: OLLAMA_HOST, or who answers.",
        ),
    ] = None,
    upstream_kind: Annotated[
        Literal["auto", "ollama", "openai"] | None,
        typer.Option("--upstream-kind", help="What it speaks; it is asked by default."),
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Default 11435; 0 is any.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="Settings; default ./fallback.toml.")
    ] = None,
    mode: Annotated[
        Literal["auto", "native", "prompt"] | None,
        typer.Option("--mode", help="Calls from the server, from the text, or as suits the model."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="auto|off|FILE",
            help="What mode auto goes by where the model was calibrated.",
        ),
    ] = None,
    dialect: Annotated[
        Literal["fenced", "pythonic", "hermes"] | None,
        typer.Option("--dialect", help="How the model is told to write a call."),
    ] = None,
    decide: Annotated[
        bool | None,
        typer.Option("--decide/--no-decide", help="First decide which tool to call, or none."),
    ] = None,
    num_ctx: Annotated[
        int | None, typer.Option("--num-ctx", min=256, help="Window; one that fits by default.")
    ] = None,
    corrections: Annotated[
        int | None,
        typer.Option("--corrections", min=0, help="Unseen second tries of a malformed call."),
    ] = None,
    api_keys_file: Annotated[
        Path | None, typer.Option("--api-keys-file", help="One key a line; see FALLBACK_API_KEY.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen for other machines without any key.")
    ] = False,
    stream_arguments: Annotated[
        bool,
        typer.Option("--stream-arguments", help="Send arguments as they are written, unchecked."),
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes; one by default.")
    ] = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"] | None, typer.Option("--log-level")
    ] = None,
    traces: Annotated[
        bool, typer.Option("--traces", help="Send OpenTelemetry spans as OTEL_* says.")
    ] = False,
) -> int:
    """Stand between any client and a model server, and give every model tools."""
    flags = {
        "upstream": upstream,
        "upstream_kind": upstream_kind,
        "host": host,
        "port": port,
        "mode": mode,
        "profile": profile,
        "dialect": dialect,
        "decide": decide,
        "num_ctx": num_ctx,
        "corrections": corrections,
        "api_keys_file": None if api_keys_file is None else api_keys_file.resolve(),
        "insecure": insecure or None,
        "stream_arguments": stream_arguments or None,
        "workers": workers,
        "log_level": log_level,
        "traces": traces or None,
    }
    return run_server(flags, config)


def run_server(flags: Mapping[str, Any], config: Path | None) -> ExitCode:
    """Serve until told to stop.

    Args:
        flags: settings by their names; ``None`` for what was not given.
        config: the file of settings.
    """
    try:
        from fallback.proxy.config import load_settings, variable
        from fallback.proxy.serve import run
    except ImportError as error:
        raise ConfigurationError(
            "serving needs more packages; run `pip install 'toolcall-fallback[server]'`"
        ) from error
    # Worker processes, and a reload, read the same places again: flags go where they look.
    if config is not None:
        os.environ["FALLBACK_CONFIG"] = str(config.resolve())
    for name, value in flags.items():
        if value is not None:
            os.environ[variable(name)] = str(value)
    settings = load_settings()
    run(settings, on_start=partial(started, hint=_HINT))
    stopped()
    return ExitCode.OK
