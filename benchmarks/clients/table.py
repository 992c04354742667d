"""The results as a page; it is written from the kept results alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.clients.scenarios import TITLES

__all__ = ["page"]

Notes = dict[tuple[str, str], dict[str, list[str]]]
"""By scenario and what is to be said: the rows of which it is said, with their cases."""
_MARKS = {"fail": "**FAIL**", "pass": "pass", "skip": "–", "absent": "not run"}
"""The first that one of a scenario's cases has is the row's."""
_MEANINGS = {"fail": "**fails**: ", "skip": "not applicable: ", "absent": ""}

_HEAD = """\
# Real clients

Written by `scripts/clients`; do not edit. Each client is installed from PyPI or npm into an
environment of its own and run with an empty home and no credentials against `fallback serve`, which
stands before a scripted model server: a model that has no tools and writes its calls as text. A
case passes when the client's tool has run exactly as the model asked, the client shows the text,
and exactly the expected number of requests has reached the model. Too many requests, or no answer
in time, is a failure.
"""


def page(
    results: Mapping[str, Any], others: list[str], remarks: Mapping[str, str] | None = None
) -> str:
    """Markdown of all results.

    Args:
        results: of all clients that have been run.
        others: those that the script knows and has not run.
        remarks: what else was seen of a client.
    """
    names = list(TITLES)
    lines = [_HEAD, "| client | versions | " + " | ".join(names) + " |"]
    lines.append("| --- | --- |" + " --- |" * len(names))
    notes: Notes = {}
    left_out: Notes = {}
    for client, kept in results.items():
        versions = ", ".join(f"{name} {version}" for name, version in kept["versions"].items())
        versions = versions or "bodies by hand"
        for variant, cases in kept["variants"].items():
            row = f"{client} {variant}".strip()
            marks = [_mark(row, name, cases.get(name, []), notes, left_out) for name in names]
            lines.append(f"| {row} | {versions} | {' | '.join(marks)} |")
            versions = "same"
    lines += ["", "`–`: not applicable; the reasons are below.", ""]
    lines += [f"- **{name}**: {title}" for name, title in TITLES.items()]
    if notes:
        lines += ["", "## Failures, and what does not apply", "", *_together(notes)]
    told = [f"- {client}: {remark}" for client, remark in (remarks or {}).items() if remark]
    if told:
        lines += ["", "## What else was seen", "", *told]
    if others or left_out:
        lines += ["", "## Not run", ""]
    if others:
        lines += [f"Clients: {', '.join(f'`{name}`' for name in others)}."]
    if left_out:
        lines += ["", "Cases:", "", *_together(left_out)]
    return "\n".join(lines) + "\n"


def _mark(row: str, name: str, cases: list[dict[str, str]], notes: Notes, left_out: Notes) -> str:
    """``pass``, ``FAIL``, ``–`` or ``not run``; what needs a reason is noted."""
    for case in cases:
        verdict = case["verdict"]
        if verdict != "pass":
            told = (name, _MEANINGS[verdict] + _plain(case["note"]))
            kept = (left_out if verdict == "absent" else notes).setdefault(told, {})
            kept.setdefault(row, []).append(case["model"])
    verdicts = [case["verdict"] for case in cases]
    return next((mark for verdict, mark in _MARKS.items() if verdict in verdicts), "not run")


def _together(notes: Notes) -> list[str]:
    """One line for each reason and the cases that it is about, with their rows."""
    lines = []
    for (name, told), rows in sorted(notes.items(), key=lambda note: int(note[0][0][1:])):
        by_models: dict[str, list[str]] = {}
        for row, models in rows.items():
            by_models.setdefault(", ".join(f"`{model}`" for model in models), []).append(row)
        lines += [f"- {name} ({m}): {told}: {', '.join(of)}" for m, of in by_models.items()]
    return lines


def _plain(note: str) -> str:
    return " ".join(note.replace("|", "/").replace("`", "'").split())[:200]
