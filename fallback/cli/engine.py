"""``fallback engine serve``: the embedded engine alone, for any client of Ollama's wire."""

from __future__ import annotations

from fallback.cli.exits import ExitCode
from fallback.cli.output import complain
from fallback.engine.guard import is_loopback
from fallback.engine.serve import run


def serve(host: str, port: int) -> ExitCode:
    """Serve until interrupted; prints the address, so that a port of 0 can be found out."""
    if not is_loopback(host):
        complain(f"{host} can be reached from other machines, and nothing asks for a password")
    run(host=host, port=port, on_start=_started)
    complain("stopped")
    return ExitCode.OK


def _started(url: str) -> None:
    print(url, flush=True)  # noqa: T201  # read by scripts
    complain("the engine speaks Ollama's wire there; Ctrl-C stops it")
