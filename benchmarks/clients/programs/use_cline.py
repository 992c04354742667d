"""Cline's command, headless, with its provider for Ollama."""

from __future__ import annotations

import json
from typing import Any

from command import HOME, program, run, serve
from conversation import IMPATIENCE, URL, task


def answer(model: str, prompt: str) -> str:
    _configure(model)
    lines = run(
        [program("cline"), "--json", "-P", "ollama", "-m", model, prompt],
        CLINE_SESSION_BACKEND_MODE="local",  # otherwise it leaves a server running behind
        CLINE_NO_AUTO_UPDATE="1",
    )
    ends = [line for line in lines if line["type"] == "run_result"]
    if not ends or ends[-1]["finishReason"] != "completed":
        raise RuntimeError(str(ends[-1].get("text") if ends else "no result"))
    events = [line["event"] for line in lines if line["type"] == "agent_event"]
    said = [e["text"] for e in events if e["type"] == "content_end" and e["contentType"] == "text"]
    return "\n".join(said)


def _configure(model: str) -> None:
    """Write its settings: its own ``auth`` has no address for this provider."""
    file = HOME / ".cline/data/settings/providers.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {"provider": "ollama", "model": model, "baseUrl": URL}
    if task() == "impatient":
        settings["timeout"] = int(IMPATIENCE * 1000)
    provider = {
        "settings": settings,
        "updatedAt": "2026-01-01T00:00:00.000Z",
        "tokenSource": "manual",
    }
    told = {
        "version": 1,
        "lastUsedProvider": "ollama",
        "modes": {},
        "providers": {"ollama": provider},
    }
    file.write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    serve(answer)
