"""tools4all: the parser behind its Ollama client."""

from __future__ import annotations

from protocol import Calls, Reply, serve
from tools4all.llm_parser import (  # type: ignore[import-not-found]  # in its own environment
    LLMResponseParser,
)


def read(reply: Reply) -> Calls:
    found = LLMResponseParser().parse(reply["text"]).tool_calls or []
    return [(call.function.name, call.function.arguments) for call in found]


if __name__ == "__main__":
    serve(read)
