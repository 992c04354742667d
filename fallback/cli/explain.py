"""``fallback parse --explain``: the reply itself, with what became of each part of it.

On a terminal the parts are told apart by colour, elsewhere by marks around them. The reply is
hostile: whatever in it would steer a terminal is shown and not obeyed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fallback.cli.output import can_show, visible
from fallback.cli.timeline import shortened
from fallback.messages import Reading, Segment, SegmentKind, Span

if TYPE_CHECKING:
    from rich.console import Console

LOOKS: dict[SegmentKind, tuple[str, str]] = {
    "text": ("", "shown to the user"),
    "masked": ("cyan", "shown; quoted, so nothing in it is a call"),
    "candidate": ("yellow", "shown; a call that is not meant"),
    "reasoning": ("magenta", "thinking, in which nothing is a call"),
    "markup": ("bright_black", "marks around the others"),
    "call": ("bold green", "may run"),
    "rejected": ("bold red", "was meant as a call and must not run"),
    "dropped": ("bright_black strike", "not read"),
}
"""The style of each kind of segment, and what it means."""

INDENT = 11
"""Columns of the labels below the reply."""

MARKS = (("⟦", "⟧"), ("[[", "]]"))
"""What stands around a part without colour; the second pair where the first cannot be shown."""


def print_explanation(reply: str, reading: Reading, out: Console) -> None:
    """Print the reply by segments, a legend, and beneath it what was found.

    Args:
        reply: the text that was read; the spans of ``reading`` are places in it.
        reading: what it means.
        out: where to; its colours decide how the segments are told apart.
    """
    colours = out.color_system is not None and not out.no_color
    _print_reply(reply, reading.segments, out, colours=colours)
    out.print()
    kinds = {segment.kind for segment in reading.segments}
    for kind, (style, meaning) in LOOKS.items():
        if kind in kinds and (colours or kind != "text"):
            _line(out, kind, meaning, style)
    out.print()
    for label, text, style in _findings(reading):
        _line(out, label, text, style)


def _print_reply(reply: str, segments: tuple[Segment, ...], out: Console, *, colours: bool) -> None:
    from rich.text import Text

    opener, closer = MARKS[0] if can_show("".join(MARKS[0])) else MARKS[1]
    shown = Text()
    for segment in segments:
        body = visible(reply[segment.start : segment.end])
        if colours:
            shown.append(body, style=LOOKS[segment.kind][0])
            continue
        for mark in MARKS[0]:
            body = body.replace(mark, f"\\u{ord(mark):04x}")  # the reply cannot imitate ours
        plain = segment.kind == "text"
        shown.append(body if plain else f"{opener}{segment.kind}: {body}{closer}")
    out.print(shown, end="" if shown.plain.endswith("\n") else "\n")


def _findings(reading: Reading) -> Iterator[tuple[str, str, str]]:
    """Label, text and style of everything that was found, in the order of its place."""
    found: list[tuple[int, str, str, str]] = []
    for call in reading.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        how = f"{call.dialect} at {_place(call.span)}"
        mended = f"\nmended: {', '.join(call.repairs)}" if call.repairs else ""
        text = f"{call.name} {arguments}  ({how}){mended}"
        found.append((call.span.start, "call", text, LOOKS["call"][0]))
    for problem in reading.problems:
        text = f"{problem.kind} at {_place(problem.span)}: {problem.message}"
        found.append((problem.span.start, "problem", text, LOOKS["rejected"][0]))
    for left in reading.suppressed:
        text = f"{left.reason} at {_place(left.span)}: {shortened(left.text.strip())}"
        found.append((left.span.start, "suppressed", text, LOOKS["candidate"][0]))
    for part in reading.segments:
        if part.kind in ("masked", "dropped"):
            text = f"{part.note} at {_place(Span(part.start, part.end))}"
            found.append((part.start, part.kind, text, LOOKS[part.kind][0]))
    for _, *finding in sorted(found, key=lambda item: item[0]):
        label, text, style = finding
        yield label, text, style
    if not (reading.calls or reading.problems or reading.suppressed):
        yield "result", "no call", ""


def _place(span: Span) -> str:
    return f"{span.start}-{span.end}"


def _line(out: Console, label: str, text: str, style: str) -> None:
    from rich.text import Text

    body = visible(text).replace("\n", "\n" + " " * INDENT)
    out.print(Text(f"{label:<{INDENT}}", style=style).append(body, style="default"))
