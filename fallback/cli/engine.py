"""``fallback engine serve``: the embedded engine alone, for any client of Ollama's wire."""

from __future__ import annotations

from functools import partial

from fallback.cli.exits import ExitCode
from fallback.cli.output import complain
from fallback.cli.serving import started, stopped
from fallback.engine.guard import is_loopback
from fallback.engine.serve import run


def serve(host: str, port: int) -> ExitCode:
    """Serve until interrupted; prints the address, so that a port of 0 can be found out."""
    if not is_loopback(host):
        complain(f"{host} can be reached from other machines, and nothing asks for a password")
    hint = "the engine speaks Ollama's wire there"
    run(host=host, port=port, on_start=partial(started, hint=hint))
    stopped()
    return ExitCode.OK
