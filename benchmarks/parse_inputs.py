"""What ``benchmarks/parse.py`` reads: clean calls, prose, malformed payloads and floods."""

from __future__ import annotations

import json
from typing import Any

from fallback.dialects import markers
from fallback.testing.pieces import OPENERS

WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "Weather in a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
WRITE: dict[str, Any] = {
    "name": "write_file",
    "description": "Write a file.",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
}
TAG: dict[str, Any] = {
    "name": "tag",
    "description": "Tag a thing.",
    "parameters": {
        "type": "object",
        "properties": {"tags": {"type": "array", "items": {"type": "string"}}, "info": {}},
    },
}
TOOLS = [WEATHER, WRITE, TAG]

CALL = json.dumps({"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}})
CLEAN = {
    "fenced": f"```tool_call\n{CALL}\n```",
    "hermes": f"<tool_call>\n{CALL}\n</tool_call>",
}
PYTHON_CALL = '```tool_code\nget_weather(city="Oslo", days=3)\n```'

_SENTENCE = "The harbour lay quiet, and {n} boats came in with the evening tide; nobody spoke. "


def prose(size: int = 50_000) -> str:
    """So many characters without any call."""
    text = "".join(_SENTENCE.format(n=n) for n in range(size // 70))
    return text[:size]


def argument(size: int) -> str:
    """Code of about so many characters, as a tool that writes files is given it."""
    line = 'def f(x):\n    return {"a": [x, "\\\\n"]}  # <tag>\n\n'
    return line * (size // len(line))


MALFORMED: dict[str, str] = {
    "single quotes": "{'name': 'get_weather', 'arguments': {'city': 'Oslo', 'days': 3}}",
    "trailing commas": '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3,},}',
    "unquoted keys": '{name: "get_weather", arguments: {city: "Oslo", days: 3}}',
    "a missing comma": '{"name": "get_weather", "arguments": {"city": "Oslo" "days": 3}}',
    "missing closers": '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3',
    "surplus closers": '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}}}',
    "comments": '{"name": "get_weather", /* where */ "arguments": {"city": "Oslo"} // when\n}',
    "smart quotes": "{“name”: “get_weather”, “arguments”: {“city”: “Oslo”}}",
    "Python literals": "{'name': 'tag', 'arguments': {'info': {'a': True, 'b': None, 'c': (1,)}}}",
    "raw line breaks": '{"name": "write_file", "arguments": {"path": "a", "content": "one\ntwo"}}',
    "a Windows path": r'{"name": "write_file", "arguments": {"path": "C:\Work\q", "content": ""}}',
    "LaTeX": r'{"name": "write_file", "arguments": {"path": "a", "content": "\(x_i \in A\)"}}',
    "an escaped apostrophe": r'{"name": "get_weather", "arguments": {"city": "L\'Aquila"}}',
    "a long list in single quotes": "{'name': 'tag', 'arguments': {'tags': ["
    + ", ".join(f"'tag number {n}'" for n in range(60))
    + "]}}",
}  # fmt: skip
"""Payloads that ``json.loads`` refuses, by what is wrong with them."""


def floods(size: int, *, every: int = 1) -> dict[str, str]:
    """Hostile replies of about so many characters, each one piece over and over.

    Args:
        size: characters.
        every: take only every so manieth.
    """
    openers = [row.text for row in markers.MARKERS if row.role in ("call", "reasoning", "channel")]
    nested = ('{"a":', "[", "(", "{", "[[", "{[", "get_weather(", "get_weather(city=", '[{"name":')
    quotes = ('"', "'", '"""', "'''", "“", '\\"', '"\n', '","', "'\"", "\"'", '{"a":"', "{'a':'")
    ticks = ("`", "` `` ", "`a", "``` ", "```\n", "```json\n", '```json\n{"name":\n', "~~~\n")
    heads = ("", "Well:\n", "<tool_call>", '<tool_call>{"name": "')
    made: dict[str, str] = {}
    for unit in dict.fromkeys((*openers, *nested, *quotes, *ticks, *OPENERS)):
        for head in heads if unit in quotes else heads[:2]:
            made[f"{head!r} and {unit!r}"] = head + unit * (size // len(unit))
    return {name: text for n, (name, text) in enumerate(made.items()) if n % every == 0}


def document(size: int = 100_000) -> str:
    """A valid JSON document of about so many characters."""
    row = {"id": 1, "name": "x" * 20, "tags": [1, 2, 3]}
    return json.dumps([row] * (size // len(json.dumps(row))))
