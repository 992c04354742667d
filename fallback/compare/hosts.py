"""The model servers of a comparison, each with one backend for each endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from fallback.backend import Backend, ModelInfo
from fallback.compare.remembering import Remembering
from fallback.compare.units import Unit
from fallback.errors import BackendError, ConfigurationError
from fallback.hosts import EMBEDDED, connect, resolve_host, without_login
from fallback.ways import Endpoint

__all__ = ["Host", "describe", "hosts_of", "same_everywhere", "server_version"]


@dataclass(frozen=True, slots=True)
class Host:
    """A model server; used by one thread at a time. ``close`` gives back what it took."""

    url: str
    backends: Mapping[Endpoint, Backend]
    close: Callable[[], None]

    @property
    def where(self) -> str:
        """The server, for people to read."""
        return without_login(self.url)

    def backend(self, unit: Unit) -> Backend:
        """The backend that goes the unit's way."""
        return self.backends[unit.way.endpoint]


@contextmanager
def hosts_of(urls: Sequence[str]) -> Iterator[tuple[Host, ...]]:
    """Connect to hosts: URLs, ``embedded``, or none to look for one. Nothing is asked of them yet.

    Raises:
        ConfigurationError, BackendConnectionError: as :func:`fallback.hosts.resolve_host`.
    """
    resolved = dict.fromkeys(resolve_host(url).url for url in (urls or (None,)))
    made: list[Host] = []
    try:
        made += [_embedded() if url == EMBEDDED else _remote(url) for url in resolved]
        yield tuple(made)
    finally:
        for host in made:
            host.close()


def _remote(url: str) -> Host:
    generate, chat = connect(url, endpoint="generate"), connect(url, endpoint="chat")

    def close() -> None:
        generate.close()
        chat.close()

    return Host(url, {"generate": generate, "chat": Remembering(chat)}, close)


def _embedded() -> Host:
    """Both endpoints share one engine, so that a model is in memory once."""
    import httpx

    from fallback.engine.core import Engine
    from fallback.engine.transport import EngineTransport
    from fallback.ollama import OllamaBackend

    engine = Engine()
    client = httpx.Client(transport=EngineTransport(engine))

    def close() -> None:
        client.close()
        engine.close()

    backends: dict[Endpoint, Backend] = {
        "generate": OllamaBackend(EMBEDDED, endpoint="generate", client=client),
        "chat": Remembering(OllamaBackend(EMBEDDED, endpoint="chat", client=client)),
    }
    return Host(EMBEDDED, backends, close)


def server_version(host: Host) -> str:
    """The version that a server tells of itself; empty if it does not."""
    ask = getattr(host.backends["generate"], "version", None)
    try:
        return str(ask()) if callable(ask) else ""
    except BackendError:
        return ""


def describe(hosts: Sequence[Host], models: Iterable[str]) -> dict[str, ModelInfo]:
    """What the hosts say about the models; all have to say the same.

    Raises:
        ConfigurationError: a model is not the same everywhere.
        BackendError: a host is not there, or does not have a model.
    """
    by_url = {host.url: host for host in hosts}

    def ask(url: str, model: str) -> ModelInfo:
        return by_url[url].backends["generate"].describe(model)

    return same_everywhere([host.url for host in hosts], models, ask)


def same_everywhere(
    urls: Sequence[str], models: Iterable[str], ask: Callable[[str, str], ModelInfo]
) -> dict[str, ModelInfo]:
    """What ``ask`` says of each model at each host; all have to say the same.

    Raises:
        ConfigurationError: a model is not the same everywhere.
    """
    infos: dict[str, ModelInfo] = {}
    for model in models:
        for url in urls:
            info = ask(url, model)
            first = infos.setdefault(model, info)
            if first.digest != info.digest:
                one, other = without_login(urls[0]), without_login(url)
                raise ConfigurationError(
                    f"{model!r} is not the same model at {one} and at {other}"
                    f" (digests {first.digest[:12]} and {info.digest[:12]}); pull it again on one"
                )
    return infos
