"""``fallback parse``: what a reply means, without any model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fallback.cli.exits import ExitCode
from fallback.cli.inputs import opened, read_text
from fallback.cli.output import complain, console, visible, write_json
from fallback.errors import ConfigurationError
from fallback.messages import FinishReason, Reading

if TYPE_CHECKING:
    from rich.console import Console

    from fallback.catalogue import Catalogue

CHOICES = ("auto", "none", "required")
"""What ``tool_choice`` may be besides the name of a tool."""


def parse_batch(file: str, tools: Sequence[Path]) -> ExitCode:
    """Answer every line of a JSONL file; a bad line is answered with its error."""
    from fallback.cli.batch import BatchReader

    reader = BatchReader(_catalogue(tools) if tools else None)
    with opened(file) as lines:
        outcome = reader.run(lines, sys.stdout.buffer)
    if outcome.errors:
        complain(f"{outcome.errors} of {outcome.lines} lines could not be read")
    return ExitCode.INTERNAL if outcome.bugs else ExitCode.OK


def parse_one(
    file: str,
    tools: Sequence[Path],
    *,
    summary: bool,
    explain: bool,
    tool_choice: str,
    finish_reason: FinishReason,
    reasoning_open: bool,
    dialects: Sequence[str] | None = None,
) -> ExitCode:
    """Read one reply and print what it means, as JSON or for a person.

    Args:
        file: where the reply is; ``-`` is standard input.
        tools: files that declare the tools the model was offered.
        summary: text for a person instead of JSON.
        explain: what became of every character, in either form.
        tool_choice, finish_reason, reasoning_open, dialects: as :func:`fallback.parse` takes them.

    Raises:
        ConfigurationError: ``tool_choice`` names no tool.
    """
    from fallback.cli.records import reading_record, segments_record
    from fallback.parsing import parse

    catalogue = _catalogue(tools)
    if tool_choice not in (*CHOICES, *catalogue.names):
        raise ConfigurationError(
            f"--tool-choice {tool_choice!r} is neither {', '.join(CHOICES)} nor one of the tools"
        )
    if file == "-" and sys.stdin.isatty():
        complain("reading the reply from the terminal; end it with Ctrl-D")
    reply = read_text(file)
    reading = parse(
        reply,
        catalogue,
        finish_reason=finish_reason,
        tool_choice=tool_choice,
        reasoning_open=reasoning_open,
        dialects=dialects,
    )
    if summary and explain:
        from fallback.cli.explain import print_explanation

        print_explanation(reply, reading, console())
    elif summary:
        print_summary(reading, console())
    else:
        segments = {"segments": segments_record(reading)} if explain else {}
        write_json({**reading_record(reading), **segments})
    return ExitCode.OK


def _catalogue(tools: Sequence[Path]) -> Catalogue:
    from fallback.toolfile import load_catalogue

    return load_catalogue(tools)


def print_summary(reading: Reading, out: Console) -> None:
    """The reading for a person: one labelled paragraph per thing found."""
    import json

    for call in reading.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        how = ", ".join([call.dialect, *call.repairs])
        _paragraph(out, "call", f"{call.name} {arguments}  ({how})", "green")
    for problem in reading.problems:
        _paragraph(out, "problem", f"{problem.kind}: {problem.message}", "red")
    for suppressed in reading.suppressed:
        _paragraph(out, "not run", f"{suppressed.reason}: {suppressed.text}", "yellow")
    if reading.reasoning.strip():
        _paragraph(out, "thinking", reading.reasoning.strip(), "dim")
    if reading.text.strip():
        _paragraph(out, "text", reading.text.strip(), "")
    if not (reading.calls or reading.problems or reading.text.strip()):
        _paragraph(out, "empty", "no call and no text", "dim")


def _paragraph(out: Console, label: str, text: str, style: str) -> None:
    from rich.text import Text

    body = visible(text).replace("\n", "\n" + " " * 10)
    out.print(Text(f"{label:<10}", style=style or "bold").append(body, style=""))
