"""``fallback doctor``: what :mod:`fallback.doctor` found, for a person or as JSON."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from fallback.cli.exits import ExitCode, exit_code_of
from fallback.cli.output import console, visible, write_json
from fallback.doctor import ModelReport, ProfileReport, Report, examine

if TYPE_CHECKING:
    from rich.console import Console

INDENT = 10


def show(host: str | None, *, as_json: bool) -> ExitCode:
    """Print the report; the exit code is that of the first trouble, :attr:`ExitCode.OK` if none."""
    report = examine(host)
    if as_json:
        write_json(record(report))
    else:
        print_report(report, console())
    for trouble in report.troubles:
        return exit_code_of(trouble.error) if trouble.error else ExitCode.USAGE
    return ExitCode.OK


def record(report: Report) -> dict[str, Any]:
    """The report as JSON; the errors themselves are told by ``what`` and ``advice``."""
    found = asdict(replace(report, troubles=()))
    found["troubles"] = [{"what": t.what, "advice": t.advice} for t in report.troubles]
    return found


def print_report(report: Report, out: Console) -> None:
    """One labelled line per thing, each trouble with what to do."""
    _line(out, "python", f"{report.python} on {report.system}")
    _line(out, "packages", ", ".join(f"{n} {v}" for n, v in report.packages.items() if v))
    here = ", ".join(report.models_here) or "no model pulled"
    install = "not installed; pip install 'toolcall-fallback[embedded]'"
    _line(out, "engine", f"installed, {here}" if report.engine else install)
    _line(out, "cache", report.cache)
    if report.server is not None:
        server = report.server
        _line(out, "server", f"{server.where}, version {server.version} ({server.why})")
    for model in report.models:
        _print_model(model, out)
    for name, value in report.serve.items():
        _line(out, "serve", f"{name}: {value}")
    for trouble in report.troubles:
        _line(out, "problem", f"{trouble.what}: {trouble.advice}", "red")
    if not report.troubles:
        _line(out, "", "everything works", "green")


def _print_model(model: ModelReport, out: Console) -> None:
    known = "not said" if model.capabilities is None else ", ".join(model.capabilities)
    _line(out, "model", model.name, "bold")
    _line(out, "", f"family {model.family or 'unknown'}; capabilities: {known}")
    _line(out, "", f"mode {model.mode or 'none'}: {model.why}")
    trained = "" if model.trained is None else f" of {model.trained:,} trained"
    live = "" if model.live is None else f"; loaded with {model.live:,}"
    _line(out, "", f"window {model.window:,} tokens{trained}{live}")
    if model.profile is not None:
        _print_profile(model.profile, model.name, out)
    if model.note:
        _line(out, "", f"note: {model.note}", "yellow")


def _print_profile(profile: ProfileReport, model: str, out: Console) -> None:
    came = "came with fallback" if profile.shipped else "calibrated here"
    _line(out, "", f"profile {profile.path} ({came}): {profile.way or 'not readable'}")
    if profile.trouble:
        again = f"measure again with: fallback calibrate {model}"
        _line(out, "", f"the profile is not used: {profile.trouble}; {again}", "yellow")
    for sentence in profile.evidence:
        _line(out, "", f"  {sentence}")


def _line(out: Console, label: str, text: str, style: str = "") -> None:
    from rich.text import Text

    out.print(Text(f"{label:<{INDENT}}", style="dim").append(visible(text), style=style))
