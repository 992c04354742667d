"""``fallback lint``: the findings of :mod:`fallback.lint`, for a person or as JSON."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fallback.cli.exits import ExitCode
from fallback.cli.inputs import InputError, opened
from fallback.cli.output import console, only_json, visible, write_json
from fallback.errors import ConfigurationError
from fallback.lint import Report, lint
from fallback.toolfile import load_catalogue

if TYPE_CHECKING:
    from rich.console import Console

TABLE = "[tool.fallback.lint.off]"
INDENT = 9
_STYLES = {"error": "red", "warning": "yellow", "note": "dim"}
_TOKENIZER_WINDOW = 256  # nothing is generated


def show(
    tools: Sequence[Path],
    *,
    off: Sequence[str] = (),
    tokenizer: str | None = None,
    strict: bool = False,
    as_json: bool = False,
) -> ExitCode:
    """Print the report; :attr:`ExitCode.LINT` if there are errors, with ``strict`` warnings too."""
    if as_json:
        with only_json() as out:
            report = _report(tools, off, tokenizer)
            write_json(record(report), out)
    else:
        report = _report(tools, off, tokenizer)
        _print(report, console())
    bad = report.of(("error", "warning") if strict else ("error",))
    return ExitCode.LINT if bad else ExitCode.OK


def _report(tools: Sequence[Path], off: Sequence[str], tokenizer: str | None) -> Report:
    catalogue = load_catalogue(tools)
    switched = {**switched_in_project(tools[0]), **dict(map(_switch, off))}
    with _counter(tokenizer) as count:
        return lint(catalogue, off=switched, count=count, counted_by=tokenizer or "")


def _switch(text: str) -> tuple[str, str]:
    rule, equals, reason = text.partition("=")
    if not equals or not reason.strip():
        raise ConfigurationError(f"--off {text}: write RULE=REASON, or RULE@TOOL=REASON")
    return rule.strip(), reason


def switched_in_project(tools: Path) -> dict[str, str]:
    """What the nearest ``pyproject.toml`` above a file of tools switches off.

    Raises:
        InputError: the file is no TOML, or the table is none.
    """
    folders = tools.resolve().parents
    file = next((f for folder in folders if (f := folder / "pyproject.toml").is_file()), None)
    if file is None:
        return {}
    with opened(str(file)) as stream:
        try:
            table: Any = tomllib.load(stream)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: {error}") from error
    for key in ("tool", "fallback", "lint", "off"):
        table = table.get(key, {}) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        raise InputError(f'{file}: {TABLE} must be a table of rule = "reason"')
    return table


@contextmanager
def _counter(model: str | None) -> Iterator[Callable[[str], int] | None]:
    """The tokenizer of an embedded model; without one the report has estimates."""
    if model is None:
        yield None
        return
    from fallback.engine.cores import thread_count
    from fallback.engine.llama import LlamaServer
    from fallback.engine.models import pull

    server = LlamaServer(pull(model).path, num_ctx=_TOKENIZER_WINDOW, threads=thread_count())
    try:
        yield lambda text: len(server.tokenize(text, add_special=False))
    finally:
        server.close()


def record(report: Report) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "findings": [asdict(finding) for finding in report.findings],
        "silenced": [{**asdict(s.finding), "reason": s.reason} for s in report.silenced],
        "counts": _counts(report),
        "tokens": {
            "counted_by": report.counted_by,
            "tools": {name: asdict(cost) for name, cost in report.costs.items()},
            "total": asdict(report.total),
        },
    }


def _counts(report: Report) -> dict[str, int]:
    return {f"{kind}s": len(report.of((kind,))) for kind in ("error", "warning", "note")}


def _print(report: Report, out: Console) -> None:
    for found in report.findings:
        where = " ".join(filter(None, (found.tool, found.place)))
        _line(out, found.severity, f"{where}  {found.rule}", _STYLES[found.severity])
        _line(out, "", found.message)
        _line(out, "", f"fix: {found.fix}")
    for silenced in report.silenced:
        found = silenced.finding
        _line(out, "off", f"{found.tool} {found.place}  {found.rule}: {silenced.reason}")
    widest = max(map(len, report.costs), default=0)
    about = "about " if report.counted_by == "estimate" else ""
    for name, cost in report.costs.items():
        tokens = f"{cost.prompt:>6,} tokens, {cost.native:,} in native mode"
        _line(out, "tokens", f"{name:<{widest}} {about}{tokens}")
    whole = f"{report.total.prompt:>6,} tokens, {report.total.native:,} in native mode"
    _line(out, "", f"{'all':<{widest}} {about}{whole} ({report.counted_by})")
    _line(out, "", ", ".join(_counted(n, word) for word, n in _counts(report).items()))


def _counted(number: int, words: str) -> str:
    return f"{number} {words if number != 1 else words[:-1]}"


def _line(out: Console, label: str, text: str, style: str = "") -> None:
    from rich.text import Text

    out.print(Text(f"{label:<{INDENT}}", style=style or "dim").append(visible(text)))
