"""What ``fallback models`` does: list, pull, remove, and tell where a model lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fallback.engine.lock import file_lock
from fallback.engine.pull import OnProgress, PullProgress, pull
from fallback.engine.store import Store, StoredModel, local_model
from fallback.errors import EngineError

__all__ = [
    "DEFAULT_MODEL",
    "ListedModel",
    "OnProgress",
    "PullProgress",
    "Store",
    "StoredModel",
    "list_models",
    "model_path",
    "pull",
    "remove",
]

DEFAULT_MODEL = "qwen2.5-coder:0.5b"
"""The model used when nobody names one: small, freely licensed, and in need of this package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """A registered model; ``size`` in bytes, ``path`` is ``None`` while it is not here."""

    name: str
    licence: str
    size: int
    sha256: str
    path: Path | None
    default: bool


def list_models(*, store: Store | None = None) -> tuple[ListedModel, ...]:
    """Every model that can be fetched by name, and whether it is here."""
    store = Store() if store is None else store
    listed = []
    for record in store.registry.records:
        stored = store.stored(record)
        listed.append(
            ListedModel(
                name=record.name,
                licence=record.licence,
                size=record.size,
                sha256=record.sha256,
                path=None if stored is None else stored.path,
                default=record.name == DEFAULT_MODEL,
            )
        )
    return tuple(listed)


def model_path(name: str, *, store: Store | None = None) -> Path:
    """Where the model's file lies; raises :class:`EngineError` if it is not on this machine."""
    store = Store() if store is None else store
    local = local_model(name)
    if local is not None:
        return local.path
    record = store.record(name)
    stored = store.stored(record)
    if stored is None:
        raise EngineError(
            f"{record.name} is not on this machine;"
            f" fetch it with `fallback models pull {record.name}`"
        )
    return stored.path


def remove(names: str | Sequence[str], *, store: Store | None = None) -> tuple[str, ...]:
    """Remove models, whole or half fetched; returns the names of those that were there.

    Raises :class:`EngineError` for a name that is not registered: a local file is never deleted.
    """
    store = Store() if store is None else store
    records = [store.record(name) for name in ([names] if isinstance(names, str) else names)]
    removed = []
    for record in records:
        partial = store.partial(record)
        pieces = (store.file(record), partial, partial.with_suffix(".journal"))
        if not any(piece.exists() for piece in pieces):
            continue
        with file_lock(partial.with_suffix(".lock")):  # never under a fetch that is going on
            for piece in pieces:
                piece.unlink(missing_ok=True)
        removed.append(record.name)
    return tuple(removed)
