"""Laws of the transports: bytes pass unchanged in any pieces, and secrets go to one server only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fallback
from fallback.proxy.inside import split

SEGMENT = st.text("abcpiv1", min_size=1, max_size=6).filter(lambda s: s not in ("v1", "api"))
PATHS = st.sampled_from(["/api/embed", "/v1/embeddings", "/api/pull", "/elsewhere"])


class Echo(httpx.AsyncBaseTransport):
    """A network whose every server gives back what it is sent, and keeps it."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        self.requests.append(request)
        return httpx.Response(200, stream=httpx.ByteStream(body))


@pytest.fixture(scope="module")
def transport() -> Iterator[fallback.Transport]:
    with fallback.Transport(network=Echo()) as opened:
        yield opened


@given(pieces=st.lists(st.binary(max_size=40), max_size=6), path=PATHS)
def test_bodies_in_any_pieces_pass_both_ways_as_they_are(
    transport: fallback.Transport, pieces: list[bytes], path: str
) -> None:
    request = httpx.Request("POST", f"http://ollama.test{path}", content=iter(pieces))
    assert transport.handle_request(request).read() == b"".join(pieces)


@given(prefix=st.lists(SEGMENT, max_size=3), mark=st.sampled_from(["/api/", "/v1/"]), rest=SEGMENT)
def test_what_stands_before_the_api_is_the_server_s_address(
    prefix: list[str], mark: str, rest: str
) -> None:
    head = "".join(f"/{segment}" for segment in prefix)
    assert split(f"{head}{mark}{rest}") == (head, f"{mark}{rest}")
    assert "".join(split(head)) == head


@given(
    prefix=st.lists(SEGMENT, max_size=2),
    mark=st.sampled_from(["/api/", "/v1/"]),
    rest=st.text("aZ9é %:?#&=+", min_size=1, max_size=8),
    query=st.sampled_from(["", "?a=1&b=%20c"]),
    library=st.sampled_from([httpx, httpx2]),
)
def test_what_passes_through_goes_where_the_client_would_have_gone(
    prefix: list[str], mark: str, rest: str, query: str, library: Any
) -> None:
    head = "".join(f"/{segment}" for segment in prefix)
    url = library.URL(f"https://models.test{head}{mark}x/{quote(rest, safe='')}{query}")
    network = Echo()
    with library.Client(transport=fallback.Transport(network=network)) as client:
        assert client.put(url, content=b"x").content == b"x"
    sent = network.requests[-1].url
    assert (sent.path, sent.query, sent.host) == (url.path, url.query, url.host)


NAMES = st.sampled_from(["authorization", "x-api-key", "api-key", "cookie", "x-mine", "proxy-auth"])


@given(
    path=PATHS,
    headers=st.dictionaries(NAMES, st.sampled_from(["s3cret-a", "s3cret-b"]), min_size=1),
    asked=st.sampled_from(["http://a.test", "https://b.test", "http://b.test:81", "http://b.test"]),
    library=st.sampled_from([httpx, httpx2]),
)
def test_no_secret_reaches_a_server_that_was_not_addressed(
    path: str, headers: dict[str, str], asked: str, library: Any
) -> None:
    network = Echo()

    async def ask() -> None:
        transport = fallback.AsyncTransport(upstream="http://b.test:80", network=network)
        async with library.AsyncClient(transport=transport) as client:
            await client.post(asked + path, json={}, headers=headers)

    asyncio.run(ask())
    sent = network.requests[-1].headers
    told = {name: sent[name] for name in headers if name in sent}
    assert told == (headers if asked == "http://b.test" else {})
