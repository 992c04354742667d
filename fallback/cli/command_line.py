"""How a run was started, as its results keep it: enough to start it again, and no secrets."""

from __future__ import annotations

import datetime
import platform
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fallback.compare.units import Sampling

__all__ = ["repeated", "sampling_options", "started_with"]


def started_with(words: Iterable[str], urls: Iterable[str]) -> dict[str, str]:
    """The record of a run.

    Args:
        words: the command and its options; those that name hosts left out.
        urls: the hosts.
    """
    from fallback import __version__
    from fallback.hosts import without_login

    hosts = ", ".join(map(without_login, urls))
    where = f"fallback {__version__}, Python {platform.python_version()}, {platform.machine()}"
    return {
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["fallback", *words]),
        "where": f"{where}, {hosts}",
    }


def repeated(flag: str, values: Sequence[object]) -> list[str]:
    """The option once for each value; none for ``None``."""
    return [word for value in values if value is not None for word in (flag, str(value))]


def sampling_options(sampling: Sampling) -> list[str]:
    """The options that differ from the greedy choice with the seed 0."""
    words = [
        *repeated("--seed", [sampling.seed or None]),
        *repeated("--temperature", [sampling.temperature or None]),
        *repeated("--num-ctx", [sampling.num_ctx]),
        *repeated("--num-predict", [sampling.num_predict]),
    ]
    if sampling.think is not None:
        words.append("--think" if sampling.think else "--no-think")
    return words
