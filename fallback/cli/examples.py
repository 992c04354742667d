"""``fallback examples select``: candidates judged by what they do to the loss of right calls."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fallback.cli.exits import ExitCode
from fallback.cli.inputs import InputError
from fallback.cli.output import console, only_json, visible, write_json
from fallback.cli.progress import say, watching
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
    """Judge, print what came of it, and write what is kept; kept or not, the work is done."""
    if options.out is not None:
        _check_writable(options.out)
    if options.as_json:
        with only_json() as out:
            selection = _select(options)
            write_json({"examples": [record(judged) for judged in selection.judged]}, out)
        _write(selection, options.out)
        if options.out is not None:
            say(_told(selection, options))
    else:
        selection = _select(options)
        _print(selection)
        _write(selection, options.out)
        console().print(visible(_told(selection, options)))
    return ExitCode.OK


def _select(options: SelectOptions) -> Selection:
    from fallback.engine.models import DEFAULT_MODEL

    catalogue = load_catalogue(options.tools)
    candidates = load_examples(options.candidates, catalogue)
    with (
        closing(connect(EMBEDDED, endpoint="generate")) as backend,
        watching(len(candidates), 0) as watch,
    ):
        return select(
            candidates,
            catalogue,
            backend,
            model=options.model or DEFAULT_MODEL,
            dialect=PROMPTED[options.dialect],
            threshold=options.threshold,
            most=options.most,
            tries=options.tries,
            num_ctx=options.num_ctx,
            done=lambda judged: watch.one(judged.example.question),
        )


def _check_writable(out: Path) -> None:
    """Find out before the work is done whether its outcome can be kept; changes nothing.

    Raises:
        InputError: it cannot.
    """
    folder = out.parent
    if out.is_dir():
        why = "it is a folder"
    elif not folder.is_dir():
        why = f"there is no folder {folder}"
    elif not os.access(out if out.exists() else folder, os.W_OK):
        why = "permission denied"
    else:
        return
    raise InputError(f"{out} cannot be written: {why}; nothing was measured")


def _write(selection: Selection, out: Path | None) -> None:
    """Write what is kept. Nobody could read a file without examples, so none is made."""
    if out is None or not selection.kept:
        return
    lines = "".join(f"{written(example)}\n" for example in selection.kept)
    try:
        out.write_text(lines, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: {error.strerror or error}") from error


def _told(selection: Selection, options: SelectOptions) -> str:
    kept, all_, out = len(selection.kept), len(selection.judged), options.out
    told = f"{kept} of {all_} kept (threshold {options.threshold:g} nats)"
    if out is None:
        return told
    if kept:
        return f"{told}, in {out}"
    return f"{told}; {out} " + ("is left as it was" if out.exists() else "is not written")


def record(judged: Judged) -> dict[str, Any]:
    """A judged example as JSON; losses are ``null`` where it was tried on nothing."""
    tried = judged.tried_on > 0
    return {
        "question": judged.example.question,
        "tools": sorted(judged.example.tools),
        "tried_on": judged.tried_on,
        "loss_without": round(judged.without, 4) if tried else None,
        "loss_without_results": None if judged.bare is None else round(judged.bare, 4),
        "loss_with": round(judged.full, 4) if tried else None,
        "gain": round(judged.gain, 4) if tried else None,
        "kept": judged.kept,
    }


def _print(selection: Selection) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("tools", "question"):
        table.add_column(column, overflow="fold")
    for column in ("without", "no result", "with", "gain", "tried on"):
        table.add_column(column, justify="right")
    table.add_column("")
    for judged in selection.judged:
        table.add_row(*_row(judged))
    console().print(table)


def _row(judged: Judged) -> list[str]:
    asked = " ".join(judged.example.question.split())
    question = asked if len(asked) <= _QUESTION else asked[: _QUESTION - 1] + "…"
    names = ", ".join(sorted(judged.example.tools))
    if not judged.tried_on:
        return [visible(names), visible(question), "", "", "", "", "0", "no other question"]
    losses = (judged.without, judged.bare, judged.full)  # the second only with results
    return [
        visible(names),
        visible(question),
        *("–" if loss is None else f"{loss:.3f}" for loss in losses),
        f"{judged.gain:+.3f}",
        str(judged.tried_on),
        "kept" if judged.kept else "",
    ]
