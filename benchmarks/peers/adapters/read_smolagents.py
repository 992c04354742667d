"""smolagents: what its tool-calling agent does with a reply without native calls."""

from __future__ import annotations

from protocol import Calls, Reply, serve
from smolagents.models import (  # type: ignore[import-not-found]  # lives in its own environment
    get_tool_call_from_text,
)


def read(reply: Reply) -> Calls:
    call = get_tool_call_from_text(reply["text"], "name", "arguments").function
    return [(call.name, call.arguments)]


if __name__ == "__main__":
    serve(read)
