"""The error of a reader that would have to guess."""

from __future__ import annotations


class MalformedError(ValueError):
    """The frame cannot be read without guessing.

    Attributes:
        key: the key or parameter under which it happened, if any.
        expression: whether it is Python that would have to be evaluated.
        offset: where, counted in the text that was given.
        truncated: whether the text just stops inside a string.
    """

    def __init__(
        self,
        message: str,
        *,
        key: str = "",
        offset: int = 0,
        expression: bool = False,
        truncated: bool = False,
    ) -> None:
        super().__init__(message)
        self.key, self.offset = key, offset
        self.expression, self.truncated = expression, truncated
