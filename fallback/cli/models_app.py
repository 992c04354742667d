"""``fallback models`` and its options; what they do is in :mod:`fallback.cli.models`."""

from __future__ import annotations

from typing import Annotated

import typer

from fallback.cli.options import AsJson

models = typer.Typer(
    help="The models of the embedded engine.", no_args_is_help=True, rich_markup_mode=None
)


@models.command("list")
def models_list(as_json: AsJson = False) -> int:
    """The models that can be pulled, and which are here."""
    from fallback.cli.models import show_list

    return show_list(as_json=as_json)


Named = Annotated[str | None, typer.Argument(help="Default: the small default model.")]


@models.command("pull")
def models_pull(model: Named = None) -> int:
    """Download a model and check its hash; does nothing if it is already here."""
    from fallback.cli.models import pull

    return pull(model)


@models.command("rm")
def models_rm(model: Annotated[str, typer.Argument(help="Which model to delete.")]) -> int:
    """Delete a model from the cache."""
    from fallback.cli.models import remove

    return remove(model)


@models.command("path")
def models_path(model: Named = None) -> int:
    """Where the model's file lies."""
    from fallback.cli.models import show_path

    return show_path(model)
