"""Qwen Code, headless."""

from __future__ import annotations

import json

from command import HOME, program, run, serve
from conversation import IMPATIENCE, URL, task

# Otherwise every turn is followed by another of its own, about what to remember.
_SETTINGS = {
    "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
}


def answer(model: str, prompt: str) -> str:
    settings = HOME / ".qwen/settings.json"
    settings.parent.mkdir(exist_ok=True)
    limits = {"model": {"generationConfig": {"timeout": int(IMPATIENCE * 1000), "maxRetries": 0}}}
    told = _SETTINGS | (limits if task() == "impatient" else {})
    settings.write_text(json.dumps(told), encoding="utf-8")
    lines = run(
        [
            program("qwen"),
            *("--auth-type", "openai", "--openai-api-key", "none"),
            *("--openai-base-url", f"{URL}/v1", "-m", model),
            *("-p", prompt, "--yolo", "--output-format", "stream-json"),
        ],
        QWEN_SANDBOX="false",
    )
    ends = [line for line in lines if line["type"] == "result"]
    if not ends or ends[-1].get("is_error"):
        raise RuntimeError(str(ends[-1].get("error") if ends else "no result"))
    said = [
        block["text"]
        for line in lines
        if line["type"] == "assistant"
        for block in line["message"]["content"]
        if block["type"] == "text"
    ]
    return "\n".join(said)


if __name__ == "__main__":
    serve(answer)
