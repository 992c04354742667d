"""Claude Code in print mode."""

from __future__ import annotations

import json

from command import program, run, serve
from conversation import IMPATIENCE, URL, VARIANT, task

_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
}
_WAYS = {"schema": ("--json-schema", json.dumps(_SCHEMA))}
_ALL_TOOLS = {"ENABLE_TOOL_SEARCH": "false", "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1"}
_PATIENCE = str(int(IMPATIENCE * 1000))
_IMPATIENT = {
    "CLAUDE_ENABLE_STREAM_WATCHDOG": "1",
    "CLAUDE_STREAM_IDLE_TIMEOUT_MS": _PATIENCE,
    "CLAUDE_STREAM_FIRST_BYTE_TIMEOUT_MS": _PATIENCE,
}


def answer(model: str, prompt: str) -> str:
    lines = run(
        [
            program("claude"),
            *("-p", prompt, "--model", model, "--output-format", "stream-json", "--verbose"),
            *("--allowedTools", "Bash"),
            *_WAYS.get(VARIANT, ()),
        ],
        ANTHROPIC_BASE_URL=URL,
        ANTHROPIC_AUTH_TOKEN="none",  # noqa: S106 -- it wants one; nobody reads it
        ANTHROPIC_DEFAULT_HAIKU_MODEL="side",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
        CLAUDE_CODE_MAX_RETRIES="2",
        **(_ALL_TOOLS if VARIANT == "all tools" else {}),
        **(_IMPATIENT if task() == "impatient" else {}),
    )
    said = [
        block["text"]
        for line in lines
        if line["type"] == "assistant"
        for block in line["message"]["content"]
        if block["type"] == "text"
    ]
    ends = [line for line in lines if line["type"] == "result"]
    if not ends or ends[-1].get("is_error"):
        raise RuntimeError(str(ends[-1].get("result") if ends else "no result"))
    shown = ends[-1].get("structured_output") or {}
    return "\n".join([*said, str(shown.get("answer", ""))])


if __name__ == "__main__":
    serve(answer)
