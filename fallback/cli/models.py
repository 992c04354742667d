"""``fallback models``: what can be pulled, what is here, and where it lies."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fallback.cli.exits import ExitCode
from fallback.cli.output import complain, console, write_json
from fallback.engine.models import DEFAULT_MODEL, list_models, model_path
from fallback.engine.models import remove as remove_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fallback.engine.models import OnProgress, PullProgress

MB = 1_000_000


def show_list(*, as_json: bool) -> ExitCode:
    """Print every model of the registry; sizes in bytes in JSON, in MB for a person."""
    listed = list_models()
    if as_json:
        records = [
            {
                "name": model.name,
                "licence": model.licence,
                "size": model.size,
                "sha256": model.sha256,
                "path": None if model.path is None else str(model.path),
                "default": model.default,
            }
            for model in listed
        ]
        write_json({"models": records})
        return ExitCode.OK
    out = console()
    width = max(len(model.name) for model in listed)
    for model in listed:
        here = "here" if model.path else "not pulled"
        default = "  (default)" if model.default else ""
        size = f"{model.size / MB:,.0f} MB"
        out.print(f"{model.name:<{width}}  {size:>8}  {model.licence}  {here}{default}")
    return ExitCode.OK


def pull(model: str | None) -> ExitCode:
    """Fetch a model with a progress bar; on a pipe, with one line a part."""
    from fallback.engine.models import pull as pull_model

    name = model or DEFAULT_MODEL
    with _progress() as on_progress:
        pull_model(name, on_progress=on_progress)
    print(f"{name} is ready")  # noqa: T201  # what was asked for
    return ExitCode.OK


def remove(model: str) -> ExitCode:
    """Delete a model's file; one that was not here is no failure, but is said."""
    removed = remove_model(model)
    complain(f"removed {removed[0]}" if removed else f"{model} was not here")
    return ExitCode.OK


def show_path(model: str | None) -> ExitCode:
    """Print where the file lies, and nothing else, so that it can be used in a command."""
    print(model_path(model or DEFAULT_MODEL))  # noqa: T201  # what was asked for
    return ExitCode.OK


@contextmanager
def _progress() -> Iterator[OnProgress]:
    if sys.stderr.isatty():
        with _bar() as on_progress:
            yield on_progress
    else:
        yield _Lines()


@contextmanager
def _bar() -> Iterator[OnProgress]:
    """A bar with the size, the rate and the time that is left."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)

        def on_progress(step: PullProgress) -> None:
            bar.update(
                task,
                description=f"{step.status} {step.model}",
                completed=step.completed,
                total=step.total,
                visible=step.status != "done",
            )

        yield on_progress


class _Lines:
    """Progress where there is no terminal: a line when something new begins."""

    def __init__(self) -> None:
        self._last: tuple[str, int] | None = None

    def __call__(self, step: PullProgress) -> None:
        beginning = (step.status, step.part)
        if step.status == "done" or beginning == self._last:
            return
        self._last = beginning
        part = f" part {step.part} of {step.parts}" if step.status == "downloading" else ""
        size = f"{step.completed / MB:,.0f} of {step.total / MB:,.0f} MB"
        complain(f"{step.status} {step.model}{part}, {size}")
