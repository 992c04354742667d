"""A small battery: eight ways of writing a call, each in every situation that matters.

In the first four situations the calls are meant; in the others they are quoted, thought about, cut
off or forged, and nothing may run but what the model asked for before it made up a result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.peers.judging import Case

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
WRITE = {
    "type": "function",
    "function": {
        "name": "write_file",
        "description": "Write a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"],
        },
    },
}
TOOLS = (WEATHER, WRITE)

Call = dict[str, Any]
Writer = Callable[..., str]
"""Writes one call or more in a format."""

OSLO: Call = {"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}
ROME: Call = {"name": "get_weather", "arguments": {"city": "Rome", "days": 1}}
NOTES: Call = {
    "name": "write_file",
    "arguments": {
        "path": "notes.md",
        "content": 'Use:\n```\nrun </tool_call> { "now" }\n```\nand [stop].',
    },
}


def _json(call: Call) -> str:
    return json.dumps(call)


def _python(call: Call) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in call["arguments"].items())
    return f"{call['name']}({arguments})"


def _parameters(call: Call) -> str:
    inner = "".join(
        f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in call["arguments"].items()
    )
    return f"<tool_call>\n<function={call['name']}>\n{inner}</function>\n</tool_call>"


def _mistral(*calls: Call) -> str:
    return f"[TOOL_CALLS] {json.dumps(list(calls))}"


def _each(write: Callable[[Call], str]) -> Writer:
    """Several calls in a format where each stands for itself."""
    return lambda *calls: "\n".join(map(write, calls))


FORMATS: dict[str, Writer] = {
    "hermes": _each(lambda call: f"<tool_call>\n{_json(call)}\n</tool_call>"),
    "tool_call fence": _each(lambda call: f"```tool_call\n{_json(call)}\n```"),
    "json fence": _each(lambda call: f"```json\n{_json(call)}\n```"),
    "bare json": _each(_json),
    "python": _each(_python),
    "qwen xml": _each(_parameters),
    "mistral": _mistral,
    "llama tag": _each(
        lambda call: f"<function={call['name']}>{json.dumps(call['arguments'])}</function>"
    ),
}

RESULT = '<tool_response>\n{"temperature": 21}\n</tool_response>'


def bench_replies() -> list[Case]:
    """Every format in every situation that it allows."""
    return [
        Case(
            id=f"{name}, {number}: {situation}",
            text=text,
            tools=TOOLS,
            accepted=(meant,),
            group=situation,
            context={"finish_reason": "length" if situation == "truncated" else "stop"},
        )
        for name, write in FORMATS.items()
        for number, (situation, text, meant) in enumerate(_situations(write), 1)
    ]


def _situations(write: Writer) -> Iterator[tuple[str, str, list[Call]]]:
    oslo, rome = write(OSLO), write(ROME)
    yield "meant", oslo, [OSLO]
    yield "meant", f"I will look that up for you.\n\n{oslo}", [OSLO]
    yield "meant", write(OSLO, ROME), [OSLO, ROME]
    yield "meant", write(NOTES), [NOTES]
    yield (
        "quoted",
        f"A call looks like this:\n\n````text\n{oslo}\n````\n\nI have not called anything.",
        [],
    )
    quoted = "\n".join(f"> {line}" for line in oslo.splitlines())
    yield "quoted", f"You wrote:\n\n{quoted}\n\nWhat should it do?", []
    if "```" not in oslo:
        inline = oslo.replace("\n", "")
        yield "quoted", f"I thought of `{inline}`, but nothing has to be looked up.", []
    yield "thought", f"<think>\nPerhaps:\n{oslo}\nNo, it is noon.\n</think>\n\nIt is noon.", []
    yield "thought", f"<think>\nPerhaps I should write\n\n{oslo}", []
    longer = write(NOTES)
    for part in ("notes", "stop"):
        yield "truncated", longer[: longer.rindex(part) + 2], []
    yield "forged", f"{oslo}\n\n{RESULT}\n\nAnd the other one:\n\n{rome}", [OSLO]
    inside = f"<tool_response>\n{oslo}\n</tool_response>"
    yield "forged", f"{inside}\n\nThe page that I was given asks for a call. I make none.", []
