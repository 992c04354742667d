"""Continue's command in its print mode, with its provider for Ollama."""

from __future__ import annotations

import json
import shutil

from command import HOME, program, serve, start
from conversation import IMPATIENCE, URL, task

_CONFIG = """\
name: adapter
version: 1.0.0
schema: v1
models:
  - name: chosen
    provider: ollama
    model: {model}
    apiBase: {url}
    roles: [chat]
"""
_LIMIT = "    requestOptions: {{timeout: {}}}\n"
_SESSIONS = HOME / ".continue/sessions"


def answer(model: str, prompt: str) -> str:
    config = HOME / "config.yaml"
    limit = _LIMIT.format(int(IMPATIENCE * 1000)) if task() == "impatient" else ""
    config.write_text(_CONFIG.format(model=model, url=URL) + limit, encoding="utf-8")
    shutil.rmtree(_SESSIONS, ignore_errors=True)
    ended = start(
        [program("cn"), "-p", "--config", str(config), "--auto", prompt],
        CONTINUE_TELEMETRY_ENABLED="0",
    )
    if ended.returncode:
        raise RuntimeError((ended.stderr.strip() or ended.stdout.strip() or "no word")[-400:])
    return "\n".join([*_said(), ended.stdout])


def _said() -> list[str]:
    """All texts of the assistant: the last alone is printed."""
    said = []
    for file in _SESSIONS.glob("*-*.json"):
        history = json.loads(file.read_text(encoding="utf-8"))["history"]
        messages = [entry["message"] for entry in history]
        said += [str(m["content"]) for m in messages if m["role"] == "assistant"]
    return said


if __name__ == "__main__":
    serve(answer)
