"""What a backend remembers about its server and the models there. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from dataclasses import replace

from fallback.backend import GenerationRequest
from fallback.errors import ConfigurationError
from fallback.limits import Limits
from fallback.ollama.exchange import Answer
from fallback.ollama.plan import Way
from fallback.ollama.profile import Profile

__all__ = ["Memory"]

_KNOWS_TRUNCATE = (0, 12, 6)
_BUILT_AT_HOME = (0, 0, 0)


class Memory:
    """Everything but the profile itself is kept under a model's name *and* digest."""

    def __init__(self) -> None:
        self.version: tuple[int, ...] | None = None
        self._profiles: dict[str, Profile] = {}
        self._without_tools: set[tuple[str, str]] = set()
        self._windows: dict[tuple[str, str], int] = {}
        self._ways: dict[tuple[str, str, Hashable], Way] = {}

    def profile(self, model: str) -> Profile | None:
        """What is known of the model, its refusals included."""
        return self._profiles.get(model)

    def learn(self, profile: Profile) -> Profile:
        """Keep a profile that was just read; returns it with what was remembered before."""
        if _key(profile) in self._without_tools:
            profile = _without_tools(profile)
        self._profiles[profile.info.name] = profile
        return profile

    def refuse_tools(self, model: str) -> None:
        """The server has refused tools for this model, whatever it had said."""
        profile = self._profiles.get(model)
        if profile is not None:
            self._without_tools.add(_key(profile))
            self._profiles[model] = _without_tools(profile)

    def window(self, request: GenerationRequest, profile: Profile, limits: Limits) -> int:
        """The window in tokens: the one given, else that of last time, else what suits the model.

        Ollama reloads a model whenever the window changes, so one that was given stays.
        """
        key = _key(profile)
        given = request.num_ctx or request.options.get("num_ctx")
        if given is not None:
            if isinstance(given, bool) or not isinstance(given, int) or given < 1:
                raise ConfigurationError(f"num_ctx is a number of tokens, not {given!r}")
            self._windows[key] = given
            return given
        trained = profile.info.context_length or limits.num_ctx
        chosen = profile.num_ctx or min(trained, limits.num_ctx)
        return self._windows.setdefault(key, chosen)

    def way(self, profile: Profile, key: Hashable) -> Way | None:
        """How the model was asked before, under these circumstances."""
        return self._ways.get((*_key(profile), key))

    def keep_way(self, profile: Profile, key: Hashable, way: Way) -> Way:
        """Remember it, and return it."""
        self._ways[*_key(profile), key] = way
        return way

    def hear_version(self, answer: Answer) -> None:
        """Take in the answer of ``/api/version``; what is no version counts as a recent one."""
        try:
            text = str(json.loads(answer.body)["version"]) if answer.status == 200 else ""
        except (ValueError, RecursionError, KeyError, TypeError):
            text = ""
        found = re.match(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", text)
        self.version = tuple(map(int, found.groups())) if found else _BUILT_AT_HOME

    @property
    def cuts_silently(self) -> bool:
        """Whether the server is older than ``truncate``."""
        version = self.version or _BUILT_AT_HOME
        return _BUILT_AT_HOME < version < _KNOWS_TRUNCATE


def _key(profile: Profile) -> tuple[str, str]:
    return profile.info.name, profile.info.digest


def _without_tools(profile: Profile) -> Profile:
    capabilities = (profile.info.capabilities or frozenset({"completion"})) - {"tools"}
    return replace(profile, info=replace(profile.info, capabilities=capabilities))
