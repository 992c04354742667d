"""The guard guards."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest


def test_another_machine_cannot_be_reached() -> None:
    with socket.socket() as sock, pytest.raises(RuntimeError, match="stay on this machine"):
        sock.connect(("192.0.2.1", 80))


def test_a_name_is_not_looked_up() -> None:
    with pytest.raises(socket.gaierror):
        socket.create_connection(("example.invalid", 80))


def test_an_event_loop_is_guarded_too() -> None:
    async def reach() -> None:
        await asyncio.open_connection("192.0.2.1", 80)

    with pytest.raises(RuntimeError, match="stay on this machine"):
        asyncio.run(reach())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_can_be_reached(host: str) -> None:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = server.getsockname()[1]
        client = stack.enter_context(socket.create_connection((host, port)))
        assert client.getpeername()[1] == port
