"""Claude Code in print mode, and in a terminal."""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

from command import HOME, WORK, program, run, serve
from conversation import IMPATIENCE, URL, VARIANT, task
from terminal import until

_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
}
_WAYS = {"schema": ("--json-schema", json.dumps(_SCHEMA))}
_ALL_TOOLS = {"ENABLE_TOOL_SEARCH": "false", "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1"}
# Its limit of the time between two events cannot be set below five minutes.
_IMPATIENT = {"API_TIMEOUT_MS": str(int(IMPATIENCE * 1000))}


def answer(model: str, prompt: str) -> str:
    command = [program("claude"), "--model", model, "--allowedTools", "Bash"]
    environ = {
        "ANTHROPIC_BASE_URL": URL,
        "ANTHROPIC_AUTH_TOKEN": "none",  # it wants one; nobody reads it
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": "side",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        **(_ALL_TOOLS if VARIANT == "all tools" else {}),
        **(_IMPATIENT if task() == "impatient" else {}),
    }
    if VARIANT == "terminal":
        # Its usual mode there has a server of its maker judge what a command does.
        mode = ("--permission-mode", "default")
        return _in_terminal([*command, *mode, "--", prompt], environ)
    ways = ("--output-format", "stream-json", "--verbose", *_WAYS.get(VARIANT, ()))
    lines = run([*command, *ways, "-p", prompt], **environ)
    ends = [line for line in lines if line["type"] == "result"]
    if not ends or ends[-1].get("is_error"):
        raise RuntimeError(str(ends[-1].get("result") if ends else "no result"))
    shown = ends[-1].get("structured_output") or {}
    return "\n".join([_said(lines), str(shown.get("answer", ""))])


def _in_terminal(command: list[str], environ: dict[str, str]) -> str:
    """The same without print mode: it shows its conversation on a screen, and writes it down."""
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    told = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(WORK): project}}
    (HOME / ".claude.json").write_text(json.dumps(told), encoding="utf-8")
    folder = HOME / ".claude/projects"
    shutil.rmtree(folder, ignore_errors=True)
    whole = {**os.environ, "TERM": "xterm-256color", **environ}
    del whole["CI"]  # there it has no terminal
    lines = until(command, whole, lambda: list(folder.glob("*/*.jsonl")), _has_ended)
    if failed := [line for line in lines if line.get("isApiErrorMessage")]:
        raise RuntimeError(_said(failed))
    return _said(lines)


def _has_ended(line: dict[str, Any]) -> bool:
    return line.get("subtype") == "turn_duration" or bool(line.get("isApiErrorMessage"))


def _said(lines: list[dict[str, Any]]) -> str:
    messages = [line["message"] for line in lines if line.get("type") == "assistant"]
    blocks = [block for message in messages for block in message["content"]]
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


if __name__ == "__main__":
    serve(answer)
