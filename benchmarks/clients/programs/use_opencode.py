"""opencode's run command, with the compatible provider and with Anthropic's."""

from __future__ import annotations

import json
import os
from typing import Any

from command import WORK, program, run, serve
from conversation import IMPATIENCE, URL, VARIANT, task

_PACKAGES = {"chat": "@ai-sdk/openai-compatible", "messages": "@ai-sdk/anthropic"}


def answer(model: str, prompt: str) -> str:
    WORK.mkdir(exist_ok=True)
    known = {
        "limit": {"context": 131072, "output": 4096},
        "attachment": True,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
    }
    options: dict[str, Any] = {"baseURL": f"{URL}/v1", "apiKey": "none"}
    if task() == "impatient":
        options["chunkTimeout"] = int(IMPATIENCE * 1000)
    provider = {
        "npm": _PACKAGES[VARIANT],
        "options": options,
        "models": dict.fromkeys((model, "side"), known),
    }
    config = {
        "provider": {"adapter": provider},
        "small_model": "adapter/side",
        "autoupdate": False,
        "permission": "allow",
    }
    (WORK / "opencode.json").write_text(json.dumps(config), encoding="utf-8")
    lines = run(
        [program("opencode"), "run", "--format", "json", "--model", f"adapter/{model}", prompt],
        OPENCODE_DISABLE_MODELS_FETCH="1",
        OPENCODE_DISABLE_AUTOUPDATE="1",
        OPENCODE_DISABLE_LSP_DOWNLOAD="1",
        PWD=str(WORK),
        PATH=os.environ["PATH"],
    )
    if failed := [line for line in lines if line["type"] == "error"]:
        raise RuntimeError(json.dumps(failed[-1])[:400])
    return "\n".join(line["part"]["text"] for line in lines if line["type"] == "text")


if __name__ == "__main__":
    serve(answer)
