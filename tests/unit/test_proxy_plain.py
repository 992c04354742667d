"""The plain client of the upstream, against servers that say exactly what is written here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import httpx
import pytest

from fallback.proxy.upstream.plain import PlainClient, plain_client

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
Seconds = tuple[float, float, float, float]
PATIENT: Seconds = (60.0, 60.0, 60.0, 60.0)
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"6\r\nline 1\r\n7\r\n\nline 2\r\n0\r\n\r\n"
)


class Server:
    """Answers each request with the same bytes, or as ``talk`` says."""

    def __init__(self, *answers: bytes, pieces: int = 0, close: bool = False) -> None:
        self._answers, self._pieces, self._close = answers, pieces, close
        self.requests: list[bytes] = []
        self.connections = 0
        self.left = asyncio.Event()
        self.go_on = asyncio.Event()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
                self.requests.append(head + await reader.readexactly(size))
                for number, answer in enumerate(self._answers):
                    if number:
                        await self.go_on.wait()
                    step = self._pieces or max(len(answer), 1)
                    for start in range(0, len(answer), step):
                        writer.write(answer[start : start + step])
                        await writer.drain()
                if self._close:
                    break
        self.left.set()
        writer.close()


@contextlib.asynccontextmanager
async def reached(server: Server, most: int = 4) -> AsyncIterator[PlainClient]:
    listening = await asyncio.start_server(server.talk, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    client = PlainClient("127.0.0.1", port, headers={"X-Key": "k"}, most=most)
    try:
        yield client
    finally:
        await client.aclose()
        listening.close()


async def asked(client: PlainClient, within: Seconds = PATIENT) -> tuple[int, bytes]:
    async with client.stream(
        "POST", "http://x/api/chat?a=1", content=b"{}", headers={"A": "b"}, timeout=within
    ) as response:
        return response.status_code, b"".join([piece async for piece in response.aiter_bytes()])


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 60))


def test_a_request_says_what_it_was_told_and_its_connection_is_used_again() -> None:
    async def test() -> None:
        server = Server(HELLO)
        async with reached(server) as client:
            assert await asked(client) == (200, b"hello")
            assert await asked(client) == (200, b"hello")
        assert server.connections == 1
        head, _, body = server.requests[0].partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        assert lines[0] == b"POST /api/chat?a=1 HTTP/1.1"
        assert {b"X-Key: k", b"A: b", b"Content-Length: 2"} <= set(lines)
        assert body == b"{}"

    run(test())


@pytest.mark.parametrize("pieces", [1, 2, 7, 0])
def test_an_answer_in_any_pieces_is_the_same(pieces: int) -> None:
    async def test() -> None:
        async with reached(Server(CHUNKED, pieces=pieces)) as client:
            assert await asked(client) == (200, b"line 1\nline 2")

    run(test())


def test_an_interim_answer_does_not_count() -> None:
    async def test() -> None:
        async with reached(Server(b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" + HELLO)) as client:
            assert await asked(client) == (200, b"hello")

    run(test())


def test_a_body_without_a_length_ends_with_its_connection() -> None:
    async def test() -> None:
        server = Server(b"HTTP/1.1 200 OK\r\n\r\nto the end", close=True)
        async with reached(server) as client:
            assert await asked(client) == (200, b"to the end")
            assert await asked(client) == (200, b"to the end")
        assert server.connections == 2

    run(test())


def test_more_than_was_asked_for_is_not_taken_for_the_next_answer() -> None:
    async def test() -> None:
        server = Server(HELLO + b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
        async with reached(server) as client:
            assert await asked(client) == (200, b"hello")
            assert await asked(client) == (200, b"hello")
        assert server.connections == 2

    run(test())


def test_what_came_before_the_connection_broke_is_given_first() -> None:
    async def test() -> None:
        async with (
            reached(Server(CHUNKED[:60], close=True)) as client,
            client.stream("GET", "http://x/", timeout=PATIENT) as response,
        ):
            pieces = response.aiter_bytes()
            assert await anext(pieces) == b"line 1"
            with pytest.raises(httpx.RemoteProtocolError):
                await anext(pieces)

    run(test())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", httpx.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000, httpx.RemoteProtocolError),
        (
            b"HTTP/1.1 101 Now\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            httpx.RemoteProtocolError,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nx", httpx.DecodingError),
        (b"", httpx.ReadTimeout),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", httpx.ReadTimeout),
    ],
)
def test_what_is_no_answer_is_an_error_of_httpx(answer: bytes, error: type[Exception]) -> None:
    async def test() -> None:
        server = Server(answer)
        async with reached(server) as client:
            with pytest.raises(error):
                await asked(
                    client, (60.0, 0.05 if error is httpx.ReadTimeout else 60.0, 60.0, 60.0)
                )
            await server.left.wait()  # the connection is not kept

    run(test())


def test_leaving_an_answer_ends_it_at_the_server() -> None:
    async def test() -> None:
        server = Server(CHUNKED[:60])
        async with reached(server) as client:
            async with client.stream("GET", "http://x/", timeout=PATIENT) as response:
                async for _ in response.aiter_bytes():
                    break
            await server.left.wait()

    run(test())


def test_an_end_that_comes_unheard_keeps_the_connection() -> None:
    async def test() -> None:
        server = Server(CHUNKED[:-5], CHUNKED[-5:])
        async with reached(server) as client:
            async with client.stream("GET", "http://x/", timeout=PATIENT) as response:
                async for _ in response.aiter_bytes():
                    response.let_finish(60.0)
                    break
            server.go_on.set()
            while not client.idle:  # noqa: ASYNC110 -- one round of the loop after another
                await asyncio.sleep(0)
            assert await asked(client) == (200, b"line 1\nline 2")
        assert server.connections == 1

    run(test())


def test_an_end_that_does_not_come_in_time_is_not_waited_for() -> None:
    async def test() -> None:
        server = Server(CHUNKED[:-5])
        async with reached(server) as client:
            async with client.stream("GET", "http://x/", timeout=PATIENT) as response:
                async for _ in response.aiter_bytes():
                    response.let_finish(0.01)
                    break
            await server.left.wait()

    run(test())


def test_a_server_that_sends_faster_than_it_is_heard_has_to_wait() -> None:
    async def test() -> None:
        size = 8_000_000
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size
        async with reached(Server(head + b"x" * size)) as client:
            pieces = []
            async with client.stream("GET", "http://x/", timeout=PATIENT) as response:
                async for piece in response.aiter_bytes():
                    pieces.append(len(piece))
                    for _ in range(20):
                        await asyncio.sleep(0)
        assert sum(pieces) == size
        assert max(pieces) < 1_000_000

    run(test())


def test_no_more_connections_are_made_than_allowed() -> None:
    async def test() -> None:
        async with (
            reached(Server(CHUNKED[:60]), most=1) as client,
            client.stream("GET", "http://x/", timeout=PATIENT),
        ):
            with pytest.raises(httpx.PoolTimeout):
                await asked(client, (60.0, 60.0, 60.0, 0.01))

    run(test())


def test_a_server_that_is_not_there_is_a_connect_error() -> None:
    async def test() -> None:
        client = PlainClient("127.0.0.1", 9, headers={}, most=1)
        for _ in range(2):  # the place is free again
            with pytest.raises(httpx.ConnectError):
                await asked(client)

    run(test())


@pytest.mark.parametrize(
    ("url", "proxy", "direct", "plain"),
    [
        ("http://127.0.0.1:11434", None, True, True),
        ("http://gpu.example:8000/ollama", None, False, True),
        ("http://gpu.example:8000", "http://proxy.example:3128", False, False),
        ("http://127.0.0.1:11434", "http://proxy.example:3128", True, True),
        ("https://gpu.example", None, False, False),
        ("http://user:secret@gpu.example", None, False, False),
    ],
)
def test_where_more_than_plain_http_is_needed_httpx_does_it(
    monkeypatch: pytest.MonkeyPatch, url: str, proxy: str | None, direct: bool, plain: bool
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    if proxy:
        monkeypatch.setenv("http_proxy", proxy)

    async def test() -> None:
        assert (plain_client(url, headers={}, most=1, direct=direct) is not None) is plain

    run(test())
