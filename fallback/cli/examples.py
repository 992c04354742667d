"""``fallback examples select``: candidates judged by what they do to the loss of right calls."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fallback.cli.exits import ExitCode
from fallback.cli.inputs import InputError
from fallback.cli.output import console, only_json, visible, write_json
from fallback.dialects.record import PROMPTED
from fallback.examples import Judged, Selection, load_examples, select, written
from fallback.hosts import EMBEDDED, connect
from fallback.toolfile import load_catalogue

__all__ = ["SelectOptions", "record", "show"]

_QUESTION = 40
"""Characters of a question that the table shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectOptions:
    """The command line, read."""

    candidates: Path
    tools: tuple[Path, ...]
    model: str | None
    dialect: str
    threshold: float
    most: int
    tries: int
    num_ctx: int | None
    out: Path | None
    as_json: bool


def show(options: SelectOptions) -> ExitCode:
    """Judge, write what is kept, and print a table; kept or not, the command has done its work."""
    if options.as_json:
        with only_json() as out:
            selection = _select(options)
            write_json({"examples": [record(judged) for judged in selection.judged]}, out)
    else:
        selection = _select(options)
        _print(selection, options)
    return ExitCode.OK


def _select(options: SelectOptions) -> Selection:
    from fallback.engine.models import DEFAULT_MODEL

    catalogue = load_catalogue(options.tools)
    candidates = load_examples(options.candidates, catalogue)
    with closing(connect(EMBEDDED, endpoint="generate")) as backend:
        selection = select(
            candidates,
            catalogue,
            backend,
            model=options.model or DEFAULT_MODEL,
            dialect=PROMPTED[options.dialect],
            threshold=options.threshold,
            most=options.most,
            tries=options.tries,
            num_ctx=options.num_ctx,
        )
    if options.out is not None and selection.kept:  # nobody can read a file without examples
        lines = "".join(f"{written(example)}\n" for example in selection.kept)
        try:
            options.out.write_text(lines, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{options.out}: {error.strerror or error}") from error
    return selection


def record(judged: Judged) -> dict[str, Any]:
    """A judged example as JSON; losses are ``null`` where it was tried on nothing."""
    tried = judged.tried_on > 0
    return {
        "question": judged.example.question,
        "tools": sorted(judged.example.tools),
        "tried_on": judged.tried_on,
        "loss_without": round(judged.without, 4) if tried else None,
        "loss_without_results": round(judged.bare, 4) if tried else None,
        "loss_with": round(judged.full, 4) if tried else None,
        "gain": round(judged.gain, 4) if tried else None,
        "kept": judged.kept,
    }


def _print(selection: Selection, options: SelectOptions) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("tools", "question"):
        table.add_column(column, overflow="fold")
    for column in ("without", "no result", "with", "gain", "tried on"):
        table.add_column(column, justify="right")
    table.add_column("")
    for judged in selection.judged:
        table.add_row(*_row(judged))
    out = console()
    out.print(table)
    kept, all_ = len(selection.kept), len(selection.judged)
    told = f"{kept} of {all_} kept (threshold {options.threshold:g} nats)"
    if options.out is not None:
        told += f", in {options.out}" if kept else f"; {options.out} is not written"
    out.print(visible(told))


def _row(judged: Judged) -> list[str]:
    asked = " ".join(judged.example.question.split())
    question = asked if len(asked) <= _QUESTION else asked[: _QUESTION - 1] + "…"
    names = ", ".join(sorted(judged.example.tools))
    if not judged.tried_on:
        return [visible(names), visible(question), "", "", "", "", "0", "no other question"]
    losses = (judged.without, judged.bare, judged.full)
    return [
        visible(names),
        visible(question),
        *(f"{loss:.3f}" for loss in losses),
        f"{judged.gain:+.3f}",
        str(judged.tried_on),
        "kept" if judged.kept else "",
    ]
