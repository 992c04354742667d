"""What stands behind the adapter in unit tests: one model that is written down."""

from __future__ import annotations

from typing import Any

from fallback.backend import ModelInfo
from fallback.testing import ScriptedBackend


class Scripted:
    """The part of an upstream that generates, and where it was asked."""

    def __init__(self, *replies: Any, **more: Any) -> None:
        self.model = ScriptedBackend(replies, **more)
        self.endpoints: list[str] = []

    async def describe(self, model: str) -> ModelInfo:
        return await self.model.adescribe(model)

    async def backend(self, endpoint: str) -> ScriptedBackend:
        self.endpoints.append(endpoint)
        return self.model

    async def aclose(self) -> None:
        pass
