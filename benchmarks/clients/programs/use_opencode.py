"""opencode's run command, with the compatible provider and with Anthropic's."""

from __future__ import annotations

import json
import os

from command import WORK, program, run, serve
from conversation import URL, VARIANT

_PACKAGES = {"chat": "@ai-sdk/openai-compatible", "messages": "@ai-sdk/anthropic"}
_MODELS = (
    *("text", "call", "two", "prose", "thinks", "slips", "unknown", "dead", "dies", "half"),
    *(
        "after",
        "refuses",
        "long",
        "side",
        "ten",
        "fails",
        "quiet",
        "small",
        "empty",
        "cut",
        "silent",
    ),
)


def answer(model: str, prompt: str) -> str:
    WORK.mkdir(exist_ok=True)
    window = {"context": 131072, "output": 4096}
    provider = {
        "npm": _PACKAGES[VARIANT],
        "options": {"baseURL": f"{URL}/v1", "apiKey": "none"},
        "models": {name: {"limit": window} for name in _MODELS},
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
