"""A backend that does not ask the same thing twice: ``native+read`` begins as ``native`` does.

Both ways send the same first request, and at temperature 0 the same reply comes back, which on a
slow machine takes as long as everything else. So the reply to a request that is equal in every
word is given again, piece by piece, with the tokens and seconds that it took when it was made.
Nothing is kept of a reply that was broken off, that the sampler may write otherwise, or whose
server does not say how long it took.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace

from fallback.backend import Backend, Chunk, GenerationRequest
from fallback.session.through import Through

__all__ = ["Remembering"]

MOST = 64
"""Replies that are kept: more than a block of cases has, so that the next way finds them."""


class Remembering(Through):
    """A backend in front of another; used by one thread at a time, like a host."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._kept: OrderedDict[bytes, tuple[Chunk, ...]] = OrderedDict()

    def stream(self, request: GenerationRequest) -> Generator[Chunk]:
        """The reply, made or remembered; raises what the backend raises."""
        if request.options.get("temperature") != 0:
            yield from super().stream(request)
            return
        asked = _digest(request)
        if (known := self._kept.get(asked)) is not None:
            yield from known
            return
        heard: list[Chunk] = []
        with closing(super().stream(request)) as stream:
            for chunk in stream:
                heard.append(chunk)
                if chunk.done and chunk.usage is not None and chunk.usage.seconds:
                    self._keep(asked, heard)
                yield chunk

    def _keep(self, asked: bytes, heard: Sequence[Chunk]) -> None:
        self._kept[asked] = tuple(heard)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)


def _digest(request: GenerationRequest) -> bytes:
    """Hash of all that is sent; a catalogue alone does not say in ``repr`` what its tools are."""
    tools = [(tool.name, tool.description, tool.parameters) for tool in request.catalogue or ()]
    said = repr((replace(request, catalogue=None), tools))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()
