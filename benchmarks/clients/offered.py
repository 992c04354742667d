"""The tools that clients offer, and what a model writes to call them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks.clients.scripts import Tool

__all__ = ["ADD", "BASH", "LISTED", "SHOWING", "as_file", "as_json", "as_python", "shell"]

ADD = Tool(
    name="add",
    arguments=lambda a, b: {"a": a, "b": b},
    wrong={"a": "one", "b": 2},
    fails={"a": 13, "b": 1},
    quiet={"a": 1, "b": 0},
)
SHOWING = replace(ADD, picture=("add", {"a": 7, "b": 7}))


def _command(a: int, b: int) -> str:
    """Leaves the sum in the folder where the program looks for it."""
    return f"echo {a} {b} >> sums.txt; echo $(({a}))+{b}=$(({a}+{b}))"


def shell(name: str, argument: str = "command", last: str = "", **more: str | bool) -> Tool:
    """A tool that runs commands; each does ``last`` at its end."""
    return Tool(
        name=name,
        arguments=lambda a, b: {argument: _command(a, b) + last, **more},
        wrong={"no_such_argument": 1},
        # The word itself stands in the result alone.
        fails={argument: f"printf 'thirteen is refu%s\\n' sed >&2{last}; exit 3", **more},
        quiet={argument: "true", **more},
    )


def as_python(name: str, arguments: Mapping[str, Any]) -> str:
    """A call in the block of code that smolagents asks for."""
    given = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    call = f"{name}({given})"
    told = call if name == "final_answer" else f"print({call})"
    return f"<code>\n{told}\n</code>"


def as_json(name: str, arguments: Mapping[str, Any]) -> str:
    """A call in the JSON that LiteLLM itself asks for in a prompt."""
    return json.dumps({"name": name, "arguments": arguments})


def as_file(name: str, arguments: Mapping[str, Any]) -> str:
    """A whole file, as aider asks for it."""
    return f"{name}\n```\n{' '.join(map(str, arguments.values()))}\n```"


BASH = replace(
    shell("Bash", description="Add two numbers"),
    picture=("Read", {"file_path": "{work}/pixel.png"}),
    revealed=(("ToolSearch", {"query": "select:CronList"}), ("CronList", {})),
)
LISTED = Tool(
    name="run_commands",
    arguments=lambda a, b: {"commands": [_command(a, b)]},
    wrong={"no_such_argument": 1},
    fails={"commands": ["printf 'thirteen is refu%s\\n' sed >&2; exit 3"]},
    quiet={"commands": ["true"]},
)
