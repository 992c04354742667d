"""``fallback engine serve``: the embedded engine alone, for any client of Ollama's wire."""

from __future__ import annotations

import ipaddress
import socket

from fallback.cli.exits import ExitCode
from fallback.cli.output import complain
from fallback.errors import ConfigurationError, EngineError


def serve(host: str, port: int) -> ExitCode:
    """Serve until interrupted; prints the address, so that a port of 0 can be found out.

    Raises:
        EngineError: the server's own requirements are not installed.
        ConfigurationError: the address cannot be listened on.
    """
    try:
        import uvicorn

        from fallback.engine.serve import create_app
    except ModuleNotFoundError as error:
        raise EngineError(
            f"{error.name} is missing; install it with: pip install 'toolcall-fallback[embedded]'"
        ) from error
    from fallback.engine.core import Engine

    # Whoever can name files by their path can probe the file system, so only this machine may.
    alone = is_loopback(host)
    with listening(host, port) as sock, Engine(local_files=alone) as engine:
        if not alone:
            complain(f"{host} can be reached from other machines, and nothing asks for a password")
        config = uvicorn.Config(create_app(engine), log_level="warning", access_log=False)
        print(f"http://{address_of(sock)}", flush=True)  # noqa: T201  # read by scripts
        complain("the engine speaks Ollama's wire there; Ctrl-C stops it")
        try:
            uvicorn.Server(config).run(sockets=[sock])
        except KeyboardInterrupt:
            complain("stopped")
    return ExitCode.OK


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listening(host: str, port: int) -> socket.socket:
    """A socket that already listens, so that whoever reads the address can connect at once.

    Raises:
        ConfigurationError: the address is in use, or not one of this machine.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; choose another --port"
        ) from error


def address_of(sock: socket.socket) -> str:
    """``host:port`` as it stands in a URL."""
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
