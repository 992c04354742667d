"""Who may ask, how much, and how many at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fallback.errors import ConfigurationError
from fallback.proxy.ask import Refused
from fallback.proxy.gate import Gate
from fallback.proxy.guard import Guard, shared_headers
from fallback.proxy.http import Incoming, read_json
from fallback.proxy.keys import Keys
from fallback.proxy.settings import Settings

KEY = "a-long-enough-key"


def request(path: str = "/v1/models", method: str = "GET", **headers: str) -> Incoming:
    told = {"host": "127.0.0.1:11435", **headers}
    pairs = tuple((name.replace("_", "-"), value) for name, value in told.items())
    return Incoming(method, path, pairs)


def status(settings: Settings, incoming: Incoming) -> int:
    try:
        Guard(settings).admit(incoming)
    except Refused as refused:
        return refused.failure.status
    return 200


def test_a_key_is_asked_for_on_every_path_but_those_that_tell_nothing() -> None:
    settings = Settings(api_keys=(KEY,))
    assert status(settings, request()) == 401
    assert status(settings, request("/metrics")) == 401
    assert status(settings, request("/api/delete", "DELETE")) == 401
    assert status(settings, request(authorization="Bearer wrong-but-long")) == 401
    assert status(settings, request(authorization=f"Basic {KEY}")) == 401
    assert status(settings, request("/healthz")) == 200
    assert status(settings, request("/readyz")) == 200


def test_a_key_is_taken_as_any_wire_carries_it_and_names_its_client(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# ours\nalice: {KEY}\n\n{KEY}-2  # bob\n", encoding="utf-8")
    guard = Guard(Settings(api_keys_file=str(path)))
    assert guard.admit(request(authorization=f"Bearer {KEY}")).client == "alice"
    assert guard.admit(request(authorization=f"bearer  {KEY}")).client == "alice"
    assert guard.admit(request(x_api_key=f"{KEY}-2")).client == "line4"


@pytest.mark.parametrize("text", ["", "# nothing\n", "short", "name: short"])
def test_keys_that_are_none_are_refused_when_the_server_starts(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError):
        Keys((), str(path))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Keys((), str(tmp_path / "missing"))


@pytest.mark.parametrize("host", ["evil.example", "evil.example:11435", "8.8.8.8"])
def test_a_name_that_suddenly_resolves_here_is_not_answered(host: str) -> None:
    assert status(Settings(), request(host=host)) == 403
    assert status(Settings(allowed_hosts=(host,)), request(host=host)) == 200


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:11435", ""])
def test_this_machine_s_names_are_answered(host: str) -> None:
    assert status(Settings(), request(host=host)) == 200


def test_foreign_pages_are_not_answered_and_allowed_ones_can_read_it() -> None:
    page = "https://page.example"
    assert status(Settings(), request(origin=page)) == 403
    allowed = Settings(allowed_origins=(page,))
    assert status(allowed, request(origin=page)) == 200
    assert status(Settings(), request(origin="http://localhost:3000")) == 200
    shared = dict(shared_headers(request(origin=page, method="OPTIONS")))
    assert shared["access-control-allow-origin"] == page
    assert "access-control-allow-methods" in shared
    assert shared_headers(request()) == []


def test_headers_are_limited() -> None:
    assert status(Settings(max_headers=1000), request(x_long="a" * 1000)) == 431


def read(data: bytes, limit: int = 1000) -> Any:
    async def pieces() -> AsyncIterator[bytes]:
        for i in range(0, len(data), 100):
            yield data[i : i + 100]

    return asyncio.run(read_json(Incoming("POST", "/", body=pieces()), limit))[0]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"{", 400),
        (b'{"a": ' + b"9" * 300 + b"}", 200),
        (b'{"a": "' + b"x" * 2000 + b'"}', 413),
        (b'{"a": NaN, "b": "\xff"}', 200),
        (b'{"a":' * 400 + b"1" + b"}" * 400, 413),
    ],
)
def test_a_body_is_an_object_of_a_reasonable_size(data: bytes, status: int) -> None:
    if status == 200:
        assert isinstance(read(data), dict)
        return
    with pytest.raises(Refused) as refused:
        read(data)
    assert refused.value.failure.status == status


@pytest.mark.parametrize("depth", [250, 100_000])
def test_a_body_is_not_too_deep(depth: int) -> None:
    with pytest.raises(Refused, match="deep"):
        read(b'{"a":' * depth + b"1" + b"}" * depth, 10_000_000)
    assert read(json.dumps({"a": [[[1]]]}).encode()) == {"a": [[[1]]]}


def test_each_client_has_its_own_places_and_its_own_queue() -> None:
    async def run() -> list[str]:
        gate, order = Gate(concurrent=1, queue=1), list[str]()
        release = asyncio.Event()

        async def hold(client: str, name: str) -> None:
            async with gate.slot(client):
                order.append(name)
                await release.wait()

        first = asyncio.create_task(hold("a", "first"))
        await asyncio.sleep(0)
        second = asyncio.create_task(hold("a", "second"))
        other = asyncio.create_task(hold("b", "other"))
        await asyncio.sleep(0)
        with pytest.raises(Refused) as refused:
            await hold("a", "third")
        assert refused.value.failure.status == 429
        assert refused.value.failure.retry_after
        assert order == ["first", "other"]
        assert gate.running == 2
        release.set()
        await asyncio.gather(first, second, other)
        assert gate.running == 0
        return order

    assert asyncio.run(run()) == ["first", "other", "second"]


def test_who_stops_waiting_leaves_no_gap() -> None:
    async def run() -> None:
        gate = Gate(concurrent=1, queue=5)
        release = asyncio.Event()

        async def hold() -> None:
            async with gate.slot("a"):
                await release.wait()

        tasks = [asyncio.create_task(hold()) for _ in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[0].cancel()  # its place goes to the third, which is cancelled in the same moment
        tasks[2].cancel()
        await asyncio.gather(*tasks[:3], return_exceptions=True)
        release.set()
        await tasks[3]
        assert gate.running == 0

    asyncio.run(run())
