"""What every adapter speaks: a reply a line in, its calls a line out. Standard library only.

It runs inside the peer's own environment, so it imports nothing of the project. A line of input is
``{"id", "text", "tools"}``, the tools as OpenAI has them, and may carry what a server would know:
``finish_reason``, ``reasoning_open`` (the prompt itself opened the reasoning) and ``format`` (the
name of the model's way of writing calls). A line of output is ``{"id", "calls": [{"name",
"arguments"}]}`` or ``{"id", "error"}``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Reply = dict[str, Any]
Calls = Iterable[tuple[str, Any]]


def serve(read: Callable[[Reply], Calls]) -> None:
    """Answer every line of standard input; what the peer itself prints goes to standard error."""
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        out.write(json.dumps(answer(json.loads(line), read)) + "\n")
        out.flush()


def answer(reply: Reply, read: Callable[[Reply], Calls]) -> dict[str, Any]:
    """One line of output. A peer that raises has read nothing, and says why."""
    try:
        calls = [{"name": name, "arguments": decoded(value)} for name, value in read(reply)]
        json.dumps(calls)
    except (Exception, RecursionError) as error:  # noqa: BLE001 - whatever a peer raises is its answer
        return {"id": reply["id"], "error": f"{type(error).__name__}: {error}"[:300]}
    return {"id": reply["id"], "calls": calls}


def decoded(arguments: Any) -> Any:
    """Arguments that a peer hands over as JSON text, as OpenAI's wire has them, or as they are."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def functions(reply: Reply) -> list[dict[str, Any]]:
    """The bare functions of the tools."""
    return [tool["function"] for tool in reply["tools"]]


def call_objects(value: Any) -> Iterator[tuple[str, Any]]:
    """Calls in decoded JSON: ``name`` with ``arguments`` or ``parameters``, also nested or listed.

    For peers that decode JSON and leave it to the caller to see what is a call.
    """
    if isinstance(value, list):
        for item in value:
            yield from call_objects(item)
    elif isinstance(value, dict):
        inner = value.get("tool_calls", value.get("function"))
        if isinstance(inner, dict | list):
            yield from call_objects(inner)
        elif isinstance(value.get("name"), str):
            for key in ("arguments", "parameters"):
                if key in value:
                    yield value["name"], value[key]
                    break
