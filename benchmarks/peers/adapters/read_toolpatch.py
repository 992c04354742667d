"""toolpatch: calls that leaked into the content; a last tag may stay open."""

from __future__ import annotations

from protocol import Calls, Reply, functions, serve
from toolpatch import extract_tool_calls  # type: ignore[import-not-found]  # in its own environment


def read(reply: Reply) -> Calls:
    names = {function["name"] for function in functions(reply)}
    found = extract_tool_calls(reply["text"], names, allow_unterminated_hermes=True)
    calls = found.tool_calls if found else []
    return [(call["function"]["name"], call["function"]["arguments"]) for call in calls]


if __name__ == "__main__":
    serve(read)
