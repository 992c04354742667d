"""Everything that is not ours to answer, passed on byte for byte in both directions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from urllib.parse import quote

from fallback.proxy.http import Incoming, Outgoing, json_reply
from fallback.proxy.upstream import Upstream

__all__ = ["relayed"]

# RFC 9110, section 7.6.1: these belong to one connection.
_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# ``Host`` and ``Origin`` are checked here; Ollama would refuse foreign ones with 403. Credentials
# are for us, unless it is said that they are for the upstream.
_OURS = frozenset({"host", "origin", "referer", "cookie", "expect"})
_CREDENTIALS = frozenset({"authorization", "x-api-key"})


async def relayed(
    upstream: Upstream,
    incoming: Incoming,
    *,
    credentials: bool = False,
    body: bytes | None = None,
) -> Outgoing:
    """The upstream's answer to a request.

    Args:
        upstream: where it goes.
        incoming: the request; its query goes along.
        credentials: whether its credentials are meant for the upstream.
        body: where it has been read already.

    Raises:
        BackendError: nobody answers.
    """
    headers = list(_passed_on(incoming.headers, credentials=credentials))
    if not any(name == "accept-encoding" for name, _ in headers):
        headers.append(("accept-encoding", "identity"))
    path = quote(incoming.path, safe="/:@!$&'()*+,;=~")
    if incoming.query:
        path += f"?{incoming.query}"
    sent = body if body is not None else _or_nothing(incoming)
    answer = await upstream.relay(incoming.method, path, headers, sent)
    if answer.status in (404, 405) and "json" not in answer.header("content-type"):
        await answer.aclose()
        return json_reply(answer.status, {"error": f"there is nothing at {incoming.path[:200]}"})
    kept = [(name, value) for name, value in answer.headers if name.lower() not in _HOP]
    return Outgoing(answer.status, kept, answer.pieces(), answer.aclose)


def _or_nothing(incoming: Incoming) -> bytes | AsyncIterator[bytes]:
    """The body as it comes; a request that says it has none must not be sent as if it had."""
    has_body = incoming.header("content-length") not in ("", "0") or bool(
        incoming.header("transfer-encoding")
    )
    return incoming.body if has_body and incoming.body is not None else b""


def _passed_on(
    headers: Iterable[tuple[str, str]], *, credentials: bool
) -> Iterable[tuple[str, str]]:
    dropped = _HOP | _OURS | (frozenset() if credentials else _CREDENTIALS)
    return ((name, value) for name, value in headers if name not in dropped)
