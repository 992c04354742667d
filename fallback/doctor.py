"""What is installed, which server answers, what its models can do, and what to do about trouble."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata

from fallback.backend import ModelInfo
from fallback.errors import BackendError, CapabilityError, FallbackError
from fallback.hosts import EMBEDDED, Address, connect, resolve_host
from fallback.limits import DEFAULT_LIMITS, Limits
from fallback.ollama import OllamaBackend
from fallback.profiles import Found, ProfileError, Profiles, WayEvidence, advice_of
from fallback.routing import choose

CORE = ("httpx", "jinja2", "jiter", "jsonschema-rs", "lark", "pydantic", "rich", "typer")
ENGINE = ("xllamacpp", "starlette", "uvicorn")


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that does not work, and what to do about it; ``error`` says of which kind it is."""

    what: str
    advice: str
    error: FallbackError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The model server that a command without ``--host`` would use.

    Attributes:
        where: for people to read, without what secret a URL may carry.
        why: why it was taken.
    """

    where: str
    why: str
    version: str
    embedded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReport:
    """The profile of a model.

    Attributes:
        path: the file.
        shipped: whether it came with the package.
        way: what was measured to be best; empty if the file cannot be read.
        trouble: why ``auto`` does not go by it; empty if it does.
        evidence: a sentence each: the way itself, and then each other one that was tried.
    """

    path: str
    shipped: bool
    way: str = ""
    trouble: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """One model of the server.

    Attributes:
        family: its chat format, if it is known; prompts are then written here, to the last byte.
        mode: what ``auto`` would choose, ``None`` for a model that does not write text; ``why`` so.
        window: tokens that would be asked for.
        trained: the largest window it was trained for, in tokens; ``None`` if the server is silent.
        live: the window it is loaded with now; ``None`` while it is not loaded.
        profile: what was measured of it, if anything was.
        note: something to know before choosing it.
    """

    name: str
    family: str | None
    capabilities: tuple[str, ...] | None
    mode: str | None
    why: str
    window: int
    trained: int | None
    live: int | None = None
    profile: ProfileReport | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that was found; ``serve`` holds the settings of ``fallback serve`` that are no
    defaults."""

    python: str
    system: str
    packages: Mapping[str, str | None]
    engine: bool
    models_here: tuple[str, ...]
    cache: str
    server: Server | None = None
    models: tuple[ModelReport, ...] = ()
    serve: Mapping[str, str] = field(default_factory=dict)
    troubles: tuple[Trouble, ...] = ()


def examine(
    host: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    limits: Limits = DEFAULT_LIMITS,
) -> Report:
    """Look at everything; never raises for what it finds.

    Args:
        host: as for ``--host``.
        environ: where ``OLLAMA_HOST`` is looked up.
        limits: the timeouts, and the window that is asked for.
    """
    from fallback.engine.store import Store, cache_dir

    troubles: list[Trouble] = []
    packages = {name: _version(name) for name in (*CORE, *ENGINE)}
    troubles += _missing(packages)
    profiles = _profiles(environ, troubles)
    server, models = _look(host, environ, limits, profiles, troubles)
    return Report(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        packages=packages,
        engine=packages["xllamacpp"] is not None,
        models_here=tuple(model.name for model in Store().models()),
        cache=str(cache_dir(environ)),
        server=server,
        models=models,
        serve=_serve(environ, troubles),
        troubles=tuple(troubles),
    )


def _serve(environ: Mapping[str, str], troubles: list[Trouble]) -> dict[str, str]:
    from fallback.proxy.config import load_settings, told

    try:
        settings = load_settings(environ=environ)
        settings.refuse_exposure()
    except FallbackError as error:
        troubles.append(_trouble("settings of fallback serve", error))
        return {}
    return told(settings)


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _profiles(environ: Mapping[str, str], troubles: list[Trouble]) -> Profiles:
    try:
        return Profiles.of(environ.get("FALLBACK_PROFILE") or "auto")
    except ProfileError as error:
        troubles.append(_trouble("the profile of FALLBACK_PROFILE", error))
        return Profiles()


