"""Where model files lie on this machine: content-addressed, one file per SHA-256.

A file appears under its final name only after its hash was checked, by an atomic rename; so
whatever bears the name of a hash is the thing itself, and two names of one model share one file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fallback.engine.registry import ModelRecord, Registry, builtin_registry
from fallback.errors import EngineError

CACHE_VARIABLE = "FALLBACK_CACHE_DIR"


def cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """The cache folder: ``FALLBACK_CACHE_DIR``, or the platform's cache folder for ``fallback``."""
    if override := environ.get(CACHE_VARIABLE):
        return Path(override).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("fallback"))


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model that is ready for use on this machine.

    Attributes:
        name: as it is asked for: a registry name, or the path of a local file.
        path: the GGUF file.
        sha256: of the file, in hex; empty for a local file, which nobody has hashed yet.
        size: in bytes.
        modified: seconds since the epoch.
    """

    name: str
    path: Path
    sha256: str
    size: int
    modified: float
    licence: str = ""


class Store:
    """The models on this machine, below ``root``."""

    def __init__(self, root: Path | None = None, *, registry: Registry | None = None) -> None:
        self.root = (cache_dir() if root is None else root) / "models"
        self.registry = builtin_registry() if registry is None else registry

    def file(self, record: ModelRecord) -> Path:
        """Where the model's file lies once it is here."""
        return self.root / f"sha256-{record.sha256}.gguf"

    def partial(self, record: ModelRecord) -> Path:
        """Where its file grows while it is being fetched."""
        return self.root / f"sha256-{record.sha256}.partial"

    def stored(self, record: ModelRecord) -> StoredModel | None:
        """The model if it is here and whole, else ``None``."""
        path = self.file(record)
        try:
            status = path.stat()
        except OSError:
            return None
        if status.st_size != record.size:
            return None
        return StoredModel(
            record.name, path, record.sha256, status.st_size, status.st_mtime, record.licence
        )

    def models(self) -> tuple[StoredModel, ...]:
        """Every registered model that is here, in the registry's order."""
        found = (self.stored(record) for record in self.registry.records)
        return tuple(model for model in found if model is not None)

    def find(self, name: str, *, local_files: bool = True) -> StoredModel | None:
        """The model called ``name``, or the GGUF file there if ``local_files`` are allowed."""
        record = self.registry.find(name)
        if record is not None:
            return self.stored(record)
        return local_model(name) if local_files else None

    def record(self, name: str) -> ModelRecord:
        """The registry's entry; raises :class:`EngineError` naming the models there are."""
        record = self.registry.find(name)
        if record is None:
            known = ", ".join(self.registry.names)
            raise EngineError(
                f"no model {name!r} to fetch; known are {known}, or a path to a GGUF file"
            )
        return record


def local_model(name: str) -> StoredModel | None:
    """The GGUF file at the path ``name``; ``None`` if there is no such file."""
    if not name.lower().endswith(".gguf"):
        return None
    path = Path(name).expanduser()
    try:
        status = path.stat()
        regular = path.is_file()
    except (OSError, ValueError):
        return None
    if not regular:
        return None
    return StoredModel(name, path.absolute(), "", status.st_size, status.st_mtime)
