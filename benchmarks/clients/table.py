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
    "`@langchain/ollama`",
    "the clients that cannot be installed (replayed bodies)",
)
NOT_RUN_SCENARIOS = (
    "S1 discovery by itself (Codex with `--oss` and LangChain's check do it on the way)",
    "S8 failing tools and images",
    "S9 forced choices",
    "S10 ten turns",
    "S11 deferred tools",
    "S12 namespaces",
    "S13 histories without tools",
    "S14 long silence",
    "S17 a prompt over the window",
    "S18 empty and cut replies",
    "S19 a client that goes away",
    "S21 two clients at once",
    "S22 unknown fields",
)
_MARKS = {"pass": "pass", "skip": "–"}

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
    for client, kept in results.items():
        versions = ", ".join(f"{name} {version}" for name, version in kept["versions"].items())
        for variant, cases in kept["variants"].items():
            row = f"{client} {variant}".strip()
            marks = [_mark(row, name, cases.get(name, []), notes) for name in names]
            lines.append(f"| {row} | {versions} | {' | '.join(marks)} |")
            versions = "same"
    lines += ["", "`–`: not applicable; the reasons are below.", ""]
    lines += [f"- **{name}**: {title}" for name, title in TITLES.items()]
    if notes:
        lines += ["", "## Failures, and what does not apply", "", *dict.fromkeys(notes)]
    lines += ["", "## Not run", ""]
    left = [*(f"`{name}`" for name in others), *NOT_RUN_CLIENTS]
    lines += [f"Clients: {', '.join(left)}.", ""]
    lines.append(f"Scenarios: {'; '.join(NOT_RUN_SCENARIOS)}.")
    return "\n".join(lines) + "\n"


def _mark(row: str, name: str, cases: list[dict[str, str]], notes: list[str]) -> str:
    """``pass``, ``FAIL``, ``–`` or ``not run``; what needs a reason is noted."""
    for case in cases:
        if case["verdict"] == "fail":
            notes.append(f"- {row}, {name} (`{case['model']}`): **fails**: {_plain(case['note'])}")
        elif case["verdict"] == "skip":
            notes.append(f"- {row}, {name}: not applicable: {case['note']}")
    verdicts = [case["verdict"] for case in cases]
    if not verdicts:
        return "not run"
    return "**FAIL**" if "fail" in verdicts else _MARKS[verdicts[0]]


def _plain(note: str) -> str:
    return " ".join(note.replace("|", "/").replace("`", "'").split())[:200]
