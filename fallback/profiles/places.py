"""Where profiles lie: the user's own folder, and those that come with the package."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from fallback.profiles.reading import checked
from fallback.profiles.record import Profile, ProfileError
from fallback.profiles.replacing import replace_file
from fallback.profiles.writing import to_toml

__all__ = ["SHIPPED", "candidates", "file_name", "profile_dir", "same_model", "save"]

DIR_VARIABLE = "FALLBACK_PROFILE_DIR"

SHIPPED = Path(__file__).with_name("data")
"""Profiles that come with the package; only of models that were really measured."""

_DIGEST_CHARS = 12


def profile_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's folder: ``FALLBACK_PROFILE_DIR``, or ``profiles`` in the platform's folder for
    settings."""
    if override := environ.get(DIR_VARIABLE):
        return Path(override).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_config_dir("fallback", appauthor=False)) / "profiles"


def file_name(model: str, digest: str) -> str:
    """Name of the file of a model's profile. Two models of one name have two."""
    return f"{_slug(model)}-{_short(digest)}.toml"


def same_model(one: str, other: str) -> bool:
    """Whether two names mean one model on one server: ``m`` is ``m:latest``."""
    return one.removesuffix(":latest") == other.removesuffix(":latest")


def candidates(folder: Path, model: str, digest: str) -> Iterator[Path]:
    """Files that by their names belong to the model, or to one of the same content."""
    begins, ends = f"{_slug(model)}-", f"-{_short(digest)}.toml"
    with suppress(OSError):  # no folder, no profiles
        names = sorted(entry.name for entry in os.scandir(folder))
        for name in names:
            if name.endswith(".toml") and (name.startswith(begins) or name.endswith(ends)):
                yield folder / name


def save(profile: Profile, path: Path) -> None:
    """Write a profile; the file appears whole, or not at all.

    Raises:
        ProfileError: it cannot be written.
    """
    text = to_toml(checked(profile))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror or error}") from error


def _slug(model: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "_", model.removesuffix(":latest"))[:80] or "_"


def _short(digest: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "", digest.removeprefix("sha256:"))[:_DIGEST_CHARS]
