"""A profile from TOML. Whoever wrote it, what comes out is a profile, or one line why not.

Every text of a profile can reach a terminal, a log or an error message, so it has to be short and
printable; every name that decides something has to be one of those that exist.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from fallback.dialects.record import INLINE, PROMPTED
from fallback.profiles.record import Evidence, Profile, ProfileError, Versions, WayEvidence

__all__ = ["FORMAT", "checked", "from_toml", "read_profile"]

FORMAT = 1
"""Version of the form; changes when a field means something else than before."""

_MAX_BYTES = 256 * 1024
_MAX_TEXT = 600
_MAX_COUNT = 10_000_000
_MAX_LIST = 200


def read_profile(path: Path) -> Profile:
    """Read a file.

    Raises:
        ProfileError: it cannot be read, or is no profile.
    """
    try:
        if not path.is_file():
            raise ProfileError(f"{path}: there is no such file")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror or error}") from error
    if len(data) > _MAX_BYTES:
        raise ProfileError(f"{path}: more than {_MAX_BYTES:,} bytes, which is no profile")
    try:
        return from_toml(data.decode())
    except ProfileError as error:
        raise ProfileError(f"{path}: {error}") from error
    except ValueError as error:
        raise ProfileError(f"{path}: not UTF-8: {error}") from error


def from_toml(text: str) -> Profile:
    """Read a profile.

    Raises:
        ProfileError: it is none; names the place.
    """
    import tomllib

    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"no TOML: {error}") from error
    version = found.pop("version", None)
    if version != FORMAT or isinstance(version, bool):
        raise ProfileError(f"version is {version!r:.40}; this fallback reads {FORMAT}")
    with _Table(found, "") as top:
        with top.table("way") as way:
            fields = _way(way)
        with top.table("versions") as made:
            versions = Versions(
                fallback=made.text("fallback"),
                templates=made.text("templates"),
                server=made.text("server", ""),
            )
        with top.table("evidence") as seen:
            evidence = _evidence(seen)
        return checked(
            Profile(
                model=top.text("model"),
                digest=top.text("digest"),
                measured=top.date("measured"),
                versions=versions,
                evidence=evidence,
                **fields,
            )
        )


def _way(table: _Table) -> dict[str, Any]:
    think = table.take("think", (bool, str), None)
    return {
        "way": table.text("name"),
        "mode": table.choice("mode", ("native", "prompt")),
        "dialect": table.text("dialect", ""),
        "endpoint": table.choice("endpoint", ("generate", "chat"), "generate"),
        "example": table.take("example", (bool,), True),
        "read_text": table.take("read_text", (bool,), True),
        "think": table.printable("think", think) if isinstance(think, str) else think,
        "num_ctx": table.count("num_ctx", None),
        "decide": table.take("decide", (float, int), None),
    }


def _evidence(table: _Table) -> Evidence:
    ways = []
    for entry in table.tables("ways"):
        with entry as way:
            ways.append(
                WayEvidence(
                    name=way.text("name"),
                    n=way.count("n"),
                    rate=way.share("rate"),
                    low=way.share("low"),
                    high=way.share("high"),
                    sentence=way.text("sentence", ""),
                )
            )
    return Evidence(
        suites=table.texts("suites"),
        seed=table.count("seed"),
        cases=table.count("cases"),
        turns=table.count("turns"),
        ended=table.choice("ended", ("distinguishable", "budget", "cases")),
        sentence=table.text("sentence"),
        ways=tuple(ways),
    )


def checked(profile: Profile) -> Profile:
    """A profile whose fields fit together; also what is written has to pass here.

    Raises:
        ProfileError: they do not.
    """
    if profile.mode == "prompt" and profile.dialect not in PROMPTED:
        known = ", ".join(PROMPTED)
        raise ProfileError(f"way.dialect is {profile.dialect!r}; there are {known}")
    if not profile.model or not profile.digest:
        raise ProfileError("model and digest have to be there, so that it can be recognised")
    if profile.decide is not None and (profile.mode != "prompt" or profile.dialect == INLINE.name):
        raise ProfileError("way.decide goes with prompt mode, and calls that are no part of a text")
    if profile.decide is not None and not math.isfinite(profile.decide):
        raise ProfileError(f"way.decide is {profile.decide}, but should be a finite number")
    if profile.num_ctx is not None and profile.num_ctx < 1:
        raise ProfileError("way.num_ctx has to be at least 1")
    if not profile.evidence.ways or profile.evidence.ways[0].name != profile.way:
        raise ProfileError("evidence.ways has to begin with the way that was chosen")
    if profile.measured.tzinfo is None:
        raise ProfileError("measured needs a time zone, such as a Z at its end")
    return profile


class _Table:
    """A table that is taken apart field by field; as a context it refuses what nobody took."""

    def __init__(self, values: Mapping[str, Any], place: str) -> None:
        self._left, self._place = dict(values), place

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._left and kind is None:
            name = next(iter(self._left))
            raise ProfileError(f"there is no field {self._where(name)!r:.80}")

    def _where(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name

    def take(self, name: str, kinds: tuple[type, ...], *default: Any) -> Any:
        """A value of one of these types, or the default."""
        if name not in self._left:
            if default:
                return default[0]
            raise ProfileError(f"{self._where(name)} is missing")
        value = self._left.pop(name)
        # A flag is a number to Python, and not to a reader.
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = " or ".join(_WANTED[kind] for kind in kinds)
            raise ProfileError(f"{self._where(name)} is {value!r:.60}, but should be {wanted}")
        return value

    def printable(self, name: str, value: str) -> str:
        """The text, if it is short and steers no terminal."""
        if len(value) > _MAX_TEXT or not value.isprintable():
            raise ProfileError(f"{self._where(name)} is too long, or holds control characters")
        return value

    def text(self, name: str, *default: str) -> str:
        return self.printable(name, self.take(name, (str,), *default))

    def texts(self, name: str) -> tuple[str, ...]:
        given = self.take(name, (list,))
        if len(given) > _MAX_LIST or not all(isinstance(text, str) for text in given):
            raise ProfileError(f"{self._where(name)} should be a list of texts")
        return tuple(self.printable(name, text) for text in given)

    def choice(self, name: str, choices: Sequence[str], *default: str) -> Any:
        value = self.take(name, (str,), *default)
        if value not in choices:
            known = " or ".join(choices)
            raise ProfileError(f"{self._where(name)} is {value!r:.60}, but should be {known}")
        return value

    def count(self, name: str, *default: None) -> Any:
        value = self.take(name, (int,), *default)
        if value is not None and not 0 <= value <= _MAX_COUNT:
            raise ProfileError(f"{self._where(name)} is out of range")
        return value

    def share(self, name: str) -> float:
        value = float(self.take(name, (float, int)))
        if not 0.0 <= value <= 1.0:  # not a number is refused as well
            raise ProfileError(f"{self._where(name)} should be between 0 and 1")
        return value

    def date(self, name: str) -> datetime.datetime:
        value: datetime.datetime = self.take(name, (datetime.datetime,))
        return value

    @contextmanager
    def table(self, name: str) -> Iterator[_Table]:
        with _Table(self.take(name, (dict,)), self._where(name)) as inner:
            yield inner

    def tables(self, name: str) -> Iterator[_Table]:
        given = self.take(name, (list,))
        if len(given) > _MAX_LIST or not all(isinstance(entry, dict) for entry in given):
            raise ProfileError(f"{self._where(name)} should be a list of tables")
        for number, entry in enumerate(given, 1):
            yield _Table(entry, f"{self._where(name)}[{number}]")


_WANTED: dict[type, str] = {
    bool: "true or false",
    datetime.datetime: "a date with a time",
    dict: "a section",
    float: "a number",
    int: "a whole number",
    list: "a list",
    str: "text",
}
