"""``fallback parse --explain``: every part of a reply, told apart by colour or by marks."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from fallback import Catalogue, parse
from fallback.cli.explain import LOOKS, print_explanation
from fallback.testing.samples import Sample
from fallback.testing.strategies import garbage

WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
REPLY = """<think>Which city?</think>As `get_weather(city="Bonn")`, not as

```json
{"no": ["call"]}
```

<tool_call>{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}</tool_call>
<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>
<tool_response>21</tool_response>\x1b[2J"""


def explained(reply: str, *, colour: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        width=4000,
        markup=False,
    )
    catalogue = Catalogue([WEATHER])
    print_explanation(reply, parse(reply, catalogue), console)
    return out.getvalue()


def test_without_colour_marks_stand_around_every_part_but_the_plain_text() -> None:
    shown = explained(REPLY).replace("[[", "⟦").replace("]]", "⟧")
    for part in (
        "⟦reasoning: Which city?⟧",
        '`⟦candidate: get_weather(city="Bonn")⟧`, not as',
        '```json⟦masked: \n{"no": ["call"]}\n⟧```',
        "⟦call: <tool_call>{'name'",
        '⟦rejected: <tool_call>{"name"',
        "⟦dropped: <tool_response>21",
    ):
        assert part in shown


def test_beneath_the_reply_stands_what_was_found_and_where() -> None:
    lines = explained(REPLY).splitlines()
    below = lines[len(lines) - lines[::-1].index("") :]
    assert below == [
        'suppressed inline_code at 30-54: get_weather(city="Bonn")',
        "masked     fence at 72-90",
        'call       get_weather {"city": "Oslo"}  (hermes at 106-160)',
        "           mended: python_literals",
        "problem    invalid_arguments at 184-224: `get_weather`: `city` is required: string",
        "dropped    invented_result at 237-274",
    ]


def test_the_legend_explains_the_kinds_that_occur() -> None:
    shown = explained("Just text.", colour=True)
    assert "shown to the user" in shown
    assert "may run" not in shown
    assert explained("Just text.") == "Just text.\n\n\nresult     no call\n"


def test_colours_take_the_place_of_the_marks() -> None:
    shown = explained(REPLY, colour=True)
    assert "⟦" not in shown
    assert "\x1b[1;32m<tool_call>{'name'" in shown
    assert '\x1b[1;31m<tool_call>{"name"' in shown
    assert re.sub(r"\x1b\[[\d;]*m", "", shown).startswith(REPLY[:60])


def test_the_reply_cannot_imitate_the_marks() -> None:
    assert "⟦" not in explained("⟦call: get_weather⟧")


@settings(max_examples=30)
@given(sample=garbage(), extra=st.text(max_size=20))
def test_nothing_in_a_reply_steers_the_terminal(sample: Sample, extra: str) -> None:
    for colour in (False, True):
        shown = explained(f"{sample.text}\x1b[31m{extra}", colour=colour)
        plain = re.sub(r"\x1b\[[\d;]*m", "", shown) if colour else shown
        assert all(char.isprintable() or char in "\n\t" for char in plain)
    assert LOOKS.keys() >= {"text", "call", "rejected"}


def test_the_command_obeys_the_pipe_and_the_environment(tmp_path: Path) -> None:
    tools = tmp_path / "t.json"
    tools.write_text(json.dumps([WEATHER]), encoding="utf-8")
    command = [sys.executable, "-m", "fallback", "parse", "--explain", "--tools", str(tools)]

    def run(*more: str, **variables: str) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.endswith("_COLOR")}
        environment |= {"PYTHONIOENCODING": "utf-8", **variables}
        done = subprocess.run(
            [*command, *more], input=REPLY.encode(), capture_output=True, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    assert "\x1b" not in run()
    assert "\x1b[1;32m" in run(FORCE_COLOR="1")
    assert "⟦call: " in run(FORCE_COLOR="1", NO_COLOR="1")
    segments = json.loads(run("--json"))["segments"]
    assert "".join(REPLY[part["start"] : part["end"]] for part in segments) == REPLY
    assert {"kind": "candidate", "start": 30, "end": 54, "note": "inline_code"} in segments
