"""The profile for a model: which one there is, whether it still holds, and what to say if not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fallback.backend import ModelInfo
from fallback.profiles.places import SHIPPED, candidates, profile_dir, same_model
from fallback.profiles.reading import read_profile
from fallback.profiles.record import Profile, ProfileError, advice_of
from fallback.routing import Advice

__all__ = ["Found", "Profiles"]

_log = logging.getLogger("fallback.profiles")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A profile of a model.

    Attributes:
        path: the file.
        profile: what it says; ``None`` if it cannot be read.
        trouble: why it is not used; empty if it is.
        shipped: whether it came with the package.
    """

    path: Path
    profile: Profile | None
    trouble: str = ""
    shipped: bool = False

    def warning(self, model: str) -> str:
        """The line for people about a profile that is not used."""
        again = f"measure again with: fallback calibrate {model}"
        return f"the profile {self.path} is not used: {self.trouble}; {again}"


class Profiles:
    """Where profiles are looked for. Reads files whenever it is asked, and warns of each once.

    Args:
        folders: in the order in which they count; ``None`` for the user's and those that come with
            the package.
        file: the one profile to use, whatever lies in the folders.
        warn: told of a profile that is not used, a line each; a logger if not given.
    """

    def __init__(
        self,
        *,
        folders: Sequence[Path] | None = None,
        file: Path | None = None,
        warn: Callable[[str], object] | None = None,
    ) -> None:
        self._folders, self._file = folders, file
        self._warn = warn or _log.warning
        self._told: set[tuple[Path, str]] = set()

    @classmethod
    def of(cls, setting: str | Path, warn: Callable[[str], object] | None = None) -> Profiles:
        """Read the setting ``profile``: ``auto``, ``off``, or the path of a file.

        Raises:
            ProfileError: that file is not there, or is no profile.
        """
        if setting == "auto":
            return cls(warn=warn)
        if setting in ("off", ""):
            return cls(folders=(), warn=warn)
        path = Path(setting).expanduser()
        read_profile(path)
        return cls(folders=(), file=path, warn=warn)

    def find(self, info: ModelInfo) -> Found | None:
        """The profile that is used for a model, or else one that would be if it still held.

        A model whose server tells no digest has none: it could not be recognised.
        """
        if not info.digest:
            return None
        first: Found | None = None
        for found in self._all(info):
            if not found.trouble:
                return found
            first = first or found
        return first

    def advice(self, info: ModelInfo) -> Advice | None:
        """What mode ``auto`` goes by; warns if there is a profile that does not hold any more."""
        found = self.find(info)
        if found is None:
            return None
        if found.profile is not None and not found.trouble:
            return advice_of(found.profile)
        key = (found.path, found.trouble)
        if key not in self._told:
            self._told.add(key)
            self._warn(found.warning(info.name))
        return None

    def _all(self, info: ModelInfo) -> Iterator[Found]:
        if self._file is not None:
            yield _found(self._file, info, shipped=False)
        folders = (profile_dir(), SHIPPED) if self._folders is None else self._folders
        for folder in folders:
            for path in candidates(folder, info.name, info.digest):
                found = _found(path, info, shipped=folder == SHIPPED)
                if found.profile is None or _is_about(found.profile, info):
                    yield found


def _found(path: Path, info: ModelInfo, *, shipped: bool) -> Found:
    try:
        profile = read_profile(path)
    except ProfileError as error:
        trouble = str(error).removeprefix(f"{path}: ")
        return Found(path=path, profile=None, trouble=trouble, shipped=shipped)
    if _is_about(profile, info):
        trouble = profile.stale(info.digest, info.family or "")
    else:
        trouble = f"it is about {profile.model}"
    return Found(path=path, profile=profile, trouble=trouble, shipped=shipped)


def _is_about(profile: Profile, info: ModelInfo) -> bool:
    return profile.digest == info.digest or same_model(profile.model, info.name)
