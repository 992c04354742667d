"""What is worth remembering between requests, and may be forgotten."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Kept"]

K = TypeVar("K")
V = TypeVar("V")

_MOST = 256


class Kept(Generic[K, V]):
    """Values by their keys; of too many, what was not used for longest goes."""

    def __init__(self) -> None:
        self._values: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value, if it is still known; it is used by that."""
        if key not in self._values:
            return None
        value = self._values[key] = self._values.pop(key)
        return value

    def keep(self, key: K, value: V) -> None:
        """Remember a value."""
        self._values.pop(key, None)
        self._values[key] = value
        if len(self._values) > _MOST:
            del self._values[next(iter(self._values))]
