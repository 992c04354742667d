"""The results as a page; it is written from the kept results alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.clients.scenarios import TITLES

__all__ = ["page"]

NOT_RUN_CLIENTS = (
    "`cline`",
    "`@continuedev/cli`",
    "`crewai`",
    "`aider-chat`",
    "the code agent of `smolagents`",
    "LiteLLM's `ollama/`",
)
_MARKS = {"fail": "**FAIL**", "pass": "pass", "skip": "–", "absent": "not run"}
"""The first that one of a scenario's cases has is the row's."""

_HEAD = """\
# Real clients

Written by `scripts/clients`; do not edit. Each client is installed from PyPI or npm into an
environment of its own and run with an empty home and no credentials against `fallback serve`, which
stands before a scripted model server: a model that has no tools and writes its calls as text. A
case passes when the client's tool has run exactly as the model asked, the client shows the text,
and exactly the expected number of requests has reached the model. Too many requests, or no answer
in time, is a failure.
"""


def page(results: Mapping[str, Any], others: list[str]) -> str:
    """Markdown of all results; ``others`` are clients that the script knows and has not run."""
    names = list(TITLES)
    lines = [_HEAD, "| client | versions | " + " | ".join(names) + " |"]
    lines.append("| --- | --- |" + " --- |" * len(names))
    notes: list[str] = []
    left_out: list[str] = []
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
        lines += ["", "## Failures, and what does not apply", "", *dict.fromkeys(notes)]
    lines += ["", "## Not run", ""]
    left = [*(f"`{name}`" for name in others), *NOT_RUN_CLIENTS]
    lines += [f"Clients: {', '.join(left)}."]
    if left_out:
        lines += ["", "Cases:", "", *_together(left_out)]
    return "\n".join(lines) + "\n"


def _mark(
    row: str, name: str, cases: list[dict[str, str]], notes: list[str], left_out: list[str]
) -> str:
    """``pass``, ``FAIL``, ``–`` or ``not run``; what needs a reason is noted."""
    for case in cases:
        place = f"{name} (`{case['model']}`)"
        if case["verdict"] == "fail":
            notes.append(f"- {row}, {place}: **fails**: {_plain(case['note'])}")
        elif case["verdict"] == "skip":
            notes.append(f"- {row}, {name}: not applicable: {_plain(case['note'])}")
        elif case["verdict"] == "absent":
            left_out.append(f"{place}: {row}")
    verdicts = [case["verdict"] for case in cases]
    return next((mark for verdict, mark in _MARKS.items() if verdict in verdicts), "not run")


def _together(left_out: list[str]) -> list[str]:
    """One line for each case, with the rows in which it was not put."""
    rows: dict[str, list[str]] = {}
    for told in left_out:
        place, _, row = told.partition(": ")
        rows.setdefault(place, []).append(row)
    return [f"- {place}: {', '.join(names)}" for place, names in sorted(rows.items())]


def _plain(note: str) -> str:
    return " ".join(note.replace("|", "/").replace("`", "'").split())[:200]
