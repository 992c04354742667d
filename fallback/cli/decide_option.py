"""``--decide`` and ``--decide=MARGIN``: an option that may have a value, which typer does not know.

Only what is joined with ``=`` is its value, so that a question may stand behind a plain
``--decide``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from fallback.loop import Decide

__all__ = ["DecideCommand", "DecideFlag", "DecideMargin", "decide_of"]

_JOINED = "--decide="
_MARGIN = "--decide-margin"

DecideFlag = Annotated[
    bool,
    typer.Option(
        "--decide",
        help="First decide which tool to call, or none; prompt mode."
        " --decide=MARGIN: at least MARGIN has to speak for a call.",
    ),
]
DecideMargin = Annotated[str | None, typer.Option(_MARGIN, hidden=True)]


class DecideCommand(TyperCommand):
    """A command with the option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the value apart from the option; what stands behind ``--`` is not ours to read."""
        end = args.index("--") if "--" in args else len(args)
        apart: list[str] = []
        for word in args[:end]:
            joined = word.startswith(_JOINED)
            apart += ["--decide", f"{_MARGIN}={word[len(_JOINED) :]}"] if joined else [word]
        return super().parse_args(ctx, apart + args[end:])


def decide_of(flag: bool, margin: str | None) -> Decide | None:
    """What the options say.

    Raises:
        ConfigurationError: the margin is no number.
    """
    from fallback.errors import ConfigurationError
    from fallback.loop import Decide

    if margin is None:
        return Decide() if flag else None
    try:
        return Decide(margin=float(margin))
    except (ValueError, ConfigurationError):
        raise ConfigurationError(
            f"{_JOINED}{margin}: the margin is a number, such as 2 or -0.5"
        ) from None
