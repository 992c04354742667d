"""A backend in front of another, which somebody listens at."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from fallback.backend import Backend, Chunk, GenerationRequest, ModelInfo, Scores
from fallback.session.drive import scorer

__all__ = ["Through"]


class Through:
    """Passes everything on; who makes more of it says so in a method of the same name."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def describe(self, model: str) -> ModelInfo:
        """See :meth:`fallback.backend.Backend.describe`."""
        return self._backend.describe(model)

    def stream(self, request: GenerationRequest) -> Generator[Chunk]:
        """See :meth:`fallback.backend.Backend.stream`."""
        chunks = self._backend.stream(request)
        try:
            yield from chunks
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()

    def score(
        self, request: GenerationRequest, values: Sequence[str], *, whole: bool = False
    ) -> Scores:
        """See :meth:`fallback.backend.Scorer.score`."""
        scores: Scores = scorer(self._backend, "score").score(request, values, whole=whole)
        return scores

    def close(self) -> None:
        """See :meth:`fallback.backend.Backend.close`."""
        self._backend.close()
