"""What a user can get wrong about a comparison; each is one line that says what to do."""

from __future__ import annotations

from fallback.errors import ConfigurationError, FallbackError

__all__ = ["CaseError", "StoreError"]


class CaseError(ConfigurationError):
    """A suite, or one of its lines, is not what it should be."""


class StoreError(FallbackError):
    """The folder of results cannot be read, or not be written to."""
