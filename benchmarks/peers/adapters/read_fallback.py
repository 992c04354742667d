"""fallback: this project."""

from __future__ import annotations

from protocol import Calls, Reply, serve

from fallback import parse


def read(reply: Reply) -> Calls:
    reading = parse(
        reply["text"],
        reply["tools"],
        finish_reason=reply.get("finish_reason", "stop"),
        tool_choice=reply.get("tool_choice", "auto"),
        reasoning_open=reply.get("reasoning_open", False),
    )
    return [(call.name, call.arguments) for call in reading.calls]


if __name__ == "__main__":
    serve(read)
