"""unswallow: calls that a server left in the content of a message."""

from __future__ import annotations

from protocol import Calls, Reply, serve
from unswallow import check_message  # type: ignore[import-not-found]  # in its own environment


def read(reply: Reply) -> Calls:
    found = check_message({"content": reply["text"]}, tool_schemas=reply["tools"])
    if not found.recovered:
        return []
    return [(call.name, call.arguments) for call in found.tool_calls]


if __name__ == "__main__":
    serve(read)
