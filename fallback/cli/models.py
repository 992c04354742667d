"""``fallback models``: what can be pulled, what is here, and where it lies."""

from __future__ import annotations

from fallback.cli.exits import ExitCode
from fallback.cli.output import complain, console, write_json
from fallback.engine.models import DEFAULT_MODEL, list_models, model_path
from fallback.engine.models import remove as remove_model

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
    """Fetch a model and show how far it is."""
    from fallback.engine.progress import pull_with_progress

    name = model or DEFAULT_MODEL
    pull_with_progress(name)
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
