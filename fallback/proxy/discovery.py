"""What models there are and what they can do, with the tools that they get from us.

Many clients hide a model whose ``capabilities`` lack ``tools``, and nothing else that we do would
matter then. Everything that the upstream says stays as it is; only that word is added.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from fallback.errors import BackendError, FallbackError
from fallback.proxy.content import array, obj, text_of
from fallback.proxy.upstream import Upstream

__all__ = ["Discovery", "with_aliases", "with_tools"]

_FRESH_SECONDS = 2.0
"""Some clients ask again before every turn, or watch a list during one."""
_CHANGES = frozenset({"/api/pull", "/api/create", "/api/delete", "/api/copy", "/api/push"})


def with_tools(capabilities: Any) -> list[Any]:
    """The capabilities of a model, with ``tools`` if it writes text; always a list."""
    if not isinstance(capabilities, list) or not capabilities:
        return ["completion", "tools"]
    if "completion" not in capabilities or "tools" in capabilities:
        return list(capabilities)
    return [*capabilities, "tools"]


def with_aliases(listing: Mapping[str, Any]) -> dict[str, Any]:
    """A list of models in which each ``name:latest`` also stands as ``name``."""
    models = [obj(model) for model in array(listing.get("models"))]
    names = {text_of(model.get("name")) for model in models}
    for model in tuple(models):
        short = text_of(model.get("name")).removesuffix(":latest")
        if short not in names:
            models.append({**model, "name": short, "model": short})
    return {**listing, "models": models}


class Discovery:
    """Answers questions about models."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._listed: tuple[float, dict[str, Any]] | None = None
        self._listing = asyncio.Lock()

    def changed(self, path: str) -> None:
        """A request that may change the list has gone to the upstream."""
        if path in _CHANGES:
            self._listed = None

    async def tags(self) -> dict[str, Any]:
        """``/api/tags``.

        Raises:
            BackendError: the upstream does not answer.
        """
        async with self._listing:
            if self._listed is None or time.monotonic() - self._listed[0] > _FRESH_SECONDS:
                self._listed = (time.monotonic(), await self._list())
            return self._listed[1]

    async def _list(self) -> dict[str, Any]:
        if await self._upstream.kind() == "openai":
            listing = obj(await self._upstream.json("GET", "/v1/models"))
            names = [text_of(obj(entry).get("id")) for entry in array(listing.get("data"))]
            return {"models": [_entry(name) for name in names if name]}
        listing = obj(await self._upstream.json("GET", "/api/tags"))
        models = [dict(obj(model)) for model in array(listing.get("models"))]
        await asyncio.gather(*(self._complete(model) for model in models))
        return {**listing, "models": models}

    async def _complete(self, model: dict[str, Any]) -> None:
        """Servers before 0.30 do not list capabilities; they are asked for each model."""
        capabilities = model.get("capabilities")
        if not isinstance(capabilities, list):
            try:
                info = await self._upstream.describe(text_of(model.get("name")))
                capabilities = sorted(info.capabilities or ())
            except BackendError:
                capabilities = []
        model["capabilities"] = with_tools(capabilities)

    def shown(self, answer: Any, num_ctx: int | None) -> dict[str, Any]:
        """``/api/show`` of a model.

        Args:
            answer: of the upstream.
            num_ctx: the window that it is always given, in tokens; clients size their prompts by
                what they are told.
        """
        told = dict(obj(answer))
        told["capabilities"] = with_tools(told.get("capabilities"))
        info = obj(told.get("model_info"))
        if num_ctx is not None and info:
            told["model_info"] = {
                key: min(value, num_ctx) if _is_window(key, value) else value
                for key, value in info.items()
            }
        return told

    async def models(self) -> dict[str, Any]:
        """``/v1/models``; never without its list."""
        try:
            listing = obj(await self._upstream.json("GET", "/v1/models"))
        except FallbackError:
            tags = await self.tags()
            return {"object": "list", "data": [_model(m) for m in tags["models"]]}
        return {"object": "list", **listing, "data": array(listing.get("data"))}

    def made_up_show(self, model: str) -> Mapping[str, Any]:
        """``/api/show`` for an upstream that has no such thing."""
        entry = _entry(model)
        return {
            "modelfile": "",
            "parameters": "",
            "template": "{{ .Prompt }}",
            "details": entry["details"],
            "model_info": {"general.architecture": "unknown", "general.basename": model},
            "capabilities": entry["capabilities"],
            "modified_at": entry["modified_at"],
        }


def _is_window(key: str, value: Any) -> bool:
    return key.endswith(".context_length") and isinstance(value, int)


def _entry(name: str) -> dict[str, Any]:
    """A model of a server that knows only names, as strict clients want to read it."""
    details = {
        "parent_model": "",
        "format": "",
        "family": "",
        "families": None,
        "parameter_size": "",
        "quantization_level": "",
    }
    return {
        "name": name,
        "model": name,
        "modified_at": "1970-01-01T00:00:00Z",
        "size": 0,
        "digest": "",
        "details": details,
        "capabilities": ["completion", "tools"],
    }


def _model(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": entry.get("name"), "object": "model", "created": 0, "owned_by": "library"}
