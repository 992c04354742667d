"""How each model is asked: what the operator has set, and for the rest what was measured of it."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import Any

from fallback.backend import ModelInfo
from fallback.errors import CapabilityError
from fallback.profiles import Profiles
from fallback.proxy.settings import ModelSettings, Settings
from fallback.routing import Advice, Route, choose

__all__ = ["Advisor", "model_key"]

_log = logging.getLogger("fallback.proxy")

_FRESH_SECONDS = 5.0
"""How long what was read of a profile is believed; a new calibration counts after that."""


class Advisor:
    """The settings and the route of each model.

    Args:
        settings: of the server.

    Raises:
        ProfileError: a profile that is named in them cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        every = (settings.default, *(own for _, own in settings.models))
        self._profiles = {own.profile: Profiles.of(own.profile) for own in every}
        self._known: dict[tuple[str, str, str | None], tuple[float, Advice | None]] = {}
        self._undecidable: set[str] = set()

    async def of(self, model: str, info: ModelInfo) -> tuple[ModelSettings, Route]:
        """How to ask a model.

        Args:
            model: its name, as the client has it.
            info: what the upstream says of it.

        Raises:
            CapabilityError: it does not write text.
        """
        settings = self.settings.for_model(model)
        if settings.decide and model_key(info) in self._undecidable:
            settings = replace(settings, decide=False)
        advice = await self._advice(settings, info) if settings.mode == "auto" else None
        route = choose(info, settings.mode, advice)
        return _filled(settings, route.advice), route

    async def _advice(self, settings: ModelSettings, info: ModelInfo) -> Advice | None:
        if not info.digest:
            return None  # it would not be recognised
        key = (settings.profile, model_key(info), info.family)
        known = self._known.get(key)
        if known is None or time.monotonic() - known[0] > _FRESH_SECONDS:
            found = await asyncio.to_thread(self._profiles[settings.profile].advice, info)
            known = self._known[key] = (time.monotonic(), found)
        found = known[1]
        if found is not None and found.decide is not None and model_key(info) in self._undecidable:
            found = found.otherwise
        if found is not None and found.dialect is not None and found.dialect.inline:
            return None  # a reply cannot go on behind results that only the client has
        return found

    def cannot_decide(self, info: ModelInfo, error: CapabilityError) -> None:
        """Remember, and say once, that this model is asked without from now on."""
        if model_key(info) not in self._undecidable:
            self._undecidable.add(model_key(info))
            _log.warning("%s is asked without deciding first: %s", info.name, error)


def model_key(info: ModelInfo) -> str:
    """What a model is known by: under one name there may be another tomorrow."""
    return f"{info.name}@{info.digest}"


def _filled(settings: ModelSettings, advice: Advice | None) -> ModelSettings:
    """The settings, with advice for what nobody has set."""
    if advice is None:
        return settings
    given: dict[str, Any] = {}
    for name in ("read_text", "think", "num_ctx"):
        if getattr(settings, name) is None:
            given[name] = getattr(advice, name)
    if settings.endpoint == "auto" and advice.endpoint is not None:
        given["endpoint"] = advice.endpoint
    if settings.dialect is None and advice.dialect is not None:
        given["dialect"] = advice.dialect.name
        if settings.example is None:
            given["example"] = advice.dialect.example
    return replace(settings, **given)