def _missing(packages: Mapping[str, str | None]) -> list[Trouble]:
    gone = [name for name in CORE if packages[name] is None]
    if not gone:
        return []
    return [Trouble(f"not installed: {', '.join(gone)}", "pip install toolcall-fallback")]


def _look(
    host: str | None,
    environ: Mapping[str, str],
    limits: Limits,
    profiles: Profiles,
    troubles: list[Trouble],
) -> tuple[Server | None, tuple[ModelReport, ...]]:
    """The server and its models; whatever fails is added to the troubles."""
    try:
        address = resolve_host(host, environ=environ, limits=limits)
        backend = connect(address.url, limits=limits, environ=environ)
    except FallbackError as error:
        troubles.append(_trouble("no model server", error))
        return None, ()
    try:
        server = _server(address, backend)
        models = _models(backend, limits, profiles, troubles)
    except FallbackError as error:
        troubles.append(_trouble(f"{backend.where} ({address.why})", error))
        return None, ()
    finally:
        backend.close()
    if not models:
        troubles.append(_no_models(server))
    return server, models


def _trouble(what: str, error: FallbackError) -> Trouble:
    return Trouble(what, str(error), error)


def _no_models(server: Server) -> Trouble:
    get = "fallback models pull" if server.embedded else "ollama pull gemma3"
    return Trouble(f"{server.where} has no model", f"get one: {get}")


def _server(address: Address, backend: OllamaBackend) -> Server:
    return Server(
        where=backend.where,
        why=address.why,
        version=backend.version(),
        embedded=address.url == EMBEDDED,
    )


def _models(
    backend: OllamaBackend, limits: Limits, profiles: Profiles, troubles: list[Trouble]
) -> tuple[ModelReport, ...]:
    live = _live_windows(backend)
    reports = []
    for listed in backend.tags():
        name = str(listed.get("name") or listed.get("model") or "")
        try:
            info = backend.describe(name)
            reports.append(_model(info, live.get(name), limits, profiles.find(info)))
        except BackendError as error:
            troubles.append(_trouble(f"model {name!r}", error))
    return tuple(reports)


def _live_windows(backend: OllamaBackend) -> dict[str, object]:
    """The windows of the loaded models; old servers and proxies do not tell."""
    try:
        return {str(m.get("name")): m.get("context_length") for m in backend.ps()}
    except BackendError:
        return {}


def _model(info: ModelInfo, live: object, limits: Limits, profile: Found | None) -> ModelReport:
    trained = info.context_length
    usable = profile is not None and not profile.trouble and profile.profile
    try:
        route = choose(info, "auto", advice_of(usable) if usable else None)
        mode, why = route.mode, route.why
    except CapabilityError as error:
        mode, why = None, str(error)
    note = ""
    if info.parser and mode == "native":
        note = f"the server's own parser ({info.parser}) may swallow calls; try --mode prompt"
    elif info.family is None and mode is not None:
        note = "chat format not known here; the server renders prompts with the model's template"
    return ModelReport(
        name=info.name,
        family=info.family,
        capabilities=None if info.capabilities is None else tuple(sorted(info.capabilities)),
        mode=mode,
        why=why,
        window=info.details.get("num_ctx") or min(trained or limits.num_ctx, limits.num_ctx),
        trained=trained,
        live=live if isinstance(live, int) else None,
        profile=None if profile is None else _profile(profile),
        note=note,
    )


def _profile(found: Found) -> ProfileReport:
    profile = found.profile
    if profile is None:
        return ProfileReport(path=str(found.path), shipped=found.shipped, trouble=found.trouble)
    seen = profile.evidence
    return ProfileReport(
        path=str(found.path),
        shipped=found.shipped,
        way=profile.way,
        trouble=found.trouble,
        evidence=(seen.sentence, *(f"{_seen(way)} {way.sentence}".strip() for way in seen.ways)),
    )


def _seen(way: WayEvidence) -> str:
    return f"{way.name}: {way.rate:.0%} of {way.n} ({way.low:.0%} to {way.high:.0%})"
