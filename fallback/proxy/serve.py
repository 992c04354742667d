"""The server as a process, or several: sockets, signals, logs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from fallback.errors import ConfigurationError
from fallback.proxy.app import App, create_app
from fallback.proxy.config import load_settings
from fallback.proxy.gateway import Gateway
from fallback.proxy.observe import JsonLines
from fallback.proxy.settings import Settings

__all__ = ["run", "worker_app"]

_log = logging.getLogger("fallback.proxy")
_READY_SECONDS = 30
"""For a process to start, on a busy machine too: one that does not answer so long is replaced."""


def run(settings: Settings, *, on_start: Callable[[str], None] | None = None) -> None:
    """Serve until told to stop; answers under way are given time to end.

    Args:
        settings: as :func:`fallback.proxy.config.load_settings` gave them: worker processes, and
            SIGHUP, read them again from the same places.
        on_start: told the URL once the port is open.

    Raises:
        ConfigurationError: the settings do not fit together, or the port cannot be opened.
    """
    settings.refuse_exposure()
    Gateway(settings)  # says now, and once, what is wrong with the keys or the upstream
    with _listening(settings) as listener:
        if on_start is not None:
            shown = f"[{settings.host}]" if ":" in settings.host else settings.host
            on_start(f"http://{shown}:{listener.getsockname()[1]}")
        if settings.workers > 1:
            _run_workers(settings, listener)
        else:
            _run_here(settings, listener)


@contextlib.contextmanager
def _listening(settings: Settings) -> Any:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = (settings.host, settings.port)
    try:
        listener = socket.create_server(address, family=family, backlog=2048)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}; choose"
            " another --port"
        ) from error
    with listener:
        yield listener


def worker_app() -> App:
    """The application of one process: logs, spans and SIGHUP are its own."""
    settings = load_settings()
    _log_to_stderr(settings)
    if settings.traces:
        _export_spans()
    gateway = Gateway(settings)
    return create_app(gateway=gateway, on_start=lambda: _hear_signal(gateway))


def _hear_signal(gateway: Gateway) -> None:
    with contextlib.suppress(NotImplementedError):  # Windows has no SIGHUP
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload, gateway)


def _reload(gateway: Gateway) -> None:
    try:
        gateway.reload(load_settings())
    except ConfigurationError as error:
        _log.error("not reloaded", extra={"fields": {"why": str(error)}})
    else:
        _log.info("reloaded")


def _config(settings: Settings) -> Any:
    import uvicorn

    return uvicorn.Config(
        "fallback.proxy.serve:worker_app",
        factory=True,
        http="fallback.proxy.protocol:TimedProtocol",
        workers=settings.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_worker_healthcheck=_READY_SECONDS,
        timeout_graceful_shutdown=max(int(settings.drain_seconds), 1),
    )


def _run_here(settings: Settings, listener: socket.socket) -> None:
    import uvicorn

    # uvicorn passes its signal on when it has shut down in good order; that is then no failure.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(_config(settings)).run(sockets=[listener])


def _run_workers(settings: Settings, listener: socket.socket) -> None:
    from uvicorn.supervisors import Multiprocess

    class Supervisor(Multiprocess):
        """On SIGHUP every process reads its keys again, at once: replaced one after the other, as
        uvicorn does it, the last would take a withdrawn key until the answers of all others have
        ended.
        """

        def handle_hup(self) -> None:
            for process in self.processes:
                ready = process.wait_until_ready(_READY_SECONDS, self.should_exit)
                if ready and process.pid is not None:  # one that is not has yet to read them
                    os.kill(process.pid, signal.SIGHUP)

    with tempfile.TemporaryDirectory(prefix="fallback-metrics-") as folder:
        # The figures of all processes are added up from files in this folder.
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", folder)
        config = _config(settings)
        with contextlib.suppress(KeyboardInterrupt):
            Supervisor(config, sockets=[listener]).run()


def _log_to_stderr(settings: Settings) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("fallback", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(settings.log_level.upper())
    logging.getLogger("uvicorn.error").setLevel("WARNING")


def _export_spans() -> None:
    """Send spans where the ``OTEL_*`` variables say."""
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigurationError(
            "traces need more packages; run `pip install 'toolcall-fallback[otel]'`"
        ) from error
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
