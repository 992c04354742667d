"""aider, which has no tools: it edits files as the text says, and tells what their test said."""

from __future__ import annotations

import json
import sys

from command import HOME, WORK, serve, start
from conversation import IMPATIENCE, URL, task

_HISTORY = WORK / ".aider.chat.history.md"
_TEST = (  # the sum is what the test says of the file; it fails, so that the model is told
    "import pathlib\n"
    "a, b = pathlib.Path('sums.txt').read_text().split()\n"
    "raise SystemExit(f'{a}+{b}={int(a) + int(b)}')\n"
)


def answer(model: str, prompt: str) -> str:
    WORK.mkdir(exist_ok=True)
    (HOME / "told.py").write_text(_TEST, encoding="utf-8")
    prices = HOME / ".aider/caches/model_prices_and_context_window.json"
    prices.parent.mkdir(parents=True, exist_ok=True)
    prices.write_text(json.dumps({"none": {}}), encoding="utf-8")  # else it looks for a newer list
    _HISTORY.unlink(missing_ok=True)
    limits = ["--timeout", str(IMPATIENCE)] if task() == "impatient" else []
    start(
        [
            *(sys.executable, "-m", "aider", "--model", f"ollama_chat/{model}"),
            *("--message", prompt, "--edit-format", "whole", "--yes-always", *limits),
            *("--auto-test", "--test-cmd", f"{sys.executable} {HOME / 'told.py'}"),
            *("--no-git", "--no-analytics", "--no-check-update", "--no-show-model-warnings"),
            # Otherwise it asks for a summary of what it has said before.
            *("--max-chat-history-tokens", "100000"),
            *("--no-show-release-notes", "--no-detect-urls", "--no-pretty", "--no-fancy-input"),
        ],
        OLLAMA_API_BASE=URL,
    )
    history = _HISTORY.read_text(encoding="utf-8") if _HISTORY.is_file() else ""
    lines = history.partition("\n#### ")[2].splitlines()[1:]  # what stands above is what was asked
    said = [line for line in lines if line.strip() and not line.startswith(("#", ">"))]
    failed = [line for line in lines if line.startswith("> litellm.") or "Error:" in line]
    if failed and not said:
        raise RuntimeError(failed[-1])
    return "\n".join(said)


if __name__ == "__main__":
    serve(answer)
