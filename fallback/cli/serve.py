"""``fallback serve``: tool calling for any client of a model server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fallback.cli.exits import ExitCode
from fallback.cli.output import complain
from fallback.errors import ConfigurationError

__all__ = ["serve"]


def serve(flags: Mapping[str, Any], config: Path | None) -> ExitCode:
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
    run(settings, on_start=_started)
    complain("stopped")
    return ExitCode.OK


def _started(url: str) -> None:
    print(url, flush=True)  # noqa: T201  # read by scripts
    complain("point clients of Ollama there, and clients of OpenAI at /v1; Ctrl-C stops it")
